"""The history on a data branch: kept by pushes to the default branch, by nothing else, and never at the verdict's cost."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.github.data_branch import MARKER
from tests.action import in_process
from tests.action.in_process import measured, members_of, record_of, run_inside
from tests.action.own_process import MERGE, Ended, Workspace, pull_request
from tests.fakes.github import BOT, FORK_ID, REPOSITORY_ID, WRITE, TokenKind
from tests.fakes.github_server import TOKEN, FakeGitHub

BRANCH = "rageval-history"
KEEPER = "ghs_keeper"
STARTED = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)


@pytest.fixture(autouse=True)
def keeper(github: FakeGitHub) -> None:
    """A token that may write everything: what is not written is not written by choice."""
    github.state.tokens[KEEPER] = TokenKind(BOT, app=True, rights=WRITE | {"contents": "write"})


def push(
    workspace: Workspace,
    sha: str,
    patch: pytest.MonkeyPatch,
    branch: str = "main",
    token: str = KEEPER,
    **given: Any,
) -> Ended:
    payload = {"ref": f"refs/heads/{branch}", "repository": {"id": REPOSITORY_ID, "default_branch": "main"}}
    given.setdefault("history-branch", BRANCH)
    number = len(list(workspace.home.glob("event-*.json")))
    made = {"run_id": f"run-{number}", "created_at": STARTED + datetime.timedelta(hours=number)}
    patch.setattr(
        in_process, "_canned", lambda config, sha: record_of(Path(config.snapshot).name, sha, **made)
    )
    runner = {"ref": payload["ref"]}
    return run_inside(workspace, "push", payload, sha, patch, token=token, runner=runner, **given)


def points(github: FakeGitHub, evaluation: str = "default") -> list[dict[str, Any]]:
    told = json.loads(github.state.branch_files(BRANCH)[f"{evaluation}/history.json"])
    assert told["schema"] == "rageval.history/1"
    found: list[dict[str, Any]] = told["points"]
    return found


def test_pushes_make_a_history_and_a_badge(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = github.state.commits[base]["parents"][0]["sha"]
    ended = push(workspace, older, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (0, "no_baseline")
    assert "History of 1 record(s) kept on rageval-history" in ended.log
    assert push(workspace, base, monkeypatch).code == 0
    files = github.state.branch_files(BRANCH)
    assert set(files) == {"README.md", "default/history.json", "default/badge.svg", "default/badge.json"}
    assert [one["sha"] for one in points(github)] == [older, base]
    score = points(github)[1]["measures"]["recall@5"]["mean"]
    assert json.loads(files["default/badge.json"])["message"] == f"{score:.3f}"
    assert f"recall@5: {score:.3f}" in files["default/badge.svg"].decode()
    assert github.state.branch_messages(BRANCH) == [
        f"Record {sha[:10]} (default) [skip ci]" for sha in (older, base)
    ]
    assert files["README.md"].decode().startswith(MARKER)


def test_the_branch_holds_no_query_and_no_text(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = push(workspace, base, monkeypatch)
    kept = b"".join(github.state.branch_files(BRANCH).values()).decode()
    rows = [json.loads(line) for line in ended.members()["rankings.jsonl"].splitlines()]
    assert len(rows) > 100
    assert not [row["query"] for row in rows if " " in row["query"] and row["query"] in kept]
    assert len(kept) < 30_000


def test_measuring_a_commit_again_replaces_its_record(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        assert push(workspace, base, monkeypatch).code == 0
    assert [one["sha"] for one in points(github)] == [base]


def test_a_run_that_could_not_measure_is_not_added(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = measured("candidate")
    failed = tuple(replace(row, error="down", results=()) for row in made.queries)
    record = replace(made.record, errors=len(failed))
    monkeypatch.setattr(in_process, "measured", lambda _: replace(made, queries=failed, record=record))
    ended = push(workspace, base, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (3, "cannot_measure")
    assert "Not added to the history on rageval-history" in ended.log
    assert BRANCH not in github.state.branches


def test_evaluations_have_a_folder_each(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("en", "zh"):
        push(workspace, base, monkeypatch, id=name)
    assert [one["sha"] for name in ("en", "zh") for one in points(github, name)] == [base, base]


def test_two_pushes_at_once_are_both_kept(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = github.state.commits[base]["parents"][0]["sha"]
    push(workspace, older, monkeypatch, id="zh")
    rival = [True]

    def race(name: str) -> str:
        if name.startswith("PATCH") and rival:
            rival.pop()
            state = github.state
            tip = state.branches[BRANCH]
            state.trees["8" * 40] = {**state.branch_files(BRANCH), "en/history.json": b"[]"}
            state.branches[BRANCH] = state.put_commit("8" * 40, "8" * 40, tip, message="Record en")
        return ""

    github.always = race
    assert push(workspace, base, monkeypatch, id="zh").code == 0
    assert [one["sha"] for one in points(github, "zh")] == [older, base]
    assert github.state.branch_files(BRANCH)["en/history.json"] == b"[]"
    assert github.state.branch_messages(BRANCH)[1] == "Record en"


def test_a_missing_permission_is_named_and_costs_nothing_else(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = push(workspace, base, monkeypatch, token=TOKEN)
    assert (ended.code, ended.outputs["verdict"], ended.outputs["exit-code"]) == (0, "no_baseline", "0")
    assert "the history could not be published" in ended.log
    assert "The job needs `contents: write`." in ended.log
    assert ended.members()
    assert BRANCH not in github.state.branches
    assert push(workspace, base, monkeypatch, token=TOKEN, required="history").code == 4


@pytest.mark.parametrize("fault", ["500", "403-secondary", "timeout", "bad-json", "truncated"])
def test_an_outage_costs_nothing_else(
    fault: str, workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.patience = 0.4
    github.always = lambda name: fault if "/git/" in name else ""
    ended = push(workspace, base, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (0, "no_baseline")
    assert "the history could not be published" in ended.log
    assert ended.members()


def test_a_history_that_cannot_be_read_is_left_as_it_is(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(workspace, base, monkeypatch)
    tip = github.state.branches[BRANCH]
    github.state.files[tip, "default/history.json"] = b"{}"
    ended = push(workspace, base, monkeypatch)
    assert ended.code == 0
    assert "default/history.json on rageval-history: not a valid history" in ended.log
    assert github.state.branches[BRANCH] == tip


def test_a_branch_with_code_is_left_alone(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = push(workspace, base, monkeypatch, **{"history-branch": "main"})
    assert ended.code == 0
    assert "the branch main was not begun by this action" in ended.log
    assert github.state.branches["main"] == base


def test_without_the_input_nothing_is_kept(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(workspace, base, monkeypatch, **{"history-branch": ""})
    assert not [line for line in github.log if "/git/" in line]


def test_another_branch_has_no_part_in_it(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert push(workspace, base, monkeypatch, branch="release").outputs["record-path"]
    assert not [line for line in github.log if "/git/" in line]


@pytest.mark.parametrize("fork", [False, True], ids=["ours", "fork"])
@pytest.mark.parametrize("event", ["pull_request", "pull_request_review"])
def test_a_pull_request_never_writes(
    event: str,
    fork: bool,
    workspace: Workspace,
    base: str,
    github: FakeGitHub,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base))
    payload = pull_request(base, action="submitted")
    if fork:
        payload["pull_request"]["head"] |= {"ref": "main", "repo": {"id": FORK_ID}}
    ended = run_inside(
        workspace, event, payload, MERGE, monkeypatch, token=KEEPER, **{"history-branch": BRANCH}
    )
    assert ended.outputs["record-path"]
    assert not [line for line in github.log if "/git/" in line]


@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch", "merge_group"])
def test_other_events_never_write(
    event: str, workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = {"head_sha": MERGE, "base_sha": base, "base_ref": "refs/heads/main"}
    payload = {"action": "checks_requested", "merge_group": group, "repository": {"default_branch": "main"}}
    runner = {"ref": "refs/heads/main"}
    given = {"history-branch": BRANCH}
    ended = run_inside(workspace, event, payload, base, monkeypatch, token=KEEPER, runner=runner, **given)
    assert ended.outputs["record-path"]
    assert not [line for line in github.log if "/git/" in line]
