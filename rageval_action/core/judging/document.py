"""The comparison as a document: what `rageval compare --json` prints and `comparison.json` holds.

It holds everything a report shows, so that a job which trusts nothing but validated data can render it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from rageval_action.core.comparing.access_audit import AccessAudit
from rageval_action.core.comparing.comparison import Comparison, SameExam
from rageval_action.core.comparing.cutoffs import CutoffView
from rageval_action.core.comparing.exams import ExamName, ExamQuestion
from rageval_action.core.comparing.factors import Factor, Turnover
from rageval_action.core.comparing.golden_changes import Pairing
from rageval_action.core.comparing.measure_rows import MeasureRow
from rageval_action.core.comparing.query_changes import QueryChange
from rageval_action.core.judging.outcomes import Outcome, Word
from rageval_action.core.judging.sentences import gate_text, notices
from rageval_action.core.judging.verdict import Override, Verdict
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import Notice
from rageval_action.core.wording import escape

Rung: TypeAlias = Literal["exact", "ancestor", "snapshot", "base-branch-record", "file"]
"""Where a baseline is from: the artifact of the exact base commit, of an ancestor of it, a snapshot evaluated in the
same job, a record file as it stands on the base branch, or a record that the user named."""


MOST_FAILURES = 20
ERROR_LENGTH = 120
"""Code points of an error that is shown: enough for its first sentence."""


class BaselineInfo(Struct, frozen=True, kw_only=True):
    """The baseline that was used. `age_s`: how much older than the candidate; `distance`: commits from the base."""

    run_id: str
    sha: str
    rung: Rung
    age_s: float
    distance: int | None = None


class Reason(Outcome, frozen=True, kw_only=True):
    """Why the verdict is what it is, and the same in words."""

    text: str


class GateResult(Outcome, frozen=True, kw_only=True):
    """One gate and what it found, and the same in words.

    Attributes:
        waived: `owner: reason` of the waiver by which it holds, else empty. waived_until: its last day.
        exceeded: a waiver that is in force but was not enough, in words.
    """

    text: str
    waived: str = ""
    waived_until: str = ""
    exceeded: str = ""


class UnknownScore(Struct, frozen=True, kw_only=True):
    """A question whose score could not be had, and the code of the reason."""

    id: str
    why: str


class ExamInfo(Struct, frozen=True, kw_only=True):
    """One exam: the commit of its golden set, its questions, how many the candidate was asked, and what is unknown."""

    sha: str
    queries: int
    asked: int
    unknown: tuple[UnknownScore, ...] = ()


class WhatIf(Struct, frozen=True, kw_only=True):
    """What the stored rankings would score if something were otherwise.

    Attributes:
        kind: what would be otherwise. score: of `measure` then.
        worse_with: of the `worse_n` worse questions, how many it touches. other_with, other_n: of all others.
    """

    kind: str
    measure: str
    score: float
    worse_with: int
    worse_n: int
    other_with: int
    other_n: int


class Failure(Struct, frozen=True, kw_only=True):
    """One way in which the retriever failed: its own words, shortened, and for how many queries."""

    text: str
    queries: int


def failures(rows: Sequence[QueryRow]) -> tuple[Failure, ...]:
    """The commonest errors of the retriever, most frequent first; those that are alike but for their end are one."""
    found = Counter(escape.cap(escape.visible(row.error), ERROR_LENGTH) for row in rows if row.error)
    return tuple(Failure(text=text, queries=count) for text, count in found.most_common(MOST_FAILURES))


class ComparisonDocument(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """The verdict with its reasons, the measures and the queries, and what a report needs to be drawn again.

    Attributes:
        baseline: None when there is none; `reasons` then says why.
        exam: the exam that decided. measures: under it. other_exam_measures: under the other; empty when both agree.
        exams: by name, what each asks.
        access: hits that somebody may not see.
        queries: every changed or missed query, worst first.
        failures: what the candidate's retriever failed with.
    """

    schema_name: Literal["rageval.comparison/1"] = "rageval.comparison/1"
    verdict: Word
    exit_code: int
    overridden: Override | None
    reasons: tuple[Reason, ...]
    baseline: BaselineInfo | None
    pairing: Pairing
    measures: tuple[MeasureRow, ...] = ()
    queries: tuple[QueryChange, ...] = ()
    warnings: tuple[Notice, ...] = ()
    k: int
    depth: int = 0
    gates: tuple[GateResult, ...] = ()
    exam: ExamName = "base"
    exams: dict[str, ExamInfo] = {}
    other_exam_measures: tuple[MeasureRow, ...] = ()
    cutoffs: tuple[CutoffView, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    access: AccessAudit = AccessAudit()
    factors: tuple[Factor, ...] = ()
    turnover: Turnover | None = None
    failures: tuple[Failure, ...] = ()


def document(
    verdict: Verdict,
    candidate: RunRecord,
    comparison: Comparison | None,
    baseline: BaselineInfo | None,
) -> ComparisonDocument:
    """Join a verdict with the comparison it rests on; without one it holds only reasons, gates and failures."""
    head = ComparisonDocument(
        verdict=verdict.verdict,
        exit_code=verdict.exit_code,
        overridden=verdict.overridden,
        reasons=tuple(Reason(**asdict(found), text=gate_text.full(found)) for found in verdict.reasons),
        baseline=baseline,
        pairing=comparison.golden.pairing if comparison else Pairing(paired=0),
        warnings=tuple(map(notices.of_waiver, verdict.notes)),
        k=candidate.record.k,
        gates=tuple(map(_gate_result, verdict.outcomes)),
        failures=failures(candidate.queries),
    )
    if comparison is None:
        return head
    shown = comparison.table(verdict.exam)
    other = comparison.base if verdict.exam == "head" else comparison.head
    return replace(
        head,
        exam=verdict.exam,
        exams=exam_infos(comparison),
        measures=shown.rows,
        other_exam_measures=() if isinstance(other, SameExam) else other.rows,
        queries=comparison.queries,
        warnings=(*map(notices.of_caveat, comparison.caveats), *head.warnings),
        depth=comparison.depth,
        cutoffs=comparison.cutoffs,
        access=comparison.access,
        factors=comparison.factors,
        turnover=comparison.turnover,
    )


def exam_infos(comparison: Comparison) -> dict[str, ExamInfo]:
    """What each exam asks, and what of it cannot be marked."""
    old, new = comparison.baseline.record, comparison.candidate.record
    return {
        "base": _exam_info(old.exam.sha if old.exam else old.git.sha, comparison.base_questions),
        "head": _exam_info(new.git.sha, comparison.head_questions),
    }


def _exam_info(sha: str, questions: Sequence[ExamQuestion]) -> ExamInfo:
    return ExamInfo(
        sha=sha,
        queries=len(questions),
        asked=sum(one.after is not None for one in questions),
        unknown=tuple(UnknownScore(id=one.row.query_id, why=one.unknown) for one in questions if one.unknown),
    )


def _gate_result(found: Outcome) -> GateResult:
    return GateResult(
        **asdict(found),
        text=gate_text.full(found),
        waived=gate_text.waived_by(found.waiver),
        waived_until=str(found.waiver.until) if found.waiver else "",
        exceeded=gate_text.short_waiver(found.short_waiver),
    )


def encode_document(document: ComparisonDocument) -> bytes:
    """`comparison.json`, indented, keys in a fixed order."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
