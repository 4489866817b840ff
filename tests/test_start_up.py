"""What a command loads is what it needs: start-up time is part of the product."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.small_project import ROOT, write_golden, write_index

BASE = ROOT / ".venv" / "bin" / "python"
LIMIT_MB = 350


def loaded(*words: str, cwd: Path) -> set[str]:
    """Top-level modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "rageval_action", *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    names = (
        line.rsplit("|", 1)[-1].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    )
    return {name.split(".")[0] for name in names}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_golden(tmp_path / "golden.jsonl")
    write_index(tmp_path / "index")
    return tmp_path


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    heavy = {"numpy", "faiss", "yaml", "rich", "jinja2", "requests", "torch", "msgspec"}
    assert not loaded("--version", cwd=tmp_path) & heavy


def test_evaluate_loads_what_it_needs(project: Path) -> None:
    words = ("evaluate", "--golden", "golden.jsonl", "--snapshot", "index", "--out", "run")
    found = loaded(*words, cwd=project)
    assert {"numpy", "msgspec"} <= found
    assert not found & {
        "torch",
        "sentence_transformers",
        "anthropic",
        "rich",
        "jinja2",
        "requests",
        "yaml",
        "scipy",
    }


@pytest.mark.skipif(not BASE.exists(), reason="the base environment (.venv) is not made: run `make base`")
class TestBaseInstall:
    def test_is_small(self) -> None:
        files = (path for path in (ROOT / ".venv").rglob("*") if path.is_file() and not path.is_symlink())
        size = sum(path.stat().st_size for path in files) / 1e6
        assert size < LIMIT_MB, f"the base environment takes {size:.0f} MB"

    def test_has_neither_torch_nor_anthropic(self) -> None:
        code = "import importlib.util as u; print([n for n in ('torch', 'anthropic') if u.find_spec(n)])"
        done = subprocess.run([BASE, "-c", code], check=True, capture_output=True, text=True)
        assert done.stdout.strip() == "[]"

    def test_runs_the_demo(self) -> None:
        done = subprocess.run(
            [BASE.parent / "rageval", "demo"], check=False, capture_output=True, text=True, cwd=ROOT
        )
        assert done.returncode == 0, done.stderr
        assert "Retrieval got worse" in done.stdout
