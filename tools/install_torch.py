"""Install a CPU build of torch into this environment, and never a CUDA build.

Tried in this order: PyTorch's own CPU index, then whatever wheels pip knows on this machine (`--find-links` in its
configuration) as long as the file says `+cpu`. PyPI's own wheel is a CUDA build of several gigabytes and is never
taken. Without either, torch stays absent, this says so, and the tests that need it skip by name.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
VERSION = (
    (Path(__file__).parents[1] / "requirements" / "torch.in").read_text().strip().removeprefix("torch==")
)


def pip(*words: str, seconds: int = 900) -> bool:
    """Run pip; True when it worked."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def installed() -> str:
    """The version of the torch that is there, empty when there is none."""
    code = "import importlib.metadata as m; print(m.version('torch'))"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def from_cpu_index() -> bool:
    """Take the wheel from PyTorch's CPU index; one quick try, for a closed network should not cost minutes."""
    quick = ("--retries", "1", "--timeout", "20")
    with tempfile.TemporaryDirectory() as folder:
        get = (
            "download",
            "--no-deps",
            *quick,
            "--index-url",
            CPU_INDEX,
            "-d",
            folder,
            f"torch=={VERSION}+cpu",
        )
        return pip(*get) and install(folder)


def from_this_machine() -> bool:
    """Take a local wheel that is a CPU build."""
    with tempfile.TemporaryDirectory() as folder:
        get = ("download", "--no-deps", "--no-index", "-d", folder, f"torch=={VERSION}")
        return pip(*get) and any("+cpu" in wheel.name for wheel in Path(folder).iterdir()) and install(folder)


def install(folder: str) -> bool:
    """Install the one wheel in `folder`; what it needs is in the lock file already."""
    return pip("install", "--no-deps", *(str(wheel) for wheel in Path(folder).iterdir()))


def main() -> None:
    """Install torch, or say that it is absent."""
    found = installed()
    if not found and not (from_cpu_index() or from_this_machine()):
        print(
            f"torch: skipped: no CPU build of torch {VERSION} can be had here; tests that need it will skip"
        )
        return
    print(f"torch: {installed()}")


if __name__ == "__main__":
    main()
