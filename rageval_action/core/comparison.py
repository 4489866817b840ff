"""Two run records, query by query: what changed, by how much, and how sure that is (design §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rageval_action.core import changes, relabel, scoring, slices
from rageval_action.core.measures import Measure
from rageval_action.core.ranking import unit_ids
from rageval_action.core.record import QueryRow, RunRecord
from rageval_action.core.statistics import Interval, guarded_bounds, holm, paired, read
from rageval_action.core.types import Judgments, Notice, Unanswerable, Unit

MARGIN = 0.02
"""The drop that the reading `not_worse` rules out; gates have their own."""

Values = NDArray[np.float64]


class Pairing(Struct, frozen=True, kw_only=True):
    """Which queries can be compared: same id and same text on both sides."""

    paired: int
    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


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
        label_effect: how far the changed labels alone moved the baseline.
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
    reading: Literal["worse", "better", "not_worse", "unclear"]
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
        ids: paired, answerable queries, in bytewise order of their ids.
        tags: the tags of each on either side: dropping a tag takes no query out of a gate.
        scores: measure -> (baseline, candidate), float64 of shape (len(ids),), NaN = undefined.
        rows: all queries first, then slices by name, each in the order of the measures.
    """

    ids: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    scores: dict[str, tuple[Values, Values]]
    rows: tuple[MeasureRow, ...]


class LabelsUnchanged(Struct, frozen=True):
    """There is no view under the old labels because the labels are the same."""


class Comparison(Struct, frozen=True, kw_only=True):
    """What two records say about each other, before anybody judges it.

    Attributes:
        depth: the depth at which both were scored: the smaller of the two.
        view: under the candidate's labels. old_view: under the baseline's.
        relabelled: queries whose labels changed.
        queries: every query that got better or worse at the headline measure or is missed, worst first.
        factors: what else changed between the two (model, chunker, …).
        turnover: how much of the corpus is the same.
    """

    baseline: RunRecord
    candidate: RunRecord
    k: int
    depth: int
    pairing: Pairing
    view: View
    old_view: View | LabelsUnchanged
    relabelled: tuple[str, ...]
    queries: tuple[changes.QueryChange, ...]
    factors: tuple[changes.Factor, ...]
    turnover: changes.Turnover
    warnings: tuple[Notice, ...]


class _Side(Struct, frozen=True):
    """One run's rows under given judgments, in the order of the pairs."""

    rows: Sequence[QueryRow]
    judgments: Sequence[Judgments]
    unit: Unit


def compare(baseline: RunRecord, candidate: RunRecord, measures: Sequence[Measure]) -> Comparison:
    """Pair two records and work out every row, factor and changed query.

    `measures` are computed from the rankings on both sides at the smaller of the two depths, so that a measure the
    baseline never stored can still be compared.
    """
    pairing, pairs = _pair(baseline, candidate)
    depth = min(baseline.record.retriever.depth, candidate.record.retriever.depth)
    unit = candidate.record.golden.unit
    onto_base = [relabel.onto_baseline(new.judgments, old, baseline.corpus, unit) for old, new in pairs]
    onto_new = [
        relabel.onto_candidate(old.judgments, new, candidate.corpus, baseline.corpus, unit)
        for old, new in pairs
    ]
    olds, news = [old for old, _ in pairs], [new for _, new in pairs]
    own_old = [row.judgments for row in olds]
    own_new = [row.judgments for row in news]
    under_new = _Side(olds, _fitted(onto_base, own_old), unit)
    as_was = _Side(olds, own_old, baseline.record.golden.unit)
    now = _Side(news, own_new, unit)
    stored = np.array([isinstance(fit, relabel.Kept) for fit in onto_base], dtype=bool)
    turned = tuple(
        new.query_id for old, new in pairs if not relabel.same_labels(old.judgments, new.judgments)
    )
    view = _view(under_new, now, measures, depth, effect_of=as_was, stored=stored)
    old_view: View | LabelsUnchanged = LabelsUnchanged()
    if turned:
        old_view = _view(as_was, _Side(news, _fitted(onto_new, own_new), unit), measures, depth)
    turnover = changes.turnover(baseline.corpus, candidate.corpus)
    factors = changes.factors(
        baseline.record, candidate.record, turnover, relabelled=len(turned), pairing=pairing
    )
    k = candidate.record.k
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        k=k,
        depth=depth,
        pairing=pairing,
        view=view,
        old_view=old_view,
        relabelled=turned,
        queries=changes.queries(
            under_new.rows, under_new.judgments, news, pairing.changed, candidate, baseline, k
        ),
        factors=factors,
        turnover=turnover,
        warnings=changes.warnings(baseline, candidate, factors, turnover, int(stored.sum())),
    )


