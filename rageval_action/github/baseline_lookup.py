"""The baseline's ladder as far as GitHub can answer: exact commit, nearest ancestor, file on the base branch.

An artifact is believed only when a `push` run of *this* repository, of the expected workflow, on the base
branch made it (`github.origin`). What is not found and what could not be looked up are two different answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from rageval_action.errors import RagevalError
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.artifact_download import ARTIFACT_BYTES, download_artifact, unpack
from rageval_action.github.repository import FileAbsent, file_at, first_parents
from rageval_action.github.rest_types import Artifact, ArtifactsPage, WorkflowRun
from rageval_action.github.trusted_runs import ExpectedRun, made_by, runs_of

MAX_DISTANCE = 200
"""Commits walked back along first parents before the search gives up."""

MAX_DAMAGED = 3
"""Unreadable artifacts passed over before the look-up counts as failed."""

Members: TypeAlias = "Mapping[str, bytes]"
Check: TypeAlias = "Callable[[Members, str], None]"
"""Given a record's members and the commit it should be of, raises `RagevalError` if it is no such record."""


class BaselineRequest(Struct, frozen=True, kw_only=True):
    """Which baseline.

    Attributes:
        sha: the exact commit.
        branch: the base branch.
        workflow_path: of the workflow whose push runs record baselines (`.github/workflows/x.yml`).
        artifact: its artifact's name.
        repository_id: this repository.
        skip_run: our own run, which is no baseline for itself; 0 = none.
        members: names of a record's files.
    """

    sha: str
    branch: str
    workflow_path: str
    artifact: str
    repository_id: int
    members: tuple[str, ...]
    skip_run: int = 0


class Found(Struct, frozen=True, kw_only=True):
    """A baseline.

    Attributes:
        members: bytes of a record, by name.
        rung: `exact`, `ancestor` or `file`.
        sha: the commit it is of.
        distance: first-parent commits between it and the commit asked for.
        run_id: of the run that made it, 0 for a file.
        created_at: RFC 3339, empty when unknown.
        notes: what was passed over on the way.
    """

    members: Members
    rung: Literal["exact", "ancestor", "file"]
    sha: str
    distance: int = 0
    run_id: int = 0
    created_at: str = ""
    notes: tuple[str, ...] = ()


class Absent(Struct, frozen=True, kw_only=True):
    """There is none, and that is certain."""

    code: Literal["first-run", "expired", "not-recorded"]
    reason: str
    notes: tuple[str, ...] = ()


class LookupFailed(Struct, frozen=True, kw_only=True):
    """Whether there is one could not be found out."""

    reason: str
    notes: tuple[str, ...] = ()


Baseline: TypeAlias = Found | Absent | LookupFailed


