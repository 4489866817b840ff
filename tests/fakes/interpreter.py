"""Where the tests' programs lie, and an interpreter that another user may run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rageval_action.retrievers.cage_user import USERS

FOLDER = Path(__file__).resolve().parent / "programs"


def interpreter() -> str:
    """Our Python where the confined user may run it, else the system's; skips where there is none."""
    for candidate in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin")):
        if candidate and _runs(candidate):
            return candidate
    pytest.skip("no Python here that another user may run")


def _runs(candidate: str) -> bool:
    as_other = {"user": USERS[-1], "group": USERS[-1], "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        tried = subprocess.run(
            [candidate, "-c", ""],
            check=False,
            capture_output=True,
            cwd="/",
            **as_other,  # type: ignore[call-overload]
        )
    except OSError:
        return False
    return bool(tried.returncode == 0)
