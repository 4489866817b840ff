"""Paired comparison of two systems on the same queries: interval, p-value, power, reading.

Why these methods: on per-query differences of retrieval measures (mostly zeros, few distinct values) the
percentile bootstrap covers as well as its refinements, and the danger is a handful of changed queries that
makes a drop look ruled out; `guarded_bounds` is the answer to that. Resampling is seeded and looks at the
differences only, as a multiset: neither the order of the queries nor what else was computed moves a result.
Differences are rounded to a binary grid on which every sum is exact, so the order of summation and the
number of threads do not matter either.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats: TypeAlias = NDArray[np.float64]
Reading: TypeAlias = Literal["worse", "better", "not_worse", "unclear"]

RESAMPLES = 10_000
SEED = 20_077
TOLERANCE = 1e-9
"""Two scores, or two sums of differences, closer than this are the same."""

_BOOTSTRAP, _SIGN_FLIP = 1, 2  # one random stream each
_Z_TWO_SIDED = 1.959963984540054  # normal quantile at .975
_Z_POWER = 0.8416212335729143  # normal quantile at .80
_SMALL = 250  # up to here resamples are shared
_COLUMNS = 500  # resamples counted at once: they stay in the processor's cache
_FEW = 25  # drawing how often a value occurs costs as much as drawing this many items
_SAMPLE = 250  # sums that tell where the tails begin
_NEGLIGIBLE = 1e-15  # of the likeliest number of hits


class Interval(Struct, frozen=True):
    """A closed interval of mean differences (candidate - baseline)."""

    low: float
    high: float


class Paired(Struct, frozen=True, kw_only=True):
    """One measure on the same n queries before and after.

    Attributes:
        baseline, candidate: means.
        delta: candidate - baseline.
        ci: two-sided 95 % percentile bootstrap interval of the mean difference.
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
    if baseline.shape != candidate.shape or baseline.ndim != 1 or not baseline.size:
        raise ValueError(
            f"two equal, non-empty columns of scores are needed: {baseline.shape}, {candidate.shape}"
        )
    differences = candidate - baseline
    n = differences.size
    before, after = math.fsum(baseline) / n, math.fsum(candidate) / n
    better = int(np.count_nonzero(differences > TOLERANCE))
    worse = int(np.count_nonzero(differences < -TOLERANCE))
    sd = _deviation(differences) if better or worse else 0.0
    return Paired(
        n=n,
        baseline=before,
        candidate=after,
        delta=after - before if better or worse else 0.0,
        ci=bootstrap_interval(differences, resamples=resamples, seed=seed),
        p=sign_flip_p(differences, resamples=resamples, seed=seed),
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
    if not _changed(differences).size:
        return Interval(0.0, 0.0)
    lowest, highest = float(differences.min()), float(differences.max())
    if highest - lowest <= TOLERANCE:
        value = (lowest + highest) / 2
        return Interval(value, value)
    return _tails(differences, (1.0 - level) / 2.0, resamples, seed, guard=False)


def guarded_bounds(differences: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """One-sided 95 % lower and upper bounds of the mean, for differences in [-1, 1].

    One query that lost everything and one that won everything are added before resampling: where few
    queries changed, the sample does not show how bad the rare ones are, and plain bounds rule out drops that
    they should not. Where no query changed there is nothing to guard and the bounds are [0, 0].
    """
    if not _changed(differences).size:
        return Interval(0.0, 0.0)
    return _tails(differences, 0.05, resamples, seed, guard=True)


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
    sums = _flipped_sums(_exact(magnitudes), resamples, seed)
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
    """What the numbers say, whatever the gates; `bounds` are guarded, `margin` >= 0 is a drop to rule out."""
    if stats.ci.high < -TOLERANCE:
        return "worse"
    if stats.ci.low > TOLERANCE:
        return "better"
    if stats.same == stats.n or bounds.low > -margin + TOLERANCE:
        return "not_worse"
    return "unclear"


def _changed(differences: Floats) -> Floats:
    return differences[np.abs(differences) > TOLERANCE]


def _deviation(differences: Floats) -> float:
    """Sample standard deviation, the same for every order of the queries."""
    n = differences.size
    if n == 1:
        return 0.0
    mean = math.fsum(differences) / n
    return math.sqrt(math.fsum((differences - mean) ** 2) / (n - 1))


def _exact(values: Floats) -> Floats:
    """`values` on a binary grid so coarse that any sum of n of them is exact, so fine that nobody sees it."""
    scale = 2.0 ** (52 - math.frexp(values.size * float(np.abs(values).max()))[1])
    return np.rint(values * scale) / scale


def _tails(differences: Floats, share: float, resamples: int, seed: int, *, guard: bool) -> Interval:
    """The means of resamples that cut off `share` below and above: the order statistics (B + 1)·share.

    Davison & Hinkley 1997, §5.3.1. The sums are drawn for the side that gained, so that the swapped
    comparison gives the mirror image (unless the differences sum to 0).
    """
    values = _exact(differences)
    mirrored = float(values.sum()) < 0.0
    ordered = np.sort(-values if mirrored else values)
    low, high = _cut_off(ordered.tobytes(), share, resamples, seed, guard=guard)
    return Interval(0.0 - high, 0.0 - low) if mirrored else Interval(low, high)


@lru_cache(maxsize=64)
def _cut_off(ordered: bytes, share: float, resamples: int, seed: int, *, guard: bool) -> tuple[float, float]:
    """The tails of sorted values, remembered: where one document answers a query, recall@k and hit@k are the same."""
    values = np.frombuffer(ordered)
    draw = _small_sums if values.size <= _SMALL else _large_sums
    sums = draw(values, resamples, seed, guard=guard)
    tail = max(math.floor((resamples + 1) * share + TOLERANCE), 1) - 1
    size = values.size + 2 if guard else values.size
    low, high = _order_statistics(sums, tail)
    return low / size, high / size


def _order_statistics(sums: Floats, place: int) -> tuple[float, float]:
    """The values at `place` from either end of the sorted sums, sought where a sample of them says they are."""
    sample = np.sort(sums[:: max(sums.size // _SAMPLE, 1)])
    near = min(2 * place * sample.size // sums.size + 1, sample.size - 1)
    low, high = sums[sums <= sample[near]], sums[sums >= sample[-1 - near]]
    if min(low.size, high.size) <= place:  # the sample misled
        low = high = sums
    return float(np.partition(low, place)[place]), float(np.partition(high, -1 - place)[-1 - place])


def _small_sums(values: Floats, resamples: int, seed: int, *, guard: bool) -> Floats:
    """Sums of resamples of `values`, guarded by -1 and +1 or not; shape (resamples,).

    Every draw serves twice, the second time with the items (and the guards) in reverse: Hall 1989, "Antithetic
    resampling for the bootstrap". Both are proper resamples, and the tails are as steady as those of separate draws.
    """
    changed = _changed(values)
    drawn = _resamples(values.size, -(-resamples // 2), seed)
    counts = drawn.guarded if guard else drawn.counts
    # All items are drawn alike, so it does not matter which of them are the changed ones.
    sums = np.empty((2, counts.shape[1]))
    for line, items in zip(sums, (counts, counts[::-1]), strict=True):
        np.einsum("i,ij->j", changed, items[: changed.size], out=line)
    if guard:
        sums[0] += drawn.guards
        sums[1] -= drawn.guards
    return sums.ravel()[:resamples]


class _Resamples(Struct, frozen=True):
    """Resamples of n items, made once for every measure and slice of that size.

    Attributes:
        counts: how often each item is drawn in n draws; (n, B).
        guarded: the same in n + 2 draws from the items and the two guards; (n, B).
        guards: sum of the guards (-1 and +1) drawn with `guarded`; (B,).
    """

    counts: NDArray[np.uint8]
    guarded: NDArray[np.uint8]
    guards: NDArray[np.int8]


@lru_cache(maxsize=16)
def _resamples(n: int, resamples: int, seed: int) -> _Resamples:
    """Draw n + 2 items for each resample: the last n count, or with K guards drawn all but the first K."""
    generator = np.random.default_rng((seed, _BOOTSTRAP, n))
    draws = generator.integers(0, n, size=(n + 2, resamples), dtype=np.uint16)
    counts = _count(draws[2:], n)
    hits = _hits(n + 2, 2, resamples, generator)
    guarded, guards, column = counts.copy(), np.zeros(resamples, dtype=np.int8), np.arange(resamples)
    for position, still in enumerate(_reaching(hits, max(int(hits[0]), 2))):
        guards[:still] += generator.integers(0, 2, size=still, dtype=np.int8) * 2 - 1
        if position < 2:
            guarded[draws[position, still:], column[still:]] += 1
        else:
            guarded[draws[position, :still], column[:still]] -= 1
    return _Resamples(counts, guarded, guards)


def _count(draws: NDArray[np.uint16], n: int) -> NDArray[np.uint8]:
    """How often each of n items occurs in each column; shape (n, columns). n fits a byte, so counts do."""
    counts = np.empty((n, draws.shape[1]), dtype=np.uint8)
    for start in range(0, draws.shape[1], _COLUMNS):
        part = draws[:, start : start + _COLUMNS]
        columns = part.shape[1]
        cells = np.multiply(part, columns, dtype=np.intp)
        cells += np.arange(columns)
        counted = np.bincount(cells.ravel(), minlength=n * columns)
        counts[:, start : start + columns] = counted.reshape(n, columns)
    return counts


def _large_sums(values: Floats, resamples: int, seed: int, *, guard: bool) -> Floats:
    """As `_small_sums`, for sizes where one resample is work enough to be made for this comparison alone."""
    if guard:
        values = _exact(np.concatenate((values, (-1.0, 1.0))))
    n = values.size
    changed = _changed(values)
    generator = np.random.default_rng((seed, _BOOTSTRAP, n))
    distinct, often = np.unique(changed, return_counts=True)
    if distinct.size * _FEW < changed.size:
        shares = np.append(often, n - changed.size) / n
        drawn = generator.multinomial(n, shares, size=resamples)[:, :-1]
        return np.asarray(np.einsum("ij,j->i", drawn, distinct))
    hits = _hits(n, changed.size, resamples, generator)
    sums = np.zeros(resamples)
    for still in _reaching(hits, int(hits[0])):
        sums[:still] += changed.take(generator.integers(0, changed.size, size=still, dtype=np.uint32))
    return sums


def _hits(n: int, changed: int, resamples: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """How many of n draws hit a changed item, for each resample, most first: binomial(n, changed / n).

    Resamples have no order, so one multinomial draw of how often each number occurs does for all of them.
    """
    if changed == n:
        return np.full(resamples, n)
    number = np.arange(1, n + 1)
    odds = math.log(changed / (n - changed))
    logs = np.concatenate(([0.0], np.cumsum(np.log((n + 1 - number) / number) + odds)))
    weights = np.exp(logs - logs.max())
    (likely,) = np.nonzero(weights > _NEGLIGIBLE)
    often = generator.multinomial(resamples, weights[likely] / weights[likely].sum())
    return np.repeat(likely, often)[::-1]


def _reaching(hits: NDArray[np.int64], positions: int) -> list[int]:
    """For each position, how many resamples (the first ones) have a hit there."""
    return [int(count) for count in np.searchsorted(-hits, -np.arange(positions))]


def _flipped_sums(magnitudes: Floats, resamples: int, seed: int) -> Floats:
    """Sums under random signs, eight signs a byte: a table has the 256 sums of each eight; (resamples,)."""
    eights = np.zeros((-(-magnitudes.size // 8), 8))
    eights.ravel()[: magnitudes.size] = magnitudes
    signs = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1.0
    tables = np.einsum("ij,kj->ik", eights, signs)
    generator = np.random.default_rng((seed, _SIGN_FLIP))
    sums = np.zeros(resamples)
    for table in tables:
        sums += table.take(np.frombuffer(generator.bytes(resamples), dtype=np.uint8))
    return sums
