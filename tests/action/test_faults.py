"""Every fault at every call of a clean run: no result is lost, no verdict changes, no outage passes as an absence."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_action import pipeline
from rageval_action.core.comparing.comparison import Comparison
from rageval_action.core.comparing.comparison import compare as really_compare
from tests.action.in_process import members_of, run_inside
from tests.action.own_process import MERGE, Ended, Workspace, pull_request
from tests.fakes.github_server import FAULTS, FakeGitHub

LOOK_UPS = 10
"""Calls before the evaluation: commit, commits, runs, artifacts, zip, storage, workflow and its commit, policy, reviews."""


def go(workspace: Workspace, base: str, patch: pytest.MonkeyPatch) -> Ended:
    """The same two records every time: they are compared once."""
    patch.setattr(pipeline, "compare", compared)
    return run_inside(workspace, "pull_request", pull_request(base), MERGE, patch, check="true")


COMPARED: dict[str, Comparison] = {}


def compared(baseline: Any, candidate: Any, measures: Any, **_given: Any) -> Comparison:
    key = f"{baseline.record.git.sha} {candidate.record.git.sha} {measures}"
    if key not in COMPARED:
        COMPARED[key] = really_compare(baseline, candidate, measures)
    return COMPARED[key]


@pytest.fixture
def recorded(github: FakeGitHub, base: str, workspace: Workspace) -> str:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base))
    workspace.policy(base)
    github.patience = 0.4
    return base


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_faults(
    fault: str,
    lasting: bool,
    workspace: Workspace,
    recorded: str,
    github: FakeGitHub,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clean = go(workspace, recorded, monkeypatch)
    assert (clean.code, clean.outputs["verdict"]) == (1, "fail")
    calls = list(github.log)
    assert "reviews" in calls[LOOK_UPS - 1]
    assert len(calls) >= LOOK_UPS + 4
    for broken in range(len(calls)):
        github.log.clear()
        github.state.comments.clear()
        github.state.checks.clear()
        seen: list[str] = []
        github.always = lambda name, at=broken, seen=seen: (
            fault if _hit(name, at, seen, lasting=lasting) else ""
        )
        ended = go(workspace, recorded, monkeypatch)
        case = f"{fault} at call {broken} ({calls[broken]}), {'lasting' if lasting else 'once'}:\n{ended.log}"
        assert ended.members().keys() >= {"record.json", "rankings.jsonl", "corpus.npz"}, case
        assert ended.summary, case
        if (
            broken < LOOK_UPS - 1
        ):  # what was looked up decides; an outage may only make the answer "cannot measure"
            ends = {"fail": 1, "cannot_measure": 3}
            assert ended.code == ends[ended.outputs["verdict"]], case
            if lasting:
                assert "could not be" in ended.log or "cannot be used" in ended.log, case
        else:
            assert (ended.code, ended.outputs["verdict"]) == (1, "fail"), case
        assert len(github.state.comments) <= 1, case
        if broken >= LOOK_UPS and lasting and not github.state.comments:
            assert "could not be published" in ended.log, case
        for check in github.state.checks.values():
            assert check["status"] == "completed" or lasting or fault == "bad-json", case


def _hit(name: str, at: int, seen: list[str], *, lasting: bool) -> bool:
    """True for the clean run's request number `at`, and for its repetitions when the fault lasts."""
    seen.append(name)
    distinct = list(dict.fromkeys(seen))
    if lasting:
        return (
            distinct.index(name) == min(at, len(distinct) - 1)
            and len(distinct) - 1 >= min(at, 99)
            and name == distinct[-1]
        )
    return len(seen) - 1 == at
