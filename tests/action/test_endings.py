"""How a run ends when the machine refuses, when nothing was measured, and when a run is started by hand."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import Any

import pytest

from rageval_action.action import command, flow, session
from rageval_action.errors import ConfigError
from rageval_action.github.workflow_commands import Log
from tests.action import in_process as inside
from tests.action.in_process import members_of, run_inside
from tests.action.own_process import HEAD, MERGE, Workspace, pull_request
from tests.fakes.github import FORK_ID
from tests.fakes.github_server import FakeGitHub


@pytest.fixture
def recorded(github: FakeGitHub, base: str, workspace: Workspace) -> str:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base))
    workspace.policy(base)
    return base


def judge(workspace: Workspace, base: str, patch: pytest.MonkeyPatch, **given: Any):
    return run_inside(workspace, "pull_request", pull_request(base), MERGE, patch, check="true", **given)


def full(*_given: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "refusing", ["write_files", "write_outputs", "write_summary", "_free_folder", "_hand_over"]
)
def test_a_full_disk_costs_no_other_result(
    refusing: str,
    workspace: Workspace,
    recorded: str,
    github: FakeGitHub,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, refusing, full)
    ended = judge(workspace, recorded, monkeypatch)
    assert ended.code == 1
    assert "Verdict: fail" in ended.log
    assert "could not be written: the system refused: No space left on device" in ended.log
    assert len(github.state.comments) == len(github.state.checks) == 1
    if refusing != "write_outputs":
        assert ended.outputs["verdict"] == "fail"
        kept = ended.outputs["record-path"]
        assert bool(kept) == (refusing not in ("write_files", "_free_folder"))
    assert bool(ended.summary) == (refusing != "write_summary")


def test_a_push_that_leaves_no_record_is_no_success(
    workspace: Workspace, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "write_files", full)
    ended = run_inside(workspace, "push", {"ref": "refs/heads/main"}, base, monkeypatch)
    assert (ended.code, ended.outputs["exit-code"]) == (4, "4")


def test_an_error_is_told_on_the_check_too(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace.checkout / "rageval.yml").write_text("nonsense: 1\n")
    ended = judge(workspace, recorded, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (2, "error")
    (check,) = github.state.checks.values()
    assert (check["conclusion"], check["head_sha"]) == ("failure", HEAD)
    assert "not measured" in check["output"]["title"]
    (comment,) = github.state.comments.values()
    assert "was not measured" in comment["body"]


def test_an_error_before_the_plan_is_told_in_outputs_and_summary(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = run_inside(workspace, "pull_request_target", pull_request("b" * 40), MERGE, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (2, "error")
    assert "pull_request_target is refused" in ended.summary.replace("&#95;", "_")


@pytest.mark.parametrize(
    ("error", "code"),
    [(OSError(errno.ENOSPC, "full"), 3), (MemoryError(), 3), (ConfigError("a.b", "no."), 2)],
)
def test_whatever_the_machine_refuses_is_no_bug(
    error: BaseException, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: Any) -> int:
        raise error

    monkeypatch.setattr(command, "_run", fail)
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "summary"))
    stream = io.StringIO()
    assert command._guarded({}, Log(stream)) == code
    assert "exit-code" in (tmp_path / "output").read_text()
    assert "GITHUB_STEP_SUMMARY could not be written" in stream.getvalue()


def test_a_key_that_a_fork_cannot_have(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_given: Any) -> None:
        raise ConfigError("config.missing-variable", "the variable KEY is not set.")

    monkeypatch.setattr(flow, "_measure", missing)
    own = judge(workspace, recorded, monkeypatch)
    assert (own.code, own.outputs["verdict"]) == (2, "error")
    payload = pull_request(recorded, head={"sha": HEAD, "ref": "main", "repo": {"id": FORK_ID}})
    ended = run_inside(workspace, "pull_request", payload, MERGE, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (3, "cannot_measure")
    assert "GitHub gives no secrets" in ended.log
    assert "cached query vectors needs no key" in ended.log


def by_hand(workspace: Workspace, sha: str, patch: pytest.MonkeyPatch, branch: str, **given: Any):
    payload = {"repository": {"id": 4242, "default_branch": "main"}}
    return run_inside(
        workspace, "workflow_dispatch", payload, sha, patch, runner={"ref": f"refs/heads/{branch}"}, **given
    )


def test_a_run_started_by_hand_judges_as_the_pull_request(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch's own record is as bad: compared with that, nothing would have got worse."""
    branched = github.state.commits[HEAD]["parents"][0]["sha"]
    github.state.run(2, branched)
    github.state.artifact(2, members_of("baseline", branched))
    workspace.policy(branched)
    github.state.run(3, HEAD, head_branch="topic")
    github.state.artifact(3, members_of("candidate", HEAD))
    ended = by_hand(workspace, HEAD, monkeypatch, "topic")
    assert (ended.code, ended.outputs["baseline-sha"]) == (1, branched)
    assert len(github.state.comments) == 1
    github.state.pulls.clear()
    assert by_hand(workspace, HEAD, monkeypatch, "topic").code == 0
    github.always = lambda name: "500" if name.endswith("/pulls") else ""
    ended = by_hand(workspace, HEAD, monkeypatch, "topic")
    assert (ended.code, ended.outputs["verdict"]) == (3, "cannot_measure")
    assert by_hand(workspace, recorded, monkeypatch, "main").outputs["baseline-sha"] == recorded


def test_a_merge_group_takes_exam_and_policy_at_the_nearest_recorded_base(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at its parent, which may be another pull request of the queue."""
    ahead, group_sha = "d" * 40, "e" * 40
    github.state.commit(ahead, recorded, HEAD)
    github.state.commit(group_sha, ahead)
    github.state.commits[group_sha]["commit"]["message"] = "Another (#9)"
    github.state.pull(9, "9" * 40, recorded, head_ref="other")
    github.state.commit("9" * 40, recorded)
    github.state.files[ahead, "rageval.yml"] = b"golden: golden.jsonl\ngates: []\n"
    (workspace.checkout / "rageval.yml").write_bytes(b"golden: golden.jsonl\ngates: []\n")
    fields = {
        "head_sha": group_sha,
        "base_sha": ahead,
        "base_ref": "refs/heads/main",
        "head_ref": "refs/heads/q",
    }
    payload = {"action": "checks_requested", "merge_group": fields}
    ended = run_inside(workspace, "merge_group", payload, group_sha, monkeypatch)
    assert (ended.code, ended.outputs["baseline-sha"]) == (1, recorded)
    assert "removes the gate" in ended.summary
    github.state.permissions["ana"] = "write"
    github.state.review(7, "ana", "/rageval accept known loss", HEAD)
    ended = run_inside(workspace, "merge_group", payload, group_sha, monkeypatch)
    assert (ended.code, "9 did not pass by itself" in ended.summary) == (1, True)
    github.state.run(9, "9" * 40, event="pull_request", head_branch="other")
    ended = run_inside(workspace, "merge_group", payload, group_sha, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (0, "overridden")


def test_drift_is_marked_by_the_last_records_exam(
    workspace: Workspace, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    really = inside._evaluated
    monkeypatch.setattr(
        inside, "_evaluated", lambda config, world, baseline: given.append(baseline) or really(config, world)
    )
    run_inside(workspace, "schedule", {}, recorded, monkeypatch, runner={"ref": "refs/heads/main"})
    assert [record.record.git.sha for record in given] == [recorded]
