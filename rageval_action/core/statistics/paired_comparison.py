"""Paired comparison of two systems on the same queries: interval, p-value, power, reading.

Why these methods: on per-query differences of retrieval measures (mostly zeros, few distinct values) the
percentile bootstrap covers as well as its refinements, and the danger is a handful of changed queries that
makes a drop look ruled out; `guarded_bounds` is the answer to that. Resampling is seeded and looks at the
differences only, as a multiset: neither the order of the queries nor what else was computed moves a result.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from rageval_action.core.statistics.resampling import (
    Floats,
    exact,
    flipped_sums,
    order_statistics,
    resampled_sums,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Reading: TypeAlias = Literal["worse", "better", "not_worse", "unchanged", "unclear"]

RESAMPLES = 10_000
SEED = 20_077
TOLERANCE = 1e-9
"""Two scores, or two sums of differences, closer than this are the same."""

SIGNIFICANT = 0.05
"""A p-value below this is beyond chance."""

_Z_TWO_SIDED = 1.959963984540054  # normal quantile at .975
_Z_POWER = 0.8416212335729143  # normal quantile at .80


class Interval(Struct, frozen=True):
    """A closed interval of mean differences (candidate - baseline)."""

    low: float
    high: float


_ANY_DIFFERENCE = Interval(-1.0, 1.0)


class Paired(Struct, frozen=True, kw_only=True):
    """One measure on the same n queries before and after.

    Attributes:
        baseline, candidate: means.
        delta: candidate - baseline.
        ci: two-sided 95 % percentile bootstrap interval of the mean difference. One changed query alone has none: it
            gets [-1, 1], every difference that scores can have.
        p: two-sided paired sign-flip test.
        better, worse, same: queries by the sign of their difference (1e-9 is no difference).
        mde: smallest mean difference that n queries with this `sd` detect with 80 % power.
        sd: sample standard deviation of the differences (n - 1); 0 for a single query.
    """

    n: int
    baseline: float
    candidate: float
    delta: float
    ci: Interval
    p: float
    better: int
    worse: int
    same: int
    mde: float
    sd: float


def paired(baseline: Floats, candidate: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Paired:
    """Compare scores of shape (n,) of the same queries in the same order; no NaN.

    Raises:
        ValueError: there is no query, or the shapes differ.
    """
    return paired_all([(baseline, candidate)], resamples=resamples, seed=seed)[0]


def paired_all(
    pairs: Sequence[tuple[Floats, Floats]], *, resamples: int = RESAMPLES, seed: int = SEED
) -> list[Paired]:
    """`paired` for several measures of the same queries, which is faster than one by one and gives the same."""
    for baseline, candidate in pairs:
        if baseline.shape != candidate.shape or baseline.ndim != 1 or not baseline.size:
            raise ValueError(
                f"two equal, non-empty columns of scores are needed: {baseline.shape}, {candidate.shape}"
            )
    intervals = bootstrap_intervals(
        [candidate - baseline for baseline, candidate in pairs], resamples=resamples, seed=seed
    )
    return [
        _paired(
            baseline, candidate, interval, sign_flip_p(candidate - baseline, resamples=resamples, seed=seed)
        )
        for (baseline, candidate), interval in zip(pairs, intervals, strict=True)
    ]


def _paired(baseline: Floats, candidate: Floats, ci: Interval, p: float) -> Paired:
    differences = candidate - baseline
    n = differences.size
    before, after = math.fsum(baseline.tolist()) / n, math.fsum(candidate.tolist()) / n
    better = int(np.count_nonzero(differences > TOLERANCE))
    worse = int(np.count_nonzero(differences < -TOLERANCE))
    sd = _deviation(differences) if better or worse else 0.0
    return Paired(
        n=n,
        baseline=before,
        candidate=after,
        delta=after - before if better or worse else 0.0,
        ci=_ANY_DIFFERENCE if n == 1 and (better or worse) else ci,
        p=p,
        better=better,
        worse=worse,
        same=n - better - worse,
        mde=smallest_detectable(sd, n),
        sd=sd,
    )


def bootstrap_interval(
    differences: Floats, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Two-sided percentile interval of the mean; differences that are all equal give that value twice."""
    return bootstrap_intervals([differences], level=level, resamples=resamples, seed=seed)[0]


def bootstrap_intervals(
    samples: Sequence[Floats], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = SEED
) -> list[Interval]:
    """`bootstrap_interval` of each sample of differences."""
    found = [_range(sample) for sample in samples]
    varied = [at for at, interval in enumerate(found) if interval.high - interval.low > TOLERANCE]
    tails = _tails([samples[at] for at in varied], (1.0 - level) / 2.0, resamples, seed)
    for at, interval in zip(varied, tails, strict=True):
        found[at] = interval
    return found


