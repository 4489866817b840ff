"""The publishing job of the fork-safe pair: API facts, validated data, rendered here."""

from __future__ import annotations

from typing import Any

import pytest

from tests.action.in_process import members_of, run_inside
from tests.action.own_process import HEAD, MERGE, Ended, Workspace
from tests.fakes.github import BOT, FORK_ID, REPOSITORY_ID, WORKFLOW, WRITE, TokenKind, zipped
from tests.fakes.github_server import FakeGitHub

FORK = {"id": FORK_ID, "full_name": "mallory/docs", "owner": {"login": "mallory", "id": 9, "type": "User"}}
RUN = 99


def payload(**given: Any) -> dict[str, Any]:
    run = {
        "id": RUN,
        "event": "pull_request",
        "head_sha": HEAD,
        "head_branch": "main",
        "status": "completed",
        "conclusion": "failure",
        "head_repository": FORK,
        "repository": {"id": REPOSITORY_ID},
        "path": WORKFLOW,
        "pull_requests": [],
    }
    return {"action": "completed", "workflow_run": run | given}


@pytest.fixture
def forked(github: FakeGitHub, base: str) -> str:
    """A fork's pull request with a run that left a record, and a baseline on main."""
    github.state.pulls.clear()
    github.state.pull(
        7,
        HEAD,
        base,
        head_ref="main",
        head_owner="mallory",
        head_repository_id=FORK_ID,
        merge_commit_sha=MERGE,
    )
    github.state.run(
        RUN, HEAD, event="pull_request", head_repository={"id": FORK_ID, "full_name": "mallory/docs"}
    )
    github.state.artifact(RUN, members_of("candidate", MERGE, ref="refs/pull/7/merge", event="pull_request"))
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base))
    return base


def publish(
    workspace: Workspace, patch: pytest.MonkeyPatch, event: dict[str, Any] | None = None, **given: Any
) -> Ended:
    for path in workspace.checkout.iterdir():  # this job has no checkout
        if path.is_file():
            path.unlink()
    given.setdefault("baseline-workflow", "rageval.yml")
    given.setdefault(
        "runner", {"workflow_path": ".github/workflows/rageval-publish.yml", "ref": "refs/heads/main"}
    )
    return run_inside(workspace, "workflow_run", event or payload(), "c" * 40, patch, **given)


