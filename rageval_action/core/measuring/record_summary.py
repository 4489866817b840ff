"""What a record says about all of its rows: scores, means, slices, counts."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections import Counter
from collections.abc import Sequence

from rageval_action.core.labels.linking import unit_of
from rageval_action.core.measuring import scoring, slices
from rageval_action.core.measuring.measures import Measure
from rageval_action.core.measuring.row_scores import Judged, row_scores
from rageval_action.core.model.record import Cutoff, GoldenInfo, Mean, NoAnswer, QueryRow, SliceInfo
from rageval_action.core.model.types import GoldenSet, Unanswerable, Unit


def query_sha256(text: str) -> str:
    """SHA-256 of a query's text in NFC and UTF-8: with the id, what makes two rows the same query."""
    return hashlib.sha256(unicodedata.normalize("NFC", text).encode()).hexdigest()


def scored(
    rows: Sequence[QueryRow],
    unit: Unit,
    depth: int,
    measures: Sequence[Measure],
    cutoff: Cutoff = "documents",
) -> tuple[QueryRow, ...]:
    """The rows with their unrounded scores at `depth`; rows on the no-answer track have none."""
    judged = [Judged(row, row.judgments, unit_of(row.judgments, unit)) for row in rows]
    table = row_scores(judged, measures, depth, cutoff)
    return tuple(
        row.revised(scores={})
        if isinstance(row.judgments, Unanswerable)
        else row.revised(scores={str(measure): _number(values[at]) for measure, values in table.items()})
        for at, row in enumerate(rows)
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def means(rows: Sequence[QueryRow], measures: Sequence[Measure]) -> dict[str, Mean]:
    """The mean of each measure over the rows for which it is defined."""
    found = {}
    for name in map(str, measures):
        values = [value for row in rows if row.scores and (value := row.scores[name]) is not None]
        found[name] = Mean(mean=scoring.mean(values) if values else None, n=len(values))
    return found


def slice_means(rows: Sequence[QueryRow], measures: Sequence[Measure]) -> dict[str, SliceInfo]:
    """The means of every slice of the scored rows, also of one that holds them all: a floor may ask for it."""
    judged = [row for row in rows if row.scores]
    return {
        name: SliceInfo(n=len(part), measures=means([judged[at] for at in part], measures))
        for name, part in slices.split(judged).items()
    }


def golden_info(golden: GoldenSet, unit: Unit, rows: Sequence[QueryRow], unreviewed: int) -> GoldenInfo:
    """The golden set as it was used."""
    unanswerable = sum(isinstance(row.judgments, Unanswerable) for row in rows)
    return GoldenInfo(
        path=golden.path,
        sha256=golden.sha256,
        format=golden.format,
        unit=unit,
        queries=len(rows),
        answerable=len(rows) - unanswerable,
        unanswerable=unanswerable,
        unreviewed=unreviewed,
        sources=dict(Counter(row.source for row in rows)),
    )


def no_answer(rows: Sequence[QueryRow], threshold: float | None) -> NoAnswer:
    """The no-answer track: how often something comes back at or above `threshold` where nothing should."""
    track = [row for row in rows if isinstance(row.judgments, Unanswerable)]
    if not track:
        return NoAnswer(n=0, threshold=threshold, reason="the golden set has no unanswerable query")
    if threshold is None:
        return NoAnswer(n=len(track), reason="no score threshold was given")
    answered = [row for row in track if not row.error]
    if not answered:
        return NoAnswer(n=len(track), threshold=threshold, reason="the retriever failed for all of them")
    false = sum(any(hit.score >= threshold for hit in row.results) for row in answered)
    return NoAnswer(n=len(track), threshold=threshold, false_retrieval_rate=false / len(answered))


def acl_violations(rows: Sequence[QueryRow]) -> int:
    """Hits that their query may not see."""
    return sum(hit.acl_allowed is False for row in rows for hit in row.results)


def acl_judged(rows: Sequence[QueryRow]) -> int:
    """Queries with a hit that was judged for access: without any, no violation means nothing."""
    return sum(any(hit.acl_allowed is not None for hit in row.results) for row in rows)
