"""The other events through the whole flow, and which commit each is compared with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.action.in_process import members_of, run_inside
from tests.action.own_process import HEAD, MERGE, Workspace, pull_request
from tests.fakes.github_server import FakeGitHub


@pytest.fixture
def recorded(github: FakeGitHub, base: str, workspace: Workspace) -> str:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base))
    workspace.policy(base)
    return base


def test_a_merge_group_is_gated_against_its_base(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = {"head_sha": MERGE, "base_sha": recorded, "base_ref": "refs/heads/main"}
    payload = {"action": "checks_requested", "merge_group": group}
    ended = run_inside(workspace, "merge_group", payload, MERGE, monkeypatch, check="true")
    assert (ended.code, ended.outputs["baseline-rung"]) == (1, "exact")
    assert github.state.comments == {}
    (check,) = github.state.checks.values()
    assert check["head_sha"] == MERGE


@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch"])
def test_drift_against_the_last_baseline(
    event: str, workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = run_inside(workspace, event, {}, recorded, monkeypatch, runner={"ref": "refs/heads/main"})
    assert (ended.code, ended.outputs["baseline-sha"], ended.outputs["baseline-distance"]) == (
        1,
        recorded,
        "0",
    )
    workspace.snapshot = "baseline"
    ended = run_inside(workspace, event, {}, recorded, monkeypatch, runner={"ref": "refs/heads/main"})
    assert (ended.code, ended.outputs["verdict"]) == (0, "pass")
    assert github.state.comments == {}


def test_another_base_branch_has_its_own_baseline(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = pull_request(recorded)
    payload["pull_request"]["base"]["ref"] = "release"
    ended = run_inside(workspace, "pull_request", payload, MERGE, monkeypatch)
    assert ended.outputs["verdict"] == "inconclusive"  # that branch has a policy, but no record
    github.state.run(2, recorded, head_branch="release")
    github.state.artifact(2, members_of("baseline", recorded))
    ended = run_inside(workspace, "pull_request", payload, MERGE, monkeypatch)
    assert ended.outputs["baseline-rung"] == "exact"


def test_a_head_checked_out_alone_is_compared_with_its_merge_base(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `ref: head.sha` the newer commits of main are not in the tested files: they must not count against it."""
    branched = github.state.commits[HEAD]["parents"][0]["sha"]
    github.state.run(2, branched)
    github.state.artifact(2, members_of("baseline", branched))
    workspace.policy(branched)
    (workspace.checkout / ".git").mkdir()
    (workspace.checkout / ".git" / "HEAD").write_text(HEAD + "\n")
    ended = run_inside(workspace, "pull_request", pull_request(recorded), MERGE, monkeypatch)
    assert ended.outputs["baseline-sha"] == branched
    (workspace.checkout / ".git" / "HEAD").write_text(MERGE + "\n")
    ended = run_inside(workspace, "pull_request", pull_request(recorded), MERGE, monkeypatch)
    assert ended.outputs["baseline-sha"] == recorded


def test_an_ancestor_is_named_with_its_distance(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = github.state.commits[base]["parents"][0]["sha"]
    github.state.run(1, older)
    github.state.artifact(1, members_of("baseline", older))
    ended = run_inside(workspace, "pull_request", pull_request(base), MERGE, monkeypatch)
    assert (ended.outputs["baseline-rung"], ended.outputs["baseline-distance"]) == ("ancestor", "1")
    assert "the nearest ancestor with a record, 1 commit before the base" in ended.summary


def test_an_expired_baseline_says_so(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base), expired=True)
    ended = run_inside(workspace, "pull_request", pull_request(base), MERGE, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (0, "no_baseline")
    assert "expired" in ended.summary


def test_the_server_that_gives_no_digest(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base), digest=None)
    given: dict[str, Any] = {"comment": "false"}
    ended = run_inside(workspace, "pull_request", pull_request(base), MERGE, monkeypatch, **given)
    assert ended.outputs["baseline-rung"] == "exact"
    assert "no digest" in ended.summary
    assert github.state.comments == {}
