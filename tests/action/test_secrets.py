"""Credentials leave the environment before anything else can start, and leave no trace in /proc."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rageval_action.github.secrets import PIPE, seal, secret_names, unseal
from tests.action.own_process import ROOT

LEFT = """
import os, sys
from rageval_action.github.secrets import seal, unseal
{seal}
found = unseal(os.environ)
child = os.popen("cat /proc/%d/environ | tr '\\\\0' '\\\\n'; env" % os.getpid()).read()
print(found.get("INPUT_TOKEN"), "s3cr3t" in child)
"""
SEAL = "seal(os.environ, lambda environ: os.execve(sys.executable, [sys.executable, *sys.argv], environ))"


@pytest.mark.parametrize(("step", "leaks"), [(SEAL, False), ("", True)], ids=["sealed", "only deleted"])
def test_a_child_cannot_read_them_from_its_parent(step: str, leaks: bool, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(LEFT.format(seal=step))
    environ = {
        **os.environ,
        "INPUT_TOKEN": "ghs_s3cr3t",
        "ACTIONS_RUNTIME_TOKEN": "s3cr3t",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, script], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["ghs_s3cr3t", str(leaks)]


def test_names_of_credentials() -> None:
    names = ["INPUT_TOKEN", "INPUT_GITHUB-TOKEN", "INPUT_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"]
    names += ["ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL"]
    others = ["GITHUB_SHA", "INPUT_GOLDEN", "ACTIONS_RESULTS_URL", "MY_TOKENS"]
    assert set(secret_names(dict.fromkeys([*names, *others], "x"))) == set(names)


def test_nothing_to_seal_restarts_nothing() -> None:
    def never(_: dict[str, str]) -> None:
        raise AssertionError

    seal({"GITHUB_SHA": "x"}, never)
    seal({"INPUT_TOKEN": "x", PIPE: "3"}, never)
    seal({"INPUT_TOKEN": "x" * 70_000}, never)


def test_a_broken_pipe_is_no_crash() -> None:
    assert unseal({PIPE: "9999", "INPUT_TOKEN": "x"}) == {"INPUT_TOKEN": "x"}
    assert unseal({PIPE: "not a number"}) == {}
