"""Scores of recorded rankings under given judgments, with k counting documents or chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.measuring import scoring
from rageval_action.core.measuring.measures import Measure
from rageval_action.core.model.record import Cutoff, QueryRow
from rageval_action.core.model.types import Judgments, Unanswerable, Unit

Values = NDArray[np.float64]


class Judged(Struct, frozen=True):
    """One ranking and what it is scored by; `unit` is what is ranked for these judgments."""

    row: QueryRow
    judgments: Judgments
    unit: Unit


class ChunksPerQuery(Struct, frozen=True, kw_only=True):
    """How many chunks a retriever returned before k distinct documents were reached."""

    mean: float
    max: int


def row_scores(
    asked: Sequence[Judged], measures: Sequence[Measure], depth: int, cutoff: Cutoff = "documents"
) -> dict[Measure, Values]:
    """One score per ranking and measure, shape (len(asked),); NaN for rankings that nothing answers.

    Args:
        asked: rankings with their judgments.
        measures: with `cutoff` chunks, one with a cutoff k sees the documents of the first k chunks only.
        depth: how many distinct units count.
        cutoff: what k counts. It makes no difference where chunks are judged.
    """
    at = [place for place, one in enumerate(asked) if not isinstance(one.judgments, Unanswerable)]
    labels = [scoring.as_labels(asked[place].judgments) for place in at]
    scores = {measure: np.full(len(asked), np.nan) for measure in measures}
    for limit, part in _by_limit(measures, cutoff).items():
        rankings = [_ranked(asked[place], depth, limit) for place in at]
        found = scoring.score(scoring.batch(rankings, labels), part)
        for measure in part:
            scores[measure][at] = found[measure]
    return scores


def _by_limit(measures: Sequence[Measure], cutoff: Cutoff) -> dict[int, list[Measure]]:
    """Most chunks that a measure may see (0 = all) -> these measures."""
    found: dict[int, list[Measure]] = {}
    for measure in measures:
        found.setdefault(measure.cutoff if cutoff == "chunks" else 0, []).append(measure)
    return found


def _ranked(one: Judged, depth: int, limit: int) -> Sequence[str]:
    names = one.row.ranking(one.unit)[0][:depth]
    if not limit or one.unit != "document":
        return names
    within = {hit.doc for hit in one.row.results[:limit]}
    return [name for name in names if name in within]


def chunks_per_query(rows: Sequence[QueryRow], k: int) -> ChunksPerQuery:
    """Over the rankings that are not empty: how many chunks k documents took."""
    counts = [_chunks_for(row, k) for row in rows if row.results]
    return ChunksPerQuery(mean=sum(counts) / len(counts) if counts else 0.0, max=max(counts, default=0))


def _chunks_for(row: QueryRow, k: int) -> int:
    documents: set[str] = set()
    for place, hit in enumerate(row.results, start=1):
        documents.add(hit.doc)
        if len(documents) == k:
            return place
    return len(row.results)
