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

from rageval_action.core.comparing.comparison import Comparison, LabelsUnchanged, PairedQueries
from rageval_action.core.comparing.factors import Factor, Turnover
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
        measures: under the candidate's labels. old_label_measures: under the baseline's, empty when they agree.
        queries: every changed or missed query, worst first.
        failures: what the candidate's retriever failed with.
        relabelled, retagged: queries that are judged by something else, or that are in other slices.
    """

    schema_name: Literal["rageval.comparison/1"] = "rageval.comparison/1"
    verdict: Word
    exit_code: int
    overridden: Override | None
    reasons: tuple[Reason, ...]
    baseline: BaselineInfo | None
    pairing: PairedQueries
    measures: tuple[MeasureRow, ...] = ()
    queries: tuple[QueryChange, ...] = ()
    warnings: tuple[Notice, ...] = ()
    k: int
    depth: int = 0
    gates: tuple[GateResult, ...] = ()
    relabelled: tuple[str, ...] = ()
    retagged: tuple[str, ...] = ()
    old_label_measures: tuple[MeasureRow, ...] = ()
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
        pairing=comparison.pairing if comparison else PairedQueries(paired=0),
        warnings=tuple(map(notices.of_waiver, verdict.notes)),
        k=candidate.record.k,
        gates=tuple(map(_gate_result, verdict.outcomes)),
        failures=failures(candidate.queries),
    )
    if comparison is None:
        return head
    old = comparison.old_label_table
    return replace(
        head,
        measures=comparison.table.rows,
        queries=comparison.queries,
        warnings=(*map(notices.of_caveat, comparison.caveats), *head.warnings),
        depth=comparison.depth,
        relabelled=comparison.golden.relabelled,
        retagged=comparison.golden.retagged,
        old_label_measures=() if isinstance(old, LabelsUnchanged) else old.rows,
        factors=comparison.factors,
        turnover=comparison.turnover,
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
