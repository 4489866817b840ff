"""npm packages that tests hold our work against. `make peers` fetches them into `.cache/npm`; no test does.

python -m tests.fakes.npm
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "npm"

PACKAGES = {"@actions/artifact": "6.2.1", "@actions/core": "3.0.1", "@octokit/webhooks-examples": "7.6.1"}
"""Package -> version."""


def _home(name: str) -> Path:
    return CACHE / f"{name.replace('/', '+').replace('@', '')}-{PACKAGES[name]}"


def npm_package(name: str) -> Path:
    """The folder of the package `name`; skips the test, by name, where it has not been fetched."""
    installed = _home(name) / "node_modules" / name
    if not installed.is_dir():
        pytest.skip(f"npm package not fetched (make peers): {name}@{PACKAGES[name]}")
    return installed


def fetch(name: str) -> str:
    """Fetch one package, in up to three tries; returns what became of it."""
    home = _home(name)
    if (home / "node_modules" / name).is_dir():
        return "there"
    npm = shutil.which("npm")
    if npm is None:
        return "skipped: npm is not installed"
    command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", f"{name}@{PACKAGES[name]}"]
    for _ in range(3):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        (home / "package.json").write_text("{}")
        try:
            subprocess.run(command, cwd=home, check=True, capture_output=True, timeout=120)
        except (subprocess.SubprocessError, OSError):
            continue
        return "fetched"
    shutil.rmtree(home, ignore_errors=True)
    return "skipped: not reachable"


if __name__ == "__main__":
    for package, version in PACKAGES.items():
        sys.stdout.write(f"npm {package}@{version}: {fetch(package)}\n")
