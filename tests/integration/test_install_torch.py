"""Which torch `make test` brings: a CPU build from wherever one can be had, never PyPI's CUDA build."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import threading
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.small_project import ROOT

VERSION = (ROOT / "requirements" / "torch.in").read_text().strip().removeprefix("torch==")
CLOSED = "http://127.0.0.1:9/whl/cpu"
"""An index that refuses every connection, as a closed network does."""


def wheel(folder: Path, version: str) -> Path:
    """An empty package that calls itself torch."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"torch-{version}-py3-none-any.whl"
    inner = f"torch-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("torch/__init__.py", "")
        archive.writestr(f"{inner}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        archive.writestr(f"{inner}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{inner}/RECORD", "")
    return path


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip and nothing else."""
    folder = tmp_path_factory.mktemp("torch") / "venv"
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """PyTorch's CPU index, on this machine."""
    made = wheel(tmp_path / "whl" / "cpu" / "torch", f"{VERSION}+cpu")
    (made.parent / "index.html").write_text(f'<a href="{made.name.replace("+", "%2B")}">{made.name}</a>')
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/whl/cpu"
        server.shutdown()


def install(python: Path, index: str, wheels: Path) -> str:
    """Run the tool as `make dev` does; what pip knows of is `wheels` alone, as if it were PyPI and this machine."""
    subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", "torch"], check=True, capture_output=True)
    code = f"import install_torch as tool; tool.CPU_INDEX = {index!r}; tool.main()"
    done = subprocess.run(
        [python, "-c", code],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "tools"),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": str(wheels),
            "PIP_NO_INDEX": "",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_cpu_index_is_asked_first(python: Path, index: str, tmp_path: Path) -> None:
    wheel(tmp_path / "pypi", VERSION)
    assert install(python, index, tmp_path / "pypi") == f"torch: {VERSION}+cpu"


def test_where_it_cannot_be_reached_a_local_cpu_build_does(python: Path, tmp_path: Path) -> None:
    wheel(tmp_path / "local", f"{VERSION}+cpu")
    assert install(python, CLOSED, tmp_path / "local") == f"torch: {VERSION}+cpu"


def test_a_cuda_build_is_never_taken(python: Path, tmp_path: Path) -> None:
    wheel(tmp_path / "pypi", VERSION)
    told = install(python, CLOSED, tmp_path / "pypi")
    assert told.startswith(f"torch: skipped: no CPU build of torch {VERSION} can be had here")
