"""npm packages that tests hold our work against, fetched once into `.cache/npm` with the ordinary client."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "npm"


def npm_package(name: str, version: str) -> Path:
    """The installed package `name`; skips the test, by name, where npm or the package is not to be had."""
    home = CACHE / f"{name.replace('/', '+').replace('@', '')}-{version}"
    installed = home / "node_modules" / name
    if installed.is_dir():
        return installed
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"npm is not installed: {name}")
    home.mkdir(parents=True, exist_ok=True)
    (home / "package.json").write_text("{}")
    command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", f"{name}@{version}"]
    try:
        subprocess.run(command, cwd=home, check=True, capture_output=True, timeout=180)
    except (subprocess.SubprocessError, OSError):
        shutil.rmtree(home, ignore_errors=True)
        pytest.skip(f"npm package not reachable: {name}@{version}")
    return installed
