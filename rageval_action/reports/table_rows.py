"""Rows of the tables: measures, slices, changed queries."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rageval_action.core.comparing.measure_rows import MARGIN, MeasureRow
from rageval_action.core.comparing.query_changes import QueryChange
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.judging.sentences.cause_words import CAUSES, CIRCUMSTANCES
from rageval_action.core.measuring.measures import headline_measure, in_order, more_is_better
from rageval_action.core.model.record import Record
from rageval_action.core.wording import escape, lists, numbers
from rageval_action.reports.view_types import MeasureLine, QueryLine, SmallSlice, UnitLine

SIGNIFICANT = 0.05
SNIPPET = 110

READINGS = {
    "worse": ("worse", "worse"),
    "better": ("better", "better"),
    "not_worse": (f"no drop over {100 * MARGIN:.0f} points", "same"),
    "unchanged": ("unchanged", "same"),
    "unclear": ("cannot tell", "unclear"),
}
"""Reading of a row -> words and tone."""

LINKS = {"re-identified": "now", "duplicate": "same text as"}


def measures(rows: Sequence[MeasureRow], k: int, *, void: bool = False) -> tuple[MeasureLine, ...]:
    """Rows over all queries, the headline measure first; `void` rows are shown as no measurement."""
    headline = headline_measure(k)
    named = {row.measure: row for row in rows}
    found = (line(named[name], headline=name == headline) for name in in_order(named, headline))
    return (
        tuple(replace(row, reading="no measurement", tone="unclear") for row in found)
        if void
        else tuple(found)
    )


def alone(record: Record) -> tuple[MeasureLine, ...]:
    """Scores without anything to compare them with, the headline measure first."""
    headline = headline_measure(record.k)
    return tuple(
        MeasureLine(
            measure=name,
            headline=name == headline,
            n=f"{mean.n:,}",
            after=numbers.score(mean.mean),
            after_value=_rounded(mean.mean, numbers.DIGITS),
        )
        for name in in_order(record.measures, headline)
        for mean in (record.measures[name],)
    )


def units(record: Record, before: Record | None) -> tuple[UnitLine, ...]:
    """Scores by another unit than the labels', the headline first; beside the baseline's where the labels are the same.

    A chunk that is missed while another one of its document is found counts as found here.
    """
    same = before is not None and before.golden.sha256 == record.golden.sha256
    old = before.unit_measures if before and same else {}
    headline = headline_measure(record.k)
    return tuple(
        UnitLine(
            unit=unit,
            measure=name,
            before=numbers.score(old[unit][name].mean) if name in old.get(unit, {}) else "",
            after=numbers.score(found[name].mean),
        )
        for unit, found in sorted(record.unit_measures.items())
        for name in in_order(found, headline)
    )


def line(row: MeasureRow, *, headline: bool = False) -> MeasureLine:
    """One row, its digits as its interval justifies."""
    digits = numbers.decimals(*row.ci)
    reading, tone = _reading(row)
    return MeasureLine(
        measure=row.measure,
        slice=row.slice or "",
        headline=headline,
        n=f"{row.n:,}",
        before=numbers.score(row.baseline, digits),
        after=numbers.score(row.candidate, digits),
        delta=numbers.delta(row.delta, digits),
        interval=numbers.interval(*row.ci, digits),
        reading=reading,
        tone=tone,
        counts=_counts(row),
        note="; ".join(_notes(row)),
        before_value=_rounded(row.baseline, digits),
        after_value=_rounded(row.candidate, digits),
        low=numbers.rounded(row.ci[0], digits),
        high=numbers.rounded(row.ci[1], digits),
    )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else numbers.rounded(value, digits)


def _reading(row: MeasureRow) -> tuple[str, str]:
    """Words and tone.

    A slice that looks changed on its own, but not once its p is corrected for the number of slices, says so. Where more
    is not better, nothing is judged: the score changed, or nobody can tell.
    """
    if not row.better and not row.worse:
        return "unchanged", "same"
    if not more_is_better(row.measure):
        return ("changed", "changed") if row.reading in ("worse", "better") else READINGS["unclear"]
    words, tone = READINGS[row.reading]
    alone_only = row.p_adjusted is not None and row.p_adjusted >= SIGNIFICANT
    if row.reading in ("worse", "better") and alone_only:
        return f"{words}, unless by chance", "unclear"
    return words, tone


def _counts(row: MeasureRow) -> str:
    if not row.better and not row.worse:
        return f"{row.n:,} same"
    down, up = ("worse", "better") if more_is_better(row.measure) else ("lower", "higher")
    return f"{row.worse:,} {down}, {row.better:,} {up}"


def _notes(row: MeasureRow) -> list[str]:
    notes = []
    if abs(row.label_effect) > 1e-9:
        notes.append(f"new labels alone: {numbers.delta(row.label_effect)}")
    if row.unknown:
        notes.append(f"{lists.queries(row.unknown)} not known")
    return notes


def slices(document: ComparisonDocument) -> tuple[MeasureLine, ...]:
    """The headline measure of every slice that is large enough, the largest drop first."""
    headline = headline_measure(document.k)
    rows = [row for row in document.measures if row.slice and not row.small and row.measure == headline]
    rows.sort(key=lambda row: (row.delta, row.slice or ""))
    return tuple(line(row) for row in rows)


def small(document: ComparisonDocument) -> tuple[SmallSlice, ...]:
    """Slices too small for a percentage, those with the most losses first."""
    headline = headline_measure(document.k)
    rows = [row for row in document.measures if row.small and row.measure == headline]
    rows.sort(key=lambda row: (-row.worse, -row.better, row.slice or ""))
    return tuple(
        SmallSlice(name=row.slice or "", n=row.n, worse=row.worse, better=row.better) for row in rows
    )


def query(change: QueryChange, rival: str = "") -> QueryLine:
    """One changed query; `rival` is the text that took the place, where it is known."""
    move = f"{_rank(change.baseline_rank)} → {_rank(change.candidate_rank)}"
    return QueryLine(
        id=change.id,
        query=change.query,
        line=change.line,
        change=change.change,
        item=change.item,
        move="" if change.change == "changed" else move,
        cause=change.cause,
        explanation=CAUSES.get(change.cause, ""),
        link=LINKS.get(change.cause, "by") if change.by else "",
        by=change.by,
        tags=tuple(CIRCUMSTANCES.get(tag, tag) for tag in change.tags),
        snippet=escape.cap(escape.visible(rival), SNIPPET),
    )


def _rank(rank: int | None) -> str:
    return str(rank) if rank is not None else "not ranked"