def guarded_bounds(differences: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """One-sided 95 % lower and upper bounds of the mean, for differences in [-1, 1].

    One query that lost everything and one that won everything are added before resampling: where few
    queries changed, the sample does not show how bad the rare ones are, and plain bounds rule out drops that
    they should not. Where no query changed there is nothing to guard and the bounds are [0, 0].
    """
    return guarded_bounds_all([differences], resamples=resamples, seed=seed)[0]


def guarded_bounds_all(
    samples: Sequence[Floats], *, resamples: int = RESAMPLES, seed: int = SEED
) -> list[Interval]:
    """`guarded_bounds` of each sample of differences."""
    found = [Interval(0.0, 0.0)] * len(samples)
    changed = [at for at, sample in enumerate(samples) if _changed(sample).size]
    tails = _tails([np.append(samples[at], (-1.0, 1.0)) for at in changed], 0.05, resamples, seed)
    for at, interval in zip(changed, tails, strict=True):
        found[at] = interval
    return found


def sign_flip_p(differences: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> float:
    """Two-sided p of the paired randomisation test (Fisher; for retrieval: Smucker, Allan & Carterette 2007).

    Exact, over all 2^c sign vectors of the c changed queries, when these are fewer than the resamples;
    otherwise (k + 1) / (B + 1) with k of B random sign vectors at least as extreme. Sums within 1e-9 tie.
    """
    changed = _changed(differences)
    extreme = abs(math.fsum(changed)) - TOLERANCE
    magnitudes = np.sort(np.abs(changed))
    if magnitudes.size < math.log2(resamples):
        sums = magnitudes[:1] if magnitudes.size else np.zeros(1)  # by symmetry one sign can stay as it is
        for magnitude in magnitudes[1:]:
            sums = np.concatenate((sums - magnitude, sums + magnitude))
        return int(np.count_nonzero(np.abs(sums) >= extreme)) / sums.size
    sums = flipped_sums(exact(magnitudes), resamples, seed)
    return (int(np.count_nonzero(np.abs(sums) >= extreme)) + 1) / (resamples + 1)


def smallest_detectable(sd: float, n: int) -> float:
    """Mean difference that n pairs detect with 80 % power, two-sided 5 %: 2.80·sd/√n.

    0 when sd is 0: differences that do not vary say nothing about power, which the reader must be told.
    """
    return (_Z_TWO_SIDED + _Z_POWER) * sd / math.sqrt(n)


def queries_needed(sd: float, drop: float) -> int:
    """Queries that detect a mean difference of `drop` > 0 as `smallest_detectable` counts it; at least 1."""
    return max(math.ceil(((_Z_TWO_SIDED + _Z_POWER) * sd / drop) ** 2 - TOLERANCE), 1)


def holm(ps: Sequence[float]) -> list[float]:
    """p-values adjusted for their number (Holm 1979), in the order given."""
    adjusted = [1.0] * len(ps)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min((len(ps) - place) * ps[index], 1.0))
        adjusted[index] = largest
    return adjusted


def read(stats: Paired, bounds: Interval, *, margin: float) -> Reading:
    """What the numbers say, whatever the gates; `bounds` are guarded, `margin` >= 0 is a drop to rule out.

    `worse` and `better` need the interval and the test: an interval of few changed queries lies on one side of 0 at
    4:0, where p is .125. With 1 to 5 changed queries p is at least .0625, so that there is neither.
    """
    if stats.same == stats.n:
        return "unchanged"
    beyond_chance = stats.p < SIGNIFICANT - TOLERANCE
    if beyond_chance and stats.ci.high < -TOLERANCE:
        return "worse"
    if beyond_chance and stats.ci.low > TOLERANCE:
        return "better"
    return "not_worse" if bounds.low > -margin + TOLERANCE else "unclear"


def _changed(differences: Floats) -> Floats:
    return differences[np.abs(differences) > TOLERANCE]


def _deviation(differences: Floats) -> float:
    """Sample standard deviation, the same for every order of the queries."""
    n = differences.size
    if n == 1:
        return 0.0
    mean = math.fsum(differences) / n
    return math.sqrt(math.fsum((differences - mean) ** 2) / (n - 1))


def _range(differences: Floats) -> Interval:
    """Least and greatest difference; where they are the same, one value."""
    if not _changed(differences).size:
        return Interval(0.0, 0.0)
    low, high = float(differences.min()), float(differences.max())
    middle = (low + high) / 2
    return Interval(low, high) if high - low > TOLERANCE else Interval(middle, middle)


def _tails(samples: Sequence[Floats], share: float, resamples: int, seed: int) -> list[Interval]:
    """The means of resamples that cut off `share` below and above: the order statistics (B + 1)·share.

    Davison & Hinkley 1997, §5.3.1. The sums are drawn for the side that gained, so that the swapped
    comparison gives the mirror image (unless the differences sum to 0).
    """
    grids = [_quiet(sample) for sample in samples]
    mirrored = [float(values.sum()) < 0.0 for values in grids]
    ordered = [np.sort(-values if flip else values) for values, flip in zip(grids, mirrored, strict=True)]
    # Where one document answers a query, recall@k and hit@k are the same.
    drawn: dict[bytes, tuple[float, float]] = {}
    for n in {values.size for values in ordered}:
        distinct = {values.tobytes(): values for values in ordered if values.size == n}
        ends = _ends(np.array(list(distinct.values())), share, resamples, seed)
        drawn |= dict(zip(distinct, ends, strict=True))
    found = (drawn[values.tobytes()] for values in ordered)
    return [
        Interval(0.0 - high, 0.0 - low) if flip else Interval(low, high)
        for (low, high), flip in zip(found, mirrored, strict=True)
    ]


def _quiet(differences: Floats) -> Floats:
    """The differences on the grid of `exact`; what is no difference is 0."""
    values = exact(differences)
    values[np.abs(differences) <= TOLERANCE] = 0.0
    return values


def _ends(samples: Floats, share: float, resamples: int, seed: int) -> list[tuple[float, float]]:
    """The means at both ends of the resamples of each of the sorted samples, shape (samples, n)."""
    tail = max(math.floor((resamples + 1) * share + TOLERANCE), 1) - 1
    n = samples.shape[1]
    found = (order_statistics(sums, tail) for sums in resampled_sums(samples, resamples, seed))
    return [(low / n, high / n) for low, high in found]
