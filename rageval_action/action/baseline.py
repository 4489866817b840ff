"""The baseline's ladder as far as there are records: what GitHub holds, a record file on the base branch."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rageval_action import pipeline
from rageval_action.action.inputs import ActionInputs
from rageval_action.core.comparing.golden_changes import BaseCommit
from rageval_action.core.judging.outcomes import BaselineLost, BaselineUnknown, NoBaseline
from rageval_action.core.model.record import MEMBERS, RunRecord, decode
from rageval_action.core.model.types import Notice
from rageval_action.errors import RecordError
from rageval_action.github.api import Api
from rageval_action.github.baseline_lookup import (
    Absent,
    BaselineRequest,
    Found,
    LookupFailed,
    baseline_file,
    find_baseline,
)
from rageval_action.github.runner import Runner
from rageval_action.github.trusted_runs import workflow_file


class ChosenBaseline(Struct, frozen=True, kw_only=True):
    """Where the search ended: a baseline, or why there is none; and what was passed over.

    Attributes:
        base_commit: the golden set at the base commit, where the baseline is older and it could be read.
    """

    baseline: pipeline.Baseline | NoBaseline | BaselineUnknown | BaselineLost
    sha: str = ""
    base_commit: BaseCommit | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def record(self) -> RunRecord | None:
        """The baseline's record; None without a baseline."""
        return self.baseline.record if isinstance(self.baseline, pipeline.Baseline) else None


class _Decoder:
    """Decodes a record once, when it is checked."""

    def __init__(self) -> None:
        self.record: RunRecord | None = None

    def check(self, members: Mapping[str, bytes], sha: str) -> None:
        """Decode and compare with the commit whose run made it.

        Raises:
            RecordError: those of `decode`; `record.other-commit`.
        """
        record = decode(members, where="the baseline's record")
        if sha and record.record.git.sha != sha:
            raise RecordError("record.other-commit", "it is of another commit than the run that made it.")
        self.record = record


def recorded_baseline(
    api: Api, runner: Runner, inputs: ActionInputs, sha: str, branch: str
) -> ChosenBaseline:
    """The rungs that GitHub answers: artifact of the exact commit, of its nearest ancestor, else the record file.

    An artifact search that failed is remembered: if no later place has a baseline, the answer is "unknown".
    """
    wanted = BaselineRequest(
        sha=sha,
        branch=branch,
        workflow_path=workflow_file(inputs.baseline_workflow) or runner.workflow_path,
        artifact=inputs.artifact_name,
        repository_id=runner.repository_id,
        members=MEMBERS,
        skip_run=runner.run_id,
    )
    decoder = _Decoder()
    found = find_baseline(api, wanted, decoder.check)
    notices = tuple(Notice(code="baseline.passed-over", text=note.rstrip(".")) for note in found.notes)
    if isinstance(found, Found) and decoder.record:
        return ChosenBaseline(baseline=_recorded(decoder.record, found), sha=found.sha, notices=notices)
    if inputs.baseline_record and not inputs.baseline_snapshot:
        return _record_file(api, inputs, wanted, found, notices)
    return ChosenBaseline(baseline=_none(found), notices=notices)


def _record_file(
    api: Api, inputs: ActionInputs, wanted: BaselineRequest, before: object, notices: tuple[Notice, ...]
) -> ChosenBaseline:
    decoder = _Decoder()
    found = baseline_file(api, inputs.baseline_record, wanted, decoder.check)
    if isinstance(found, Found) and decoder.record:
        sha = decoder.record.record.git.sha
        baseline = pipeline.Baseline(record=decoder.record, rung="base-branch-record")
        return ChosenBaseline(baseline=baseline, sha=sha, notices=notices)
    failed = before if isinstance(before, LookupFailed) else found
    return ChosenBaseline(baseline=_none(failed), notices=notices)


def _recorded(record: RunRecord, found: Found) -> pipeline.Baseline:
    return pipeline.Baseline(
        record=record, rung="exact" if found.rung == "exact" else "ancestor", distance=found.distance
    )


def _none(found: object) -> NoBaseline | BaselineUnknown:
    if isinstance(found, Absent):
        return NoBaseline(found.reason.rstrip("."))
    reason = found.reason if isinstance(found, LookupFailed) else "the record was not decoded"
    return BaselineUnknown(f"the baseline could not be looked up: {reason.rstrip('.')}")
