"""For the job that publishes what another run measured: which pull request that was, and the record it left.

Everything in the run's artifact may come from a fork. The pull request and its base are asked of the API; the
artifact's own word counts only to choose among pull requests that already fit.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.artifact_download import download_artifact
from rageval_action.github.event import PullRequest, pull_request_of
from rageval_action.github.repository import SHA, commit
from rageval_action.github.rest_types import Artifact, ArtifactsPage
from rageval_action.github.webhook_types import PullRequestPayload, WorkflowRunPayload


class NoTarget(Struct, frozen=True):
    """There is nothing to publish on, and why."""

    reason: str


Target: TypeAlias = PullRequest | NoTarget


def find_pull_request(api: Api, run: WorkflowRunPayload, repository_id: int, hint: int = 0) -> Target:
    """The open pull request whose head `run` was started for.

    The run's own list of pull requests is empty for forks, so they are searched by head owner and branch;
    head sha, head repository and base repository must agree.

    Args:
        api: GitHub.
        run: the run that has ended.
        repository_id: ours.
        hint: a number that the artifact names; used only when several pull requests fit.

    Raises:
        ApiError: they could not be listed.
    """
    head = run.head_repository
    if head is None or not head.owner.login or not run.head_branch:
        return NoTarget("the head repository is gone.")
    at = Head(owner=head.owner.login, repository_id=head.id, branch=run.head_branch, sha=run.head_sha)
    fitting = open_pull_requests(api, at, repository_id)
    if len(fitting) > 1:
        fitting = [pull for pull in fitting if pull.number == hint]
        if not fitting:
            return NoTarget("several pull requests have this head, and the record names none of them.")
    if not fitting:
        return NoTarget("no open pull request has this head any more (a newer push, or it was closed).")
    return fitting[0]


class Head(Struct, frozen=True, kw_only=True):
    """Where a commit stands: `repository_id` and `owner` are those of the head's repository."""

    owner: str
    repository_id: int
    branch: str
    sha: str


def open_pull_requests(api: Api, head: Head, repository_id: int) -> list[PullRequest]:
    """Open pull requests into the repository `repository_id` whose head is exactly this.

    Raises:
        ApiError: they could not be listed.
    """
    query: dict[str, str | int] = {"head": f"{head.owner}:{head.branch}", "state": "open"}
    return [
        pull_request_of(pull)
        for page in api.pages(api.repo("pulls"), tuple[PullRequestPayload, ...], query)
        for pull in page
        if pull.head.sha == head.sha
        and pull.head.repo is not None
        and pull.head.repo.id == head.repository_id
        and pull.base.repo is not None
        and pull.base.repo.id == repository_id
    ]


def base_commit(api: Api, request: PullRequest) -> str:
    """The commit to compare with: first parent of the pull request's merge commit, else the tip of its base.

    Raises:
        ApiError: GitHub could not be asked.
    """
    pull = api.get(api.repo(f"pulls/{request.number}"), PullRequestPayload)
    if pull.merge_commit_sha and SHA.fullmatch(pull.merge_commit_sha):
        merge = commit(api, pull.merge_commit_sha)
        if len(merge.parents) == 2 and merge.parents[1].sha == request.head_sha:
            return merge.first_parent
    return pull.base.sha


def candidate_members(
    api: Api, run: WorkflowRunPayload, artifact: str, names: tuple[str, ...]
) -> dict[str, bytes]:
    """The record that `run` uploaded under the name `artifact`.

    Raises:
        ApiError: `not-found` when it uploaded none; any other failure of the look-up.
        RecordError: the bytes are not what they should be.
    """
    found: list[Artifact] = [
        item
        for page in api.pages(api.repo(f"actions/runs/{run.id}/artifacts"), ArtifactsPage, {"name": artifact})
        for item in page.artifacts
        if item.name == artifact
        and not item.expired
        and item.workflow_run is not None
        and item.workflow_run.id == run.id
        and item.workflow_run.head_sha == run.head_sha
    ]
    if not found:
        raise ApiError("not-found", f"run {run.id} has no artifact {artifact}.")
    return download_artifact(api, max(found, key=lambda item: item.id), names)
