"""Which runs and artifacts are believed: by ids, never by names alone.

A fork may call its branch `main`, and its artifacts share the name space of this repository.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rageval_action.github.api import Api
from rageval_action.github.rest_types import Artifact, RunsPage, WorkflowRun

MOST_RUNS = 1000
"""A filtered list of runs ends there, whatever its pages say."""


class ExpectedRun(Struct, frozen=True, kw_only=True):
    """Where a record must come from.

    Attributes:
        repository_id: this repository, at head and base.
        branch: of the run's head.
        workflow_path: `.github/workflows/x.yml`.
    """

    repository_id: int
    branch: str
    workflow_path: str


def workflow_file(name: str) -> str:
    """`rageval.yml` and `.github/workflows/rageval.yml` name the same workflow."""
    return f".github/workflows/{name}" if name and "/" not in name else name


def runs_of(api: Api, origin: ExpectedRun, event: str) -> Iterator[WorkflowRun]:
    """Runs of that origin which `event` started, newest first.

    Raises:
        ApiError: they cannot be listed.
    """
    name = origin.workflow_path.rsplit("/", 1)[-1]
    query: dict[str, str | int] = {"event": event, "branch": origin.branch}
    pages = api.pages(api.repo(f"actions/workflows/{name}/runs"), RunsPage, query)
    for number, page in enumerate(pages, start=1):
        yield from (run for run in page.workflow_runs if run.event == event and _is_of(run, origin))
        if number * api.page_size >= MOST_RUNS:
            break


def _is_of(run: WorkflowRun, origin: ExpectedRun) -> bool:
    return (
        run.head_branch == origin.branch
        and run.repository.id == origin.repository_id
        and run.head_repository is not None
        and run.head_repository.id == origin.repository_id
        and run.path.partition("@")[0] == origin.workflow_path
    )


def made_by(artifact: Artifact, run: WorkflowRun, origin: ExpectedRun) -> bool:
    """Whether `run`, which is of that origin, made the artifact."""
    made = artifact.workflow_run
    return made is not None and (
        made.id == run.id
        and made.repository_id == origin.repository_id
        and made.head_repository_id == origin.repository_id
        and made.head_sha == run.head_sha
        and made.head_branch == origin.branch
    )