def test_the_comment_is_made_from_data(
    workspace: Workspace, forked: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(forked)
    ended = publish(workspace, monkeypatch, check="true")
    assert ended.code == 0, ended.log
    assert (ended.outputs["verdict"], ended.outputs["baseline-sha"], ended.outputs["record-path"]) == (
        "fail",
        forked,
        "",
    )
    (comment,) = github.state.comments.values()
    assert comment["body"].startswith(f"<!-- rageval id=default run=500 attempt=1 sha={HEAD} -->")
    assert "Measured by [a run on the pull request's own files](" in comment["body"]
    (check,) = github.state.checks.values()
    assert (check["conclusion"], check["head_sha"]) == ("failure", HEAD)


def test_markdown_of_the_artifact_is_never_posted(
    workspace: Workspace, forked: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.artifacts.clear()
    members = members_of("candidate", MERGE) | {
        "comment.md": b"@octocat <img src=x>",
        "comparison.json": b'{"verdict": "pass"}',
    }
    github.state.artifact(RUN, members)
    github.state.artifact(1, members_of("baseline", forked))
    workspace.policy(forked)
    assert publish(workspace, monkeypatch).outputs["verdict"] == "fail"
    (comment,) = github.state.comments.values()
    assert "octocat" not in comment["body"]


def test_the_policy_is_the_bases_and_the_forks_k_decides_nothing(
    workspace: Workspace, forked: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.artifacts.clear()
    github.state.artifact(RUN, members_of("candidate", MERGE, k=100, policy={"gates": [], "k": 100}))
    github.state.artifact(1, members_of("baseline", forked, policy={}))
    ended = publish(workspace, monkeypatch)
    assert ended.outputs["verdict"] == "inconclusive"  # by the default gate on recall@5; recall@100 holds
    assert "recall@5 dropped" in ended.log


@pytest.mark.parametrize(
    "hostile",
    [
        b"no zip",
        zipped({"record.json": b"[" * 100_000, "rankings.jsonl": b"", "corpus.npz": b""}),
        zipped({"record.json": b"\0" * 60_000_000, "rankings.jsonl": b"", "corpus.npz": b""}),
        zipped({"record.json": b"{}", "rankings.jsonl": b"{}", "corpus.npz": b"{}"}),
        zipped({"../record.json": b"{}"}),
    ],
    ids=["no zip", "deep", "bomb", "no record", "climbing"],
)
def test_a_hostile_record_is_not_published_and_nothing_fails(
    hostile: bytes, workspace: Workspace, forked: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.artifacts.clear()
    github.state.artifact(RUN, hostile)
    ended = publish(workspace, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (0, "skipped")
    assert github.state.comments == {}
    assert "nothing is published" in ended.log


@pytest.mark.parametrize(
    ("inputs", "path", "verdict"),
    [
        ({}, ".github/workflows/mine.yml", "skipped"),
        ({}, ".github/workflows/sub/rageval.yml", "skipped"),
        ({}, "", "skipped"),
        ({"baseline-workflow": ""}, WORKFLOW, "skipped"),
        ({}, f"{WORKFLOW}@refs/heads/main", "fail"),
        ({"measuring-workflow": "other.yml"}, WORKFLOW, "skipped"),
        ({"measuring-workflow": "rageval.yml", "baseline-workflow": "rageval.yml"}, WORKFLOW, "fail"),
    ],
)
def test_only_runs_of_the_configured_workflow_are_published(
    inputs: dict[str, str],
    path: str,
    verdict: str,
    workspace: Workspace,
    forked: str,
    github: FakeGitHub,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fork may add a workflow file of the same name whose record says what it likes."""
    ended = publish(workspace, monkeypatch, payload(path=path), **inputs)
    assert (ended.code, ended.outputs["verdict"]) == (0, verdict), ended.log
    assert bool(github.state.comments) == (verdict != "skipped")


def test_no_record_and_no_pull_request(
    workspace: Workspace, forked: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert publish(workspace, monkeypatch, payload(head_sha="e" * 40)).outputs["verdict"] == "skipped"
    github.state.pulls[7]["state"] = "closed"
    ended = publish(workspace, monkeypatch)
    assert "no open pull request" in ended.log
    assert publish(workspace, monkeypatch, payload(conclusion="cancelled")).outputs["verdict"] == "skipped"
    github.state.artifacts.clear()
    assert publish(workspace, monkeypatch, required="comment").code == 0


def test_a_required_comment_that_fails(
    workspace: Workspace, forked: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.always = lambda name: "500" if "/comments" in name else ""
    assert publish(workspace, monkeypatch).code == 0
    assert publish(workspace, monkeypatch, required="comment").code == 4


def test_a_newer_run_stays(
    workspace: Workspace, forked: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.comment(
        7, "github-actions[bot]", f"<!-- rageval id=default run=501 attempt=1 sha={HEAD} -->\nnewer"
    )
    ended = publish(workspace, monkeypatch)
    assert "Comment kept" in ended.log
    (comment,) = github.state.comments.values()
    assert comment["body"].endswith("newer")


@pytest.mark.parametrize("fault", ["500", "403-secondary", "bad-json", "truncated"])
def test_faults_never_make_a_fork_look_better(
    fault: str, workspace: Workspace, forked: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(forked)
    assert publish(workspace, monkeypatch).outputs["verdict"] == "fail"
    calls = list(dict.fromkeys(github.log))
    for broken in calls:
        github.state.comments.clear()
        github.always = lambda name, broken=broken: fault if name == broken else ""
        ended = publish(workspace, monkeypatch)
        assert ended.code == 0, (broken, ended.log)
        assert ended.outputs["verdict"] in ("fail", "cannot_measure", "skipped"), (broken, ended.log)
        assert (
            ended.outputs["verdict"] == "fail"
            or "could not" in ended.log + ended.summary
            or "nothing is published" in ended.log
        )
        assert len(github.state.comments) <= 1


def test_publishing_for_a_fork_never_touches_the_history(
    workspace: Workspace, forked: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.tokens["ghs_keeper"] = TokenKind(BOT, app=True, rights=WRITE | {"contents": "write"})
    ended = publish(workspace, monkeypatch, token="ghs_keeper", **{"history-branch": "rageval-history"})
    assert ended.outputs["comment-url"]
    assert not [line for line in github.log if "/git/" in line]
