"""The parts of GitHub's webhook payloads that decide anything; unknown fields are ignored."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class User(Struct, frozen=True):
    """Who; `type` is User, Bot, Organization or Mannequin."""

    login: str = ""
    id: int = 0
    type: str = ""


class Repository(Struct, frozen=True, kw_only=True):
    """A repository as payloads and API answers name it."""

    id: int = 0
    full_name: str = ""
    default_branch: str = ""
    owner: User = User()


class BranchEnd(Struct, frozen=True, kw_only=True):
    """One end of a pull request. `repo` is null when the fork was deleted."""

    sha: str
    ref: str
    repo: Repository | None = None


class PullRequestPayload(Struct, frozen=True, kw_only=True):
    """`pull_request` of the events that carry one, and the answer of `GET /pulls/{number}`."""

    number: int
    state: Literal["open", "closed"]
    head: BranchEnd
    base: BranchEnd
    user: User | None = None
    draft: bool = False
    merge_commit_sha: str | None = None


class MergeGroup(Struct, frozen=True, kw_only=True):
    """`merge_group`: a batch that the merge queue wants tested."""

    head_sha: str
    base_sha: str
    base_ref: str
    head_ref: str = ""


class WorkflowRunPayload(Struct, frozen=True, kw_only=True):
    """`workflow_run`: the run that has ended. Everything about its head may come from a fork."""

    id: int
    event: str
    head_sha: str
    status: str | None = None
    conclusion: str | None = None
    head_branch: str | None = None
    head_repository: Repository | None = None
    repository: Repository = Repository()
    path: str = ""
    run_attempt: int = 1


class Payload(Struct, frozen=True, kw_only=True):
    """Any event. What an event does not carry keeps its default; `event.plan` says what it needs."""

    action: str = ""
    repository: Repository = Repository()
    sender: User = User()
    pull_request: PullRequestPayload | None = None
    merge_group: MergeGroup | None = None
    workflow_run: WorkflowRunPayload | None = None
    ref: str | None = None
    before: str = ""
    after: str = ""
    deleted: bool = False
