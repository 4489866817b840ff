"""Two runs under one set of labels, measure by measure and slice by slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rageval_action.core.labels.label_transfer import Applied
from rageval_action.core.measuring import scoring, slices
from rageval_action.core.measuring.measures import Measure
from rageval_action.core.model.record import QueryRow
from rageval_action.core.model.types import Unanswerable
from rageval_action.core.statistics.paired_comparison import (
    Interval,
    Paired,
    guarded_bounds_all,
    holm,
    paired_all,
    read,
)

MARGIN = 0.02
"""The drop that the reading `not_worse` rules out; gates have their own."""

Values = NDArray[np.float64]
Positions = NDArray[np.intp]


class MeasureRow(Struct, frozen=True, kw_only=True):
    """One measure over all paired queries, or over a slice of them.

    Attributes:
        slice: None = all queries.
        n: queries for which the measure is defined on both sides.
        delta: candidate − baseline, both under the labels of this view.
        ci: two-sided 95 % percentile interval of `delta` (paired bootstrap).
        bounds: guarded one-sided 95 % bounds of `delta`, for the non-inferior rule.
        p: two-sided sign-flip; `p_adjusted` by Holm over slices × measures, None on the row of all queries and for
            slices too small to be tested.
        mde: smallest difference that n queries of this spread detect (80 % power, two-sided 5 %).
        label_effect: how far the changed labels alone moved the baseline, over the queries that had a score before.
        stored: queries for which the baseline kept its own labels because the new ones cannot be applied to it.
        small: fewer queries than a percentage is worth.
    """

    measure: str
    slice: str | None
    n: int
    baseline: float
    candidate: float
    delta: float
    ci: tuple[float, float]
    bounds: tuple[float, float]
    p: float
    p_adjusted: float | None
    reading: Literal["worse", "better", "not_worse", "unchanged", "unclear"]
    better: int
    worse: int
    same: int
    mde: float
    label_effect: float = 0.0
    stored: int = 0
    small: bool = False


class View(Struct, frozen=True, kw_only=True):
    """Both runs under one set of labels.

    Attributes:
        ids: paired queries that are answerable under these labels.
        tags: the tags of each on either side: dropping a tag takes no query out of a gate.
        scores: measure -> (baseline, candidate), float64 of shape (len(ids),), NaN = undefined.
        rows: all queries first, then slices by name, each in the order of the measures.
        whole: names of slices that hold every query; they have no rows of their own.
    """

    ids: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    scores: dict[str, tuple[Values, Values]]
    rows: tuple[MeasureRow, ...]
    whole: frozenset[str] = frozenset()

    def row(self, measure: str, part: str = "") -> MeasureRow | None:
        """The row of a slice (empty = all queries); None when no query of it can be compared."""
        name = None if not part or part in self.whole else part
        return next((row for row in self.rows if (row.measure, row.slice) == (measure, name)), None)


class Labelled(Struct, frozen=True):
    """One run's paired rows and the labels it is scored by, in one order."""

    rows: Sequence[QueryRow]
    labels: Sequence[Applied]


class _Columns(Struct, frozen=True):
    """One measure: the baseline, the candidate, and the baseline under its own labels; shape (queries,)."""

    old: Values
    new: Values
    was: Values


def view(
    before: Labelled,
    after: Labelled,
    measures: Sequence[Measure],
    depth: int,
    *,
    sliced_by: Sequence[QueryRow],
    was: Labelled | None = None,
    stored: frozenset[str] = frozenset(),
) -> View:
    """Score both runs and compare them, over all queries and slice by slice.

    Args:
        before: the baseline. Queries that are unanswerable under the labels of either run stay out.
        after: the candidate, its rows in the same order.
        measures: to compute.
        depth: units kept of every ranking.
        sliced_by: the rows whose tags and types make the slices.
        was: the baseline under its own labels, where these differ: the label effect is measured from it.
        stored: ids of the queries for which the baseline kept its own labels.
    """
    old, new = _scores(before, measures, depth), _scores(after, measures, depth)
    own = _scores(was, measures, depth) if was else old
    keep = [
        at
        for at, labels in enumerate(zip(before.labels, after.labels, strict=True))
        if not any(isinstance(label.judgments, Unanswerable) for label in labels)
    ]
    columns = {
        measure: _Columns(old[measure][keep], new[measure][keep], own[measure][keep]) for measure in measures
    }
    kept = np.array([after.rows[at].query_id in stored for at in keep], dtype=bool)
    parts = slices.split([sliced_by[at] for at in keep])
    whole = frozenset(name for name, part in parts.items() if len(part) == len(keep))
    asked: list[tuple[str | None, list[int]]] = [(None, list(range(len(keep))))]
    asked += [(name, part) for name, part in parts.items() if name not in whole]
    found = [
        row for name, part in asked for row in _part_rows(name, columns, np.array(part, dtype=np.intp), kept)
    ]
    return View(
        ids=tuple(after.rows[at].query_id for at in keep),
        tags=tuple(frozenset((*before.rows[at].tags, *after.rows[at].tags)) for at in keep),
        scores={str(measure): (column.old, column.new) for measure, column in columns.items()},
        rows=_adjusted(found),
        whole=whole,
    )