class _Search:
    """One walk down the ladder; keeps what was passed over."""

    def __init__(self, api: Api, wanted: BaselineRequest, check: Check) -> None:
        self.api = api
        self.wanted = wanted
        self.check = check
        self.origin = ExpectedRun(
            repository_id=wanted.repository_id, branch=wanted.branch, workflow_path=wanted.workflow_path
        )
        self.notes: list[str] = []
        self.damaged: list[str] = []
        self.expired = 0

    def run(self) -> Baseline:
        chain = first_parents(self.api, self.wanted.sha, MAX_DISTANCE)
        runs = self._runs()
        for distance, sha in enumerate(chain):
            for run in runs.get(sha, ()):
                found = self._from_run(run, distance)
                if found is not None:
                    return found
                if len(self.damaged) >= MAX_DAMAGED:
                    return self._failed()
        return self._failed() if self.damaged else self._absent(len(chain), runs)

    def _runs(self) -> dict[str, list[WorkflowRun]]:
        """Push runs on the base branch by commit, newest first."""
        by_sha: dict[str, list[WorkflowRun]] = {}
        for run in runs_of(self.api, self.origin, "push"):
            if run.id != self.wanted.skip_run:
                by_sha.setdefault(run.head_sha, []).append(run)
        return by_sha

    def _from_run(self, run: WorkflowRun, distance: int) -> Found | None:
        for artifact in self._artifacts(run):
            short = run.head_sha[:10]
            if artifact.expired:
                self.expired += 1
                self.notes.append(f"the artifact of {short} has expired.")
                continue
            try:
                members = download_artifact(self.api, artifact, self.wanted.members)
                if not (artifact.digest or "").startswith("sha256:"):
                    self.notes.append(f"the server states no digest for the artifact of {short}.")
                self.check(members, run.head_sha)
            except ApiError as error:
                if error.failure == "gone":
                    self.expired += 1
                    self.notes.append(f"the artifact of {short} has expired.")
                    continue
                if error.failure != "too-large":
                    raise
                self._pass_over(short, error)
                continue
            except RagevalError as error:
                self._pass_over(short, error)
                continue
            return Found(
                members=members,
                rung="exact" if distance == 0 else "ancestor",
                sha=run.head_sha,
                distance=distance,
                run_id=run.id,
                created_at=artifact.created_at or "",
                notes=tuple(self.notes),
            )
        return None

    def _artifacts(self, run: WorkflowRun) -> list[Artifact]:
        """The run's artifacts of our name, the newest attempt first."""
        path = self.api.repo(f"actions/runs/{run.id}/artifacts")
        found = [
            artifact
            for page in self.api.pages(path, ArtifactsPage, {"name": self.wanted.artifact})
            for artifact in page.artifacts
            if artifact.name == self.wanted.artifact and made_by(artifact, run, self.origin)
        ]
        return sorted(found, key=lambda artifact: artifact.id, reverse=True)

    def _pass_over(self, short: str, error: RagevalError) -> None:
        self.damaged.append(short)
        self.notes.append(f"the artifact of {short} cannot be used: {error.message}")

    def _failed(self) -> LookupFailed:
        reason = f"{len(self.damaged)} artifact(s) could not be read and no other was found."
        return LookupFailed(reason=reason, notes=tuple(self.notes))

    def _absent(self, walked: int, runs: Mapping[str, object]) -> Absent:
        branch, notes = self.wanted.branch, tuple(self.notes)
        if self.expired:
            reason = (
                f"every artifact of the last {walked} commits of {branch} has expired; a push records anew."
            )
            return Absent(code="expired", reason=reason, notes=notes)
        if not runs:
            reason = f"no push to {branch} has been recorded by {self.wanted.workflow_path} yet."
            return Absent(code="first-run", reason=reason, notes=notes)
        reason = f"none of the last {walked} commits of {branch} has an artifact {self.wanted.artifact}."
        return Absent(code="not-recorded", reason=reason, notes=notes)


def find_baseline(api: Api, wanted: BaselineRequest, check: Check) -> Baseline:
    """The artifact of the exact commit, else of its nearest first-parent ancestor that has one.

    Args:
        api: GitHub.
        wanted: what is looked for.
        check: validates a record before it is believed.
    """
    search = _Search(api, wanted, check)
    if not wanted.workflow_path:
        return LookupFailed(reason="the runner does not say which workflow this is; set `baseline-workflow`.")
    try:
        return search.run()
    except ApiError as error:
        return LookupFailed(reason=error.message, notes=tuple(search.notes))


def baseline_file(api: Api, folder: str, wanted: BaselineRequest, check: Check) -> Baseline:
    """A record kept in the repository, as it stands at the base commit: a folder or a zip.

    Args:
        api: GitHub.
        folder: path from the repository's root.
        wanted: `sha` and `members` count.
        check: validates the record; called with an empty commit, since the file may be older than its commit.
    """
    try:
        members = _file_members(api, folder.strip("/"), wanted)
        if members is None:
            return Absent(code="first-run", reason=f"the base branch has no record at {folder}.")
        check(members, "")
    except RagevalError as error:
        return LookupFailed(reason=f"{folder} on the base branch cannot be used: {error.message}")
    return Found(members=members, rung="file", sha=wanted.sha)


def _file_members(api: Api, path: str, wanted: BaselineRequest) -> dict[str, bytes] | None:
    if path.endswith(".zip"):
        packed = file_at(api, path, wanted.sha, ARTIFACT_BYTES)
        return None if isinstance(packed, FileAbsent) else unpack(packed.data, wanted.members)
    members: dict[str, bytes] = {}
    for name in wanted.members:
        file = file_at(api, f"{path}/{name}", wanted.sha, ARTIFACT_BYTES)
        if isinstance(file, FileAbsent):
            if not members and name == wanted.members[0]:
                return None
            raise ApiError("malformed", f"{path} lacks {name}.")
        members[name] = file.data
    return members
