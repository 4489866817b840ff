"""Acceptance in a merge queue: each failing pull request of a group needs its own.

A group is tested together, so its result belongs to several pull requests. GitHub lets only those into a queue whose
required checks passed, by themselves or because somebody accepted them.
"""

from __future__ import annotations

import re

from msgspec import Struct

from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import PullRequest, pull_request_of
from rageval_action.github.override import (
    Accepted,
    NotAccepted,
    Override,
    OverrideUnknown,
    find_override,
)
from rageval_action.github.repository import commit
from rageval_action.github.rest_types import Commit, RunsPage
from rageval_action.github.webhook_types import MergeGroup, PullRequestPayload

MOST_COMMITS = 50
"""Commits of a group that are looked at; a longer one is accepted by nobody."""

_BRANCH = re.compile(r".*/pr-(\d{1,18})-[0-9a-f]{40,64}")
_TITLE = re.compile(r".*\(#(\d{1,18})\)")
_JUDGED = ("pull_request", "pull_request_review")


class Members(Struct, frozen=True):
    """The open pull requests of a group, or why they are not known."""

    pulls: tuple[PullRequest, ...] = ()
    unknown: str = ""


def find_group_override(api: Api, group: MergeGroup, base: str, evaluation: str, workflow: str) -> Override:
    """Acceptance of a group: every member passed by itself or is accepted, and one at least is accepted.

    Args:
        api: GitHub.
        group: of the event.
        base: the commit that the group is compared with.
        evaluation: our id.
        workflow: path of the workflow file, whose runs tell how a pull request ended by itself.
    """
    try:
        found = members(api, group, base)
        if found.unknown:
            return NotAccepted(notes=(found.unknown,))
        return _of_all(api, found.pulls, group, evaluation, workflow)
    except ApiError as error:
        return OverrideUnknown(reason=error.message)


def _of_all(
    api: Api, pulls: tuple[PullRequest, ...], group: MergeGroup, evaluation: str, workflow: str
) -> Override:
    accepted: list[tuple[PullRequest, Accepted]] = []
    notes: list[str] = []
    for pull in pulls:
        found = find_override(api, pull, evaluation)
        if isinstance(found, OverrideUnknown):
            return found
        if isinstance(found, Accepted):
            accepted.append((pull, found))
        elif not _passed(api, pull, workflow):
            notes.append(f"#{pull.number} did not pass by itself, and nobody has accepted it.")
    if notes or not accepted:
        return NotAccepted(notes=tuple(notes) if accepted else ())
    return Accepted(
        by=", ".join(dict.fromkeys(one.by for _, one in accepted)),
        reason="; ".join(f"#{pull.number}: {one.reason}" for pull, one in accepted),
        sha=group.head_sha,
        at=max(one.at for _, one in accepted),
        url=accepted[0][1].url,
    )


def members(api: Api, group: MergeGroup, base: str) -> Members:
    """The pull requests whose commits lie between `base` and the group's head, along first parents.

    The queue's branch names the last one. The others are known by the second parent of their merge commit, or by the
    number that GitHub puts at the end of a squashed commit's title.

    Raises:
        ApiError: GitHub could not be asked.
    """
    branch = group.base_ref.removeprefix("refs/heads/")
    query: dict[str, str | int] = {"state": "open", "base": branch}
    listed = [
        pull
        for page in api.pages(api.repo("pulls"), tuple[PullRequestPayload, ...], query)
        for pull in page
        if pull.base.ref == branch
    ]
    found: dict[int, PullRequestPayload] = {}
    current, last = group.head_sha, _BRANCH.fullmatch(group.head_ref)
    number = int(last[1]) if last else 0
    for _ in range(MOST_COMMITS):
        if current == base:
            return Members(tuple(pull_request_of(pull) for pull in found.values()))
        made = commit(api, current)
        pull = _pull_of(made, listed, number)
        if pull is None:
            text = f"no open pull request of the group is known for {current[:10]}, so that it cannot be accepted."
            return Members(unknown=text)
        found[pull.number] = pull
        current, number = made.first_parent, 0
    return Members(unknown="the merge group has too many commits to be accepted.")


def _pull_of(made: Commit, listed: list[PullRequestPayload], number: int) -> PullRequestPayload | None:
    second = made.parents[1].sha if len(made.parents) == 2 else ""
    titled = _TITLE.fullmatch(made.commit.message.split("\n", 1)[0].rstrip())
    if not number and titled and not second:
        number = int(titled[1])
    return next(
        (pull for pull in listed if pull.number == number or (second and pull.head.sha == second)), None
    )


def _passed(api: Api, pull: PullRequest, workflow: str) -> bool:
    """Whether the newest run of this workflow on the pull request's head succeeded."""
    name = workflow.rsplit("/", 1)[-1]
    query: dict[str, str | int] = {"head_sha": pull.head_sha}
    runs = [
        run
        for page in api.pages(api.repo(f"actions/workflows/{name}/runs"), RunsPage, query)
        for run in page.workflow_runs
        if run.event in _JUDGED and run.head_sha == pull.head_sha and run.path.partition("@")[0] == workflow
    ]
    return bool(runs) and max(runs, key=lambda run: run.id).conclusion == "success"