def _fitted(fits: Sequence[relabel.Relabelled], own: Sequence[Judgments]) -> list[Judgments]:
    return [
        fit.judgments if isinstance(fit, relabel.Applied) else kept
        for fit, kept in zip(fits, own, strict=True)
    ]


def _pair(baseline: RunRecord, candidate: RunRecord) -> tuple[Pairing, list[tuple[QueryRow, QueryRow]]]:
    """Pairs in bytewise order of query id, so that a file's row order decides nothing."""
    before = {row.query_id: row for row in baseline.queries}
    after = {row.query_id: row for row in candidate.queries}
    both = sorted(before.keys() & after.keys(), key=str.encode)
    changed = tuple(name for name in both if before[name].query_sha256 != after[name].query_sha256)
    pairs = [(before[name], after[name]) for name in both if name not in set(changed)]
    pairing = Pairing(
        paired=len(pairs),
        new=tuple(sorted(after.keys() - before.keys(), key=str.encode)),
        removed=tuple(sorted(before.keys() - after.keys(), key=str.encode)),
        changed=changed,
    )
    return pairing, pairs


def _scores(
    side: _Side, measures: Sequence[Measure], depth: int, keep: Sequence[int]
) -> dict[Measure, Values]:
    rankings = [unit_ids(side.rows[i].results, side.unit)[:depth] for i in keep]
    labels = [scoring.as_labels(side.judgments[i]) for i in keep]
    return scoring.score(scoring.batch(rankings, labels), measures)


def _view(
    before: _Side,
    after: _Side,
    measures: Sequence[Measure],
    depth: int,
    *,
    effect_of: _Side | None = None,
    stored: NDArray[np.bool_] | None = None,
) -> View:
    """Score both sides and compare them, over all queries and slice by slice.

    Queries that either side holds to be unanswerable have no score and stay out. `effect_of` is the baseline under its
    own labels, from which the label effect is measured.
    """
    sides = [side for side in (before, after, effect_of) if side is not None]
    keep = [
        i
        for i in range(len(after.rows))
        if not any(isinstance(side.judgments[i], Unanswerable) for side in sides)
    ]
    old, new = _scores(before, measures, depth, keep), _scores(after, measures, depth, keep)
    was = _scores(effect_of, measures, depth, keep) if effect_of is not None else old
    rows = [after.rows[i] for i in keep]
    kept = stored[keep] if stored is not None else np.zeros(len(keep), dtype=bool)
    parts: list[tuple[str | None, list[int]]] = [(None, list(range(len(keep)))), *slices.split(rows).items()]
    table = [
        _row(measure, name, np.array(part), old[measure], new[measure], was[measure], kept)
        for name, part in parts
        for measure in measures
    ]
    tags = tuple(frozenset(before.rows[i].tags) | frozenset(after.rows[i].tags) for i in keep)
    return View(
        ids=tuple(row.query_id for row in rows),
        tags=tags,
        scores={str(measure): (old[measure], new[measure]) for measure in measures},
        rows=_adjusted([row for row in table if row is not None]),
    )


def _row(
    measure: Measure,
    name: str | None,
    part: NDArray[np.intp],
    old: Values,
    new: Values,
    was: Values,
    stored: NDArray[np.bool_],
) -> MeasureRow | None:
    """One row, or None when the measure is defined on both sides for no query of the part."""
    if part.size == 0:
        return None
    part = part[~(np.isnan(old[part]) | np.isnan(new[part]) | np.isnan(was[part]))]
    if part.size == 0:
        return None
    result = paired(old[part], new[part])
    bounds = guarded_bounds(new[part] - old[part])
    small = name is not None and part.size < slices.SMALLEST
    return MeasureRow(
        measure=str(measure),
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
        label_effect=float(old[part].mean() - was[part].mean()),
        stored=int(stored[part].sum()),
        small=small,
    )


def _ends(interval: Interval) -> tuple[float, float]:
    return (interval.low, interval.high)


def _adjusted(rows: Sequence[MeasureRow]) -> tuple[MeasureRow, ...]:
    """Fill in `p_adjusted`: Holm over every slice × measure row that is large enough to be tested."""
    tested = [position for position, row in enumerate(rows) if row.slice is not None and not row.small]
    adjusted: Mapping[int, float] = dict(zip(tested, holm([rows[i].p for i in tested]), strict=True))
    return tuple(
        replace(row, p_adjusted=adjusted[position]) if position in adjusted else row
        for position, row in enumerate(rows)
    )
