"""The records of one branch over time, out of the artifacts that its runs left."""

from __future__ import annotations

from collections.abc import Callable, Container

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core.model.record import RECORD, RECORD_BYTES, decode_record
from rageval_action.core.wording.lists import listed
from rageval_action.errors import RagevalError, RecordError
from rageval_action.github import artifact_download
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.artifact_download import download_artifact
from rageval_action.github.rest_types import Artifact, ArtifactsPage, WorkflowRun
from rageval_action.github.trusted_runs import ExpectedRun, made_by, runs_of

EVENTS = ("push", "schedule", "workflow_dispatch", "repository_dispatch")
"""Events that measure a branch as it stands. A pull request is none, though a fork's branch may have the same name."""

LIMITS = replace(artifact_download.LIMITS, member=RECORD_BYTES)
NAMED = 10
"""Commits named in a note; those beyond are counted."""


class Gathered(Struct, frozen=True, kw_only=True):
    """How a look through the artifacts went.

    Attributes:
        fetched: artifacts fetched now. lost: artifacts that are there and could not be had.
        notes: what was passed over, and why.
    """

    fetched: int
    lost: int
    notes: tuple[str, ...]


def gather(
    api: Api, origin: ExpectedRun, artifact: str, known: Container[int], save: Callable[[int, bytes], None]
) -> Gathered:
    """Give the `record.json` of every run of that origin to `save`, newest first.

    An artifact that cannot be had costs its own record only; what stands in the way of all of them ends the search.

    Args:
        api: GitHub.
        origin: whose artifacts are believed.
        artifact: their name.
        known: artifacts that need not be fetched again.
        save: gets an artifact's number and the bytes of its `record.json`.

    Raises:
        ApiError: runs or artifacts cannot be listed.
    """
    found, notes = _listed(api, origin, artifact)
    expired = [run.head_sha for item, run in found if item.expired and item.id not in known]
    wanted = [(item, run) for item, run in found if not item.expired and item.id not in known]
    fetched = lost = 0
    for place, (item, run) in enumerate(wanted):
        try:
            save(item.id, _record(api, item, run))
            fetched += 1
        except ApiError as error:
            if error.failure == "gone":
                expired.append(run.head_sha)
                continue
            lost += 1
            notes.append(f"the record of {run.head_sha[:10]}: {error.message}")
            if error.failure == "limited":
                rest = len(wanted) - place - 1
                lost += rest
                notes += [f"{rest} older records were not asked for any more."] if rest else []
                break
        except RagevalError as error:
            lost += 1
            notes.append(f"the record of {run.head_sha[:10]}: {error.message}")
    if expired:
        notes.append(f"expired: the records of {listed([sha[:10] for sha in expired], NAMED)}.")
    return Gathered(fetched=fetched, lost=lost, notes=tuple(notes))


def _listed(api: Api, origin: ExpectedRun, name: str) -> tuple[list[tuple[Artifact, WorkflowRun]], list[str]]:
    """The newest artifact of that name of each run, newest first.

    The repository's list of artifacts is read, not each run's: hundreds of runs would use up an hour's calls.
    """
    runs = {run.id: run for event in EVENTS for run in runs_of(api, origin, event)}
    found: dict[int, tuple[Artifact, WorkflowRun]] = {}
    notes: list[str] = []
    try:
        for page in api.pages(api.repo("actions/artifacts"), ArtifactsPage, {"name": name}):
            for item in page.artifacts:
                run = runs.get(item.workflow_run.id) if item.workflow_run else None
                if item.name == name and run is not None and made_by(item, run, origin):
                    held = found.get(run.id)
                    found[run.id] = held if held and held[0].id > item.id else (item, run)
    except ApiError as error:
        if error.failure != "too-large" or not found:
            raise
        notes.append(
            f"artifacts older than the first {len(found):,} of this branch were not listed: {error.message}"
        )
    return sorted(found.values(), key=lambda pair: pair[0].id, reverse=True), notes


def _record(api: Api, item: Artifact, run: WorkflowRun) -> bytes:
    data = download_artifact(api, item, (RECORD,), LIMITS)[RECORD]
    if decode_record(data, place=f"artifact {item.id}").git.sha != run.head_sha:
        raise RecordError("record.other-commit", "it is of another commit than the run that made it.")
    return data
