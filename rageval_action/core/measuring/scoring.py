"""From rankings and judgments to one unrounded value per query and measure."""

from __future__ import annotations

import math
from itertools import chain, compress, count
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from rageval_action.core.measuring.measures import MEASURES, NO_CUTOFF, Batch, Marks, Measure
from rageval_action.core.model.types import EvidenceItems, Grades, Groups, Judgments, Notice, Unanswerable

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["Batch", "MeasureScores", "ScoreReport", "as_labels", "batch", "mean", "score"]


def as_labels(judgments: Judgments) -> Grades | Groups:
    """Judgments as `batch` takes them; an evidence item becomes the group of chunks that hold it.

    An item that no chunk holds becomes an empty group: it stays in the denominator and cannot be found.

    Raises:
        ValueError: for `Unanswerable`, which the no-answer track counts.
    """
    if isinstance(judgments, Unanswerable):
        message = "an unanswerable query has nothing to be scored by"
        raise ValueError(message)  # noqa: TRY004 - the type is a right one
    if isinstance(judgments, EvidenceItems):
        return Groups(tuple(item.chunks for item in judgments.items))
    return judgments


class _Rows:
    """Collects the (rank, grade) pairs of a `Marks`, query by query."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.pairs: list[tuple[int, int]] = []

    def add(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Append one query's pairs, sorted by rank."""
        self.sizes.append(len(pairs))
        self.pairs += pairs

    def marks(self, level: int) -> Marks:
        """The pairs with a grade >= `level`."""
        flat = np.fromiter(chain.from_iterable(self.pairs), np.int64, count=2 * len(self.pairs))
        kept = flat[1::2] >= level
        rank, grade = flat[0::2][kept], flat[1::2][kept]
        query = np.repeat(np.arange(len(self.sizes)), self.sizes)[kept]
        nth = np.arange(len(query)) - np.searchsorted(query, query) + 1
        return Marks(query=query, rank=rank, place=np.maximum(rank, nth), nth=nth, grade=grade)


def _positions(ids: Sequence[str], wanted: Container[str]) -> dict[str, int]:
    """1-based rank of the first occurrence of each wanted id, by rank."""
    held: dict[str, int] = {}
    for rank in compress(count(), map(wanted.__contains__, ids)):
        held.setdefault(ids[rank], rank + 1)
    return held


class _Judged(Struct, frozen=True):
    """One query as its judgments see it: (rank, grade) pairs by rank, and all grades that were given."""

    positions: list[tuple[int, int]]
    finds: list[tuple[int, int]]
    worth: list[int]


def _by_grades(ids: Sequence[str], label: Grades) -> _Judged:
    finds = [(rank, label.grades[name]) for name, rank in _positions(ids, label.grades).items()]
    return _Judged(finds, finds, list(label.grades.values()))


def _by_groups(ids: Sequence[str], label: Groups, level: int) -> _Judged:
    """A group has no grade and always counts: it gets the level itself, so that all weigh the same."""
    held = _positions(ids, {name for group in label.groups for name in group})
    firsts = (min((held[name] for name in group if name in held), default=0) for group in label.groups)
    return _Judged(
        positions=[(rank, level) for rank in held.values()],
        finds=[(rank, level) for rank in sorted(firsts) if rank],
        worth=[level] * len(label.groups),
    )


def batch(rankings: Sequence[Sequence[str]], labels: Sequence[Grades | Groups], *, level: int = 1) -> Batch:
    """Match rankings with their judgments, in the same order of queries.

    Grades are read as trec_eval reads them: a negative one is unjudged, binary measures count those >=
    `level`, gains are all those > 0. A group counts once, at the rank of its first retrieved member; `level`
    does not touch it. One position may satisfy several groups: recall, hit and mrr count them all at that
    rank. The measures that expect one find a position (precision, map, ndcg, r-precision, recall_cap) give
    the j-th find the place max(rank, j), so that every value stays in [0, 1] and a perfect ranking still
    gets 1.

    Args:
        rankings: ids of each query, best first. A repeated id counts where it stands first.
        labels: judgments of each query (`as_labels`).
        level: lowest grade that binary measures count, 1 or more (trec_eval's -l).

    Raises:
        ValueError: when the lengths differ or `level` is below 1.
    """
    if level < 1:
        raise ValueError(f"the relevance level is 1 or more, not {level}")
    judged, gains, ideal = _Rows(), _Rows(), _Rows()
    for ids, label in zip(rankings, labels, strict=True):
        seen = _by_groups(ids, label, level) if isinstance(label, Groups) else _by_grades(ids, label)
        judged.add(seen.positions)
        gains.add(seen.finds)
        ideal.add(list(enumerate(sorted(seen.worth, reverse=True), 1)))
    perfect = ideal.marks(1)
    return Batch(
        returned=np.array([len(ids) for ids in rankings], dtype=np.int64),
        relevant=np.bincount(perfect.query[perfect.grade >= level], minlength=len(rankings)),
        judged=judged.marks(0),
        found=gains.marks(level),
        gains=gains.marks(1),
        ideal=perfect,
    )


def score(batch: Batch, measures: Sequence[Measure]) -> dict[Measure, NDArray[np.float64]]:
    """Unrounded values of every query, shape (n,), by measure, in the order given.

    Values lie in [0, 1]; a query without results or with nothing relevant scores 0. The one exception is
    `judged@k` of an empty ranking, which is NaN.
    """
    return {
        measure: MEASURES[measure.name].compute(batch, measure.cutoff or NO_CUTOFF) for measure in measures
    }


def mean(values: Iterable[float] | NDArray[np.float64]) -> float:
    """Mean of the defined values, NaN left out, from an exact sum: order is no matter. NaN of nothing."""
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan


class MeasureScores(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measure in a `ScoreReport`; a value that is not defined is null."""

    mean: float | None
    per_query: dict[str, float | None] = {}


class ScoreReport(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """What `rageval score --json` writes. `queries` counts those of the qrels, over which the means run."""

    schema_name: Literal["rageval.scores/1"] = "rageval.scores/1"
    queries: int
    measures: dict[str, MeasureScores]
    warnings: tuple[Notice, ...] = ()
