"""Publishing for another run: the pull request is derived from the API, the record is data."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_action.errors import RagevalError
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import PullRequest
from rageval_action.github.measuring_run import NoTarget, base_commit, candidate_members, find_pull_request
from rageval_action.github.webhook_types import Repository, User, WorkflowRunPayload
from tests.fakes.github import FORK_ID, REPOSITORY_ID
from tests.fakes.github_server import FakeGitHub

HEAD, BASE, TIP, MERGE = "a" * 40, "b" * 40, "c" * 40, "d" * 40


def run_of(**given: Any) -> WorkflowRunPayload:
    fields: dict[str, Any] = {
        "id": 99,
        "event": "pull_request",
        "head_sha": HEAD,
        "head_branch": "topic",
        "head_repository": Repository(id=FORK_ID, owner=User(login="mallory")),
    }
    return WorkflowRunPayload(**(fields | given))


def fork_pull(github: FakeGitHub, number: int = 7, **given: Any) -> None:
    fields: dict[str, Any] = {"head_repository_id": FORK_ID, "head_owner": "mallory"}
    github.state.pull(number, given.pop("head", HEAD), BASE, **(fields | given))


def test_the_pull_request_of_a_fork(github: FakeGitHub, api: Api) -> None:
    fork_pull(github)
    github.state.pull(8, HEAD, BASE)
    found = find_pull_request(api, run_of(), REPOSITORY_ID, hint=8)
    assert isinstance(found, PullRequest)
    assert (found.number, found.from_fork) == (7, True)


@pytest.mark.parametrize(
    "pull",
    [
        {"head": "e" * 40},
        {"head_repository_id": 5},
        {"state": "closed"},
        {"head_owner": "other"},
        {"head_ref": "x"},
    ],
)
def test_nothing_else_will_do(pull: dict[str, Any], github: FakeGitHub, api: Api) -> None:
    fork_pull(github, **pull)
    assert isinstance(find_pull_request(api, run_of(), REPOSITORY_ID, hint=7), NoTarget)


def test_the_artifacts_number_only_chooses_among_those_that_fit(github: FakeGitHub, api: Api) -> None:
    fork_pull(github, 7)
    fork_pull(github, 9, base_ref="release")
    fork_pull(github, 11, head="e" * 40)
    found = find_pull_request(api, run_of(), REPOSITORY_ID, hint=9)
    assert isinstance(found, PullRequest)
    assert found.number == 9
    for hint in (11, 0, 1234):
        assert isinstance(find_pull_request(api, run_of(), REPOSITORY_ID, hint=hint), NoTarget)


def test_a_deleted_fork(github: FakeGitHub, api: Api) -> None:
    assert isinstance(find_pull_request(api, run_of(head_repository=None), REPOSITORY_ID), NoTarget)
    assert github.log == []


def test_the_base_is_the_merge_commits_first_parent(github: FakeGitHub, api: Api) -> None:
    fork_pull(github, merge_commit_sha=MERGE)
    github.state.commit(MERGE, TIP, HEAD)
    found = find_pull_request(api, run_of(), REPOSITORY_ID)
    assert isinstance(found, PullRequest)
    assert base_commit(api, found) == TIP
    github.state.commit(MERGE, TIP, "e" * 40)
    assert base_commit(api, found) == BASE
    github.state.pulls[7]["merge_commit_sha"] = None
    assert base_commit(api, found) == BASE


def test_the_record_of_that_run_and_no_other(github: FakeGitHub, api: Api) -> None:
    fork = {"head_repository": {"id": FORK_ID, "full_name": "mallory/docs"}, "event": "pull_request"}
    github.state.run(99, HEAD, **fork)
    github.state.run(98, HEAD, **fork)
    with pytest.raises(ApiError) as error:
        candidate_members(api, run_of(), "rageval-default", ("r",))
    assert error.value.failure == "not-found"
    github.state.artifact(98, {"r": b"other run"})
    github.state.artifact(99, {"r": b"first"})
    github.state.artifact(99, {"r": b"second"})
    github.state.artifact(99, {"r": b"other sha"}, head_sha="e" * 40)
    github.state.artifact(99, {"r": b"other name"}, name="rageval-x")
    assert candidate_members(api, run_of(), "rageval-default", ("r",)) == {"r": b"second"}
    github.state.artifact(99, {"r": b"bad"}, digest="sha256:00")
    with pytest.raises(RagevalError):
        candidate_members(api, run_of(), "rageval-default", ("r",))
