"""Defences that are taken out one by one, to see that a test notices each."""
# ruff: noqa: T201

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[1]

Defence: TypeAlias = tuple[str, str, str, str, str]
"""Its name, the file, what stands there, what is put in its place, and the tests (by blanks) that must fail then."""


def take_out(defences: Sequence[Defence]) -> None:
    """Take out those whose names hold a word of the command line, or all, each in a copy of the tree.

    A line says what was taken out and which test noticed first; one that nobody noticed ends with 1.
    """
    words = sys.argv[1:]
    chosen = [one for one in defences if not words or any(word in one[0] for word in words)]
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        ignore = shutil.ignore_patterns(".git", ".venv*", ".cache", "__pycache__", "node_modules")
        shutil.copytree(ROOT, tree, ignore=ignore)
        for tests in dict.fromkeys(one[4] for one in chosen):
            if (told := _tested(tree, tests)).startswith("noticed"):
                raise SystemExit(f"These fail with every defence in place: {tests}: {told}")
        for name, file, old, new, tests in chosen:
            path = tree / file
            text = path.read_text("utf-8")
            told = "NOT FOUND"
            if old in text:
                path.write_text(text.replace(old, new), "utf-8")
                told = _tested(tree, tests)
                path.write_text(text, "utf-8")
            unnoticed += not told.startswith("noticed")
            print(f"{told.partition(' ')[0]:<10} {name}: {told.partition(' ')[2]}", flush=True)
    raise SystemExit(1 if unnoticed else 0)


def _tested(tree: Path, tests: str) -> str:
    """What the tests say of the tree; BROKEN when none ran: the code no longer loads, or there are no such tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests.split()]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    word = {0: "UNNOTICED", 1: "noticed"}.get(done.returncode, "BROKEN")
    return f"{word} {failed[0][:150] if failed else ''}"