def _scores(run: Labelled, measures: Sequence[Measure], depth: int) -> dict[Measure, Values]:
    """A score for every row, NaN for rows that nothing answers."""
    asked = [at for at, label in enumerate(run.labels) if not isinstance(label.judgments, Unanswerable)]
    rankings = [run.rows[at].ranking(run.labels[at].unit)[0][:depth] for at in asked]
    labels = [scoring.as_labels(run.labels[at].judgments) for at in asked]
    found = scoring.score(scoring.batch(rankings, labels), measures)
    scores = {measure: np.full(len(run.rows), np.nan) for measure in measures}
    for measure, column in scores.items():
        column[asked] = found[measure]
    return scores


class _Cut(Struct, frozen=True):
    """`_Columns` of the queries of one part for which the measure is defined on both sides, and how many are stored."""

    measure: Measure
    old: Values
    new: Values
    was: Values
    stored: int


def _cut(measure: Measure, columns: _Columns, part: Positions, stored: NDArray[np.bool_]) -> _Cut:
    old, new = columns.old[part], columns.new[part]
    defined = ~(np.isnan(old) | np.isnan(new))
    return _Cut(
        measure=measure,
        old=old[defined],
        new=new[defined],
        was=columns.was[part][defined],
        stored=int(stored[part][defined].sum()),
    )


def _part_rows(
    name: str | None, columns: Mapping[Measure, _Columns], part: Positions, stored: NDArray[np.bool_]
) -> list[MeasureRow]:
    """The rows of one part; a measure that is defined on both sides for no query of it has none."""
    cuts = [_cut(measure, own, part, stored) for measure, own in columns.items()]
    cuts = [cut for cut in cuts if cut.old.size]
    results = paired_all([(cut.old, cut.new) for cut in cuts])
    large = [cut for cut in cuts if name is None or cut.old.size >= slices.SMALLEST]
    guarded = dict(
        zip(
            (cut.measure for cut in large),
            guarded_bounds_all([cut.new - cut.old for cut in large]),
            strict=True,
        )
    )
    return [
        _row(name, cut, result, guarded.get(cut.measure)) for cut, result in zip(cuts, results, strict=True)
    ]


def _row(name: str | None, cut: _Cut, result: Paired, guarded: Interval | None) -> MeasureRow:
    """One row; `guarded` is None for a part too small for any statement but that nothing changed."""
    bounds = guarded or (_NOTHING_RULED_OUT if result.same < result.n else Interval(0.0, 0.0))
    scored_before = ~np.isnan(cut.was)
    moved = cut.old[scored_before] - cut.was[scored_before]
    return MeasureRow(
        measure=str(cut.measure),
        slice=name,
        n=result.n,
        baseline=result.baseline,
        candidate=result.candidate,
        delta=result.delta,
        ci=_ends(result.ci),
        bounds=_ends(bounds),
        p=result.p,
        p_adjusted=None,
        reading=read(result, bounds, margin=MARGIN),
        better=result.better,
        worse=result.worse,
        same=result.same,
        mde=result.mde,
        label_effect=float(moved.mean()) if moved.size else 0.0,
        stored=cut.stored,
        small=guarded is None,
    )


_NOTHING_RULED_OUT = Interval(-1.0, 1.0)
"""The bounds of a slice too small for any statement."""


def _ends(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def _adjusted(rows: Sequence[MeasureRow]) -> tuple[MeasureRow, ...]:
    """Fill in `p_adjusted`: Holm over every slice × measure row that is large enough to be tested."""
    tested = [at for at, row in enumerate(rows) if row.slice is not None and not row.small]
    adjusted = dict(zip(tested, holm([rows[at].p for at in tested]), strict=True))
    return tuple(
        replace(row, p_adjusted=adjusted[at]) if at in adjusted else row for at, row in enumerate(rows)
    )
