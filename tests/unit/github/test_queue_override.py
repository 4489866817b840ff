"""Acceptance of a merge group: each failing pull request by its own."""

from __future__ import annotations

import pytest

from rageval_action.github.api import Api
from rageval_action.github.override import Accepted, NotAccepted, OverrideUnknown
from rageval_action.github.queue_override import find_group_override
from rageval_action.github.webhook_types import MergeGroup
from tests.fakes.github import WORKFLOW
from tests.fakes.github_server import FakeGitHub

BASE, FIRST, SECOND = "1" * 40, "2" * 40, "3" * 40
HEADS = {7: "a" * 40, 9: "b" * 40}


def group(**given: str) -> MergeGroup:
    fields = {
        "head_sha": SECOND,
        "base_sha": FIRST,
        "base_ref": "refs/heads/main",
        "head_ref": f"refs/heads/gh-readonly-queue/main/pr-9-{FIRST}",
    }
    return MergeGroup(**(fields | given))


@pytest.fixture
def queue(github: FakeGitHub) -> None:
    """Two pull requests in one group, each by a merge commit; 7 failed by itself, 9 passed."""
    state = github.state
    state.commit(BASE)
    for number, sha, before, ended in ((7, FIRST, BASE, "failure"), (9, SECOND, FIRST, "success")):
        state.commit(HEADS[number], BASE)
        state.commit(sha, before, HEADS[number])
        state.pull(number, HEADS[number], BASE, head_ref=f"topic-{number}")
        state.run(
            number, HEADS[number], event="pull_request", conclusion=ended, head_branch=f"topic-{number}"
        )
    state.permissions["ana"] = "write"


def asked(api: Api, made: MergeGroup | None = None):
    return find_group_override(api, made or group(), BASE, "default", WORKFLOW)


def test_the_failing_one_needs_acceptance_and_the_other_none(
    queue: None, github: FakeGitHub, api: Api
) -> None:
    assert isinstance(asked(api), NotAccepted)
    github.state.review(7, "ana", "/rageval accept stale labels", HEADS[7])
    made = asked(api)
    assert isinstance(made, Accepted)
    assert (made.by, made.reason, made.sha) == ("ana", "#7: stale labels", SECOND)


def test_acceptance_of_one_does_not_cover_another(queue: None, github: FakeGitHub, api: Api) -> None:
    github.state.runs[9]["conclusion"] = "failure"
    github.state.review(7, "ana", "/rageval accept stale labels", HEADS[7])
    made = asked(api)
    assert isinstance(made, NotAccepted)
    assert made.notes == ("#9 did not pass by itself, and nobody has accepted it.",)
    github.state.review(9, "ana", "/rageval accept seen", HEADS[9])
    found = asked(api)
    assert isinstance(found, Accepted)
    assert found.reason == "#9: seen; #7: stale labels"


@pytest.mark.parametrize("runs", ["none", "another workflow", "a push", "a newer one failed"])
def test_only_its_own_newest_run_tells_that_it_passed(
    runs: str, queue: None, github: FakeGitHub, api: Api
) -> None:
    given = {"event": "pull_request", "conclusion": "success"}
    if runs == "a newer one failed":
        github.state.run(10, HEADS[9], **given | {"conclusion": "failure"})
    else:
        del github.state.runs[9]
    if runs == "another workflow":
        github.state.run(10, HEADS[9], **given, path=".github/workflows/other/rageval.yml")
    if runs == "a push":
        github.state.run(10, HEADS[9], **given | {"event": "push"})
    github.state.review(7, "ana", "/rageval accept stale labels", HEADS[7])
    assert isinstance(asked(api), NotAccepted)


def test_squashed_commits_are_known_by_their_number(queue: None, github: FakeGitHub, api: Api) -> None:
    for sha, before, title in ((FIRST, BASE, "Like (#9), but (#7)"), (SECOND, FIRST, "Anything")):
        github.state.commit(sha, before)
        github.state.commits[sha]["commit"]["message"] = f"{title}\n\nsee (#9)"
    github.state.review(7, "ana", "/rageval accept stale labels", HEADS[7])
    assert isinstance(asked(api), Accepted)
    github.state.commits[FIRST]["commit"]["message"] = "no number"
    made = asked(api)
    assert isinstance(made, NotAccepted)
    assert "no open pull request of the group is known" in made.notes[0]


def test_a_group_that_does_not_reach_its_base(queue: None, github: FakeGitHub, api: Api) -> None:
    made = find_group_override(api, group(), "9" * 40, "default", WORKFLOW)
    assert isinstance(made, NotAccepted | OverrideUnknown)
