"""What a report may show: final strings and booleans, made once and used by every surface.

Strings from outside (query texts, ids, reasons) are still raw here; each surface escapes them at its border.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rageval_action.core.changes import QueryChange
from rageval_action.core.diagnosis import CAUSES
from rageval_action.core.document import BaselineInfo, ComparisonDocument
from rageval_action.core.record import Record
from rageval_action.core.rows import MeasureRow
from rageval_action.core.slices import SMALLEST
from rageval_action.core.types import Notice
from rageval_action.core.verdict import Word
from rageval_action.reports import numbers

MOST_QUERIES = 10

WORDS: dict[Word, tuple[str, str]] = {
    "fail": ("CAUTION", "Retrieval got worse"),
    "cannot_measure": ("WARNING", "Retrieval could not be measured"),
    "inconclusive": ("WARNING", "Cannot tell whether retrieval got worse"),
    "no_baseline": ("NOTE", "No baseline to compare with"),
    "pass": ("TIP", "No retrieval regression"),
}
"""Verdict -> kind of alert (GitHub's names) and the words for it."""

FAILURES = {
    "acl": "Retrieval returned what a query may not see",
    "floor": "Retrieval is below its floor",
    "latency": "Retrieval got slower",
    "labels-decide": "Whether retrieval got worse depends on the labels",
}
"""Code of the first reason -> the words for a fail that is no measured drop."""

CAVEATS = (
    "corpus.rechunked",
    "corpus.replaced",
    "baseline.errors",
    "several-factors",
    "golden.removed",
    "golden.synthetic",
    "corpus.small",
)
"""Codes of notices that belong beside the numbers, never folded away, in this order."""

READINGS = {"worse": "worse", "better": "better", "not_worse": "not worse", "unclear": "cannot tell"}

RUNGS = {
    "exact": "the exact base commit",
    "ancestor": "the nearest ancestor of the base commit with a record",
    "snapshot": "the baseline snapshot, evaluated in this job",
    "base-branch-record": "the record file on the base branch",
    "file": "the record that was given",
}


class MeasureLine(Struct, frozen=True, kw_only=True):
    """One row of a measure table."""

    measure: str
    slice: str
    n: str
    before: str
    after: str
    delta: str
    interval: str
    reading: str
    counts: str
    note: str


class QueryLine(Struct, frozen=True, kw_only=True):
    """One changed query. `move` is `2 → 14`; `line` is 0 when the golden file has none."""

    id: str
    query: str
    line: int
    item: str
    move: str
    cause: str
    explanation: str
    by: tuple[str, ...]
    tags: tuple[str, ...]


class Fact(Struct, frozen=True):
    """A name and what to say about it."""

    name: str
    text: str


class ReportView(Struct, frozen=True, kw_only=True):
    """The public face of a comparison; user templates see exactly this."""

    alert: str
    title: str
    sentence: str
    overridden: str
    baseline: str
    caveats: tuple[str, ...]
    measures: tuple[MeasureLine, ...]
    blast: str
    lost: tuple[QueryLine, ...]
    lost_more: int
    gained: tuple[QueryLine, ...]
    gained_more: int
    missed: str
    gates: tuple[Fact, ...]
    changes: tuple[Fact, ...]
    slices: tuple[MeasureLine, ...]
    small_slices: tuple[Fact, ...]
    latency: tuple[Fact, ...]
    no_answer: str
    acl: str
    warnings: tuple[str, ...]
    power: str
    golden_path: str
    footer: str


def view(document: ComparisonDocument, record: Record) -> ReportView:
    """Everything a report shows about `document`; `record` is the candidate's."""
    alert, title = _headline(document)
    lost = [change for change in document.queries if change.change in ("lost", "worse", "changed")]
    gained = [change for change in document.queries if change.change in ("gained", "better")]
    whole = [row for row in document.measures if row.slice is None]
    parts = [
        row
        for row in document.measures
        if row.slice and not row.small and row.measure == f"recall@{document.k}"
    ]
    whole_lines = tuple(_line(row) for row in whole) if document.measures else _alone(record)
    override = document.overridden
    notices = dict.fromkeys((*document.warnings, *record.warnings))
    return ReportView(
        alert=alert,
        title=title,
        sentence=_sentence(document),
        overridden=f"accepted by {override.by}: {override.reason}" if override else "",
        baseline=_baseline(document.baseline, document),
        caveats=tuple(_told(notice) for code in CAVEATS for notice in notices if notice.code == code),
        measures=whole_lines,
        blast=_blast(document),
        lost=tuple(_query(change) for change in lost[:MOST_QUERIES]),
        lost_more=max(0, len(lost) - MOST_QUERIES),
        gained=tuple(_query(change) for change in gained[:MOST_QUERIES]),
        gained_more=max(0, len(gained) - MOST_QUERIES),
        missed=_missed(document),
        gates=tuple(Fact(_state(gate.state), gate.text) for gate in document.gates),
        changes=tuple(
            Fact(factor.name, f"{factor.before or 'none'} → {factor.after or 'none'}")
            for factor in document.factors
        ),
        slices=tuple(_line(row) for row in parts),
        small_slices=_small(document.measures, document.k),
        latency=tuple(
            Fact(
                stage,
                f"p50 {numbers.milliseconds(q.p50)}, p95 {numbers.milliseconds(q.p95)} "
                f"({numbers.plural(q.n, 'query', 'queries')} timed)",
            )
            for stage, q in record.latency_ms.items()
        ),
        no_answer=_no_answer(record),
        acl=_acl(record),
        warnings=tuple(_told(notice) for notice in notices if notice.code not in CAVEATS),
        power=_power(whole, document.k),
        golden_path=record.golden.path,
        footer=_footer(record),
    )


def _headline(document: ComparisonDocument) -> tuple[str, str]:
    """Kind of alert and title; what a person accepted is no alarm, unless something was not measured as well."""
    alert, title = WORDS[document.verdict]
    if document.verdict == "fail" and document.reasons:
        title = FAILURES.get(document.reasons[0].code, title)
    if document.overridden and not document.exit_code:
        return "NOTE", f"{title} (accepted)"
    return alert, title


def _told(notice: Notice) -> str:
    return f"{notice.where}: {notice.text}" if notice.where else notice.text


def _state(state: str) -> str:
    return {"cannot_measure": "cannot measure", "no_baseline": "no baseline"}.get(state, state)


def _sentence(document: ComparisonDocument) -> str:
    first = document.reasons[0].text if document.reasons else ""
    more = len(document.reasons) - 1
    return f"{first}; and {numbers.plural(more, 'other reason')}." if more > 0 else f"{first}."


def _baseline(info: BaselineInfo | None, document: ComparisonDocument) -> str:
    if info is None:
        why = next(
            (reason.text for reason in document.reasons if "baseline" in reason.code), "none was given"
        )
        return f"No baseline: {why}."
    commit = f" at commit {info.sha[:12]}" if info.sha else ""
    older = f", {numbers.age(info.age_s)} older" if info.age_s >= 60 else ""
    away = f", {numbers.plural(info.distance, 'commit')} before the base" if info.distance else ""
    return f"Baseline: {RUNGS[info.rung]}{commit}{away}{older} (run {info.run_id[:12]})."


def _alone(record: Record) -> tuple[MeasureLine, ...]:
    return tuple(
        MeasureLine(
            measure=name,
            slice="",
            n=str(mean.n),
            before="",
            after=numbers.score(mean.mean),
            delta="",
            interval="",
            reading="",
            counts="",
            note="",
        )
        for name, mean in record.measures.items()
    )


def _line(row: MeasureRow) -> MeasureLine:
    notes = []
    if abs(row.label_effect) > 1e-9:
        notes.append(f"changed labels alone moved the baseline by {numbers.delta(row.label_effect)}")
    if row.stored:
        notes.append(f"{numbers.plural(row.stored, 'query', 'queries')} with the baseline's own labels")
    return MeasureLine(
        measure=row.measure,
        slice=row.slice or "",
        n=str(row.n),
        before=numbers.score(row.baseline),
        after=numbers.score(row.candidate),
        delta=numbers.delta(row.delta),
        interval=numbers.interval(*row.ci),
        reading=READINGS[row.reading],
        counts=f"{row.better} better, {row.worse} worse, {row.same} same",
        note="; ".join(notes),
    )


def _blast(document: ComparisonDocument) -> str:
    lost = sum(change.change == "lost" for change in document.queries)
    gained = sum(change.change == "gained" for change in document.queries)
    whole = next((row for row in document.measures if row.slice is None), None)
    if whole is None:
        return ""
    if not lost and not gained:
        return f"No query lost or gained its last relevant result in the top {document.k}."
    return (
        f"{numbers.plural(lost, 'query', 'queries')} lost the last relevant result in the top {document.k}, "
        f"{gained} recovered: net {numbers.MINUS if lost > gained else numbers.PLUS if gained > lost else ''}"
        f"{abs(gained - lost)} of {whole.n}."
    )


def _missed(document: ComparisonDocument) -> str:
    missed = [change.id for change in document.queries if change.change == "missed"]
    if not missed:
        return ""
    shown = ", ".join(missed[:MOST_QUERIES])
    more = f" and {len(missed) - MOST_QUERIES} more" if len(missed) > MOST_QUERIES else ""
    count = numbers.plural(len(missed), "query finds", "queries find")
    return f"{count} nothing relevant on either side: {shown}{more}."


def _query(change: QueryChange) -> QueryLine:
    def place(rank: int | None) -> str:
        return str(rank) if rank is not None else "not ranked"

    move = f"{place(change.baseline_rank)} → {place(change.candidate_rank)}"
    return QueryLine(
        id=change.id,
        query=change.query,
        line=change.line,
        item=change.item,
        move="" if change.change == "changed" else move,
        cause=change.cause,
        explanation=CAUSES.get(change.cause, ""),
        by=change.by,
        tags=change.tags,
    )


def _small(rows: Sequence[MeasureRow], k: int) -> tuple[Fact, ...]:
    """Slices too small for a percentage: how many of their queries changed."""
    return tuple(
        Fact(
            row.slice or "",
            f"{numbers.plural(row.n, 'query', 'queries')}: {row.better} better, {row.worse} worse, {row.same} same "
            f"(fewer than {SMALLEST}: no percentage, no verdict)",
        )
        for row in rows
        if row.small and row.measure == f"recall@{k}"
    )


def _no_answer(record: Record) -> str:
    track = record.no_answer
    if not track.n:
        return ""
    if track.false_retrieval_rate is None or track.threshold is None:
        return f"{numbers.plural(track.n, 'unanswerable query', 'unanswerable queries')}: not measured, {track.reason}."
    return (
        f"{numbers.plural(track.n, 'unanswerable query', 'unanswerable queries')}: "
        f"{numbers.share(track.false_retrieval_rate)} return something at or above the score {track.threshold:g}."
    )


def _acl(record: Record) -> str:
    if record.acl_violations:
        return f"{numbers.plural(record.acl_violations, 'hit')} that the query may not see ({record.acl_mode} mode)."
    return f"No hit that a query may not see ({record.acl_mode} mode)."


def _power(rows: Sequence[MeasureRow], k: int) -> str:
    row = next((row for row in rows if row.measure == f"recall@{k}"), None)
    if row is None:
        return ""
    if row.mde <= 0:
        return f"{numbers.plural(row.n, 'query', 'queries')} compared; none changed in {row.measure}."
    return (
        f"{numbers.plural(row.n, 'query', 'queries')} of this spread can prove a change of "
        f"{numbers.points(row.mde)} or more in {row.measure} (80 % power)."
    )


def _footer(record: Record) -> str:
    snapshot = record.snapshot
    return (
        f"{numbers.plural(record.golden.queries, 'query', 'queries')}, unit {record.golden.unit}; "
        f"{numbers.plural(snapshot.chunks, 'chunk')} of {numbers.plural(snapshot.documents, 'document')}; "
        f"{record.retriever.name}, depth {record.retriever.depth}; run {record.run_id[:12]}."
    )
