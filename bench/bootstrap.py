"""How fast the paired statistics are: against the pure-Python recipe, and on everything one evaluation compares.

The pure recipe is `random.choices` and `statistics.mean`, timed for 100 resamples and multiplied; all ratios are of
one run. (This file is not called `statistics`, which would hide the standard library's module from its neighbours.)
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rageval_action.core import statistics as ours

QUERIES = 10_000
SAMPLED = 100
REPEATS = 5
LEAST_RATIO = 50.0
MOST_SECONDS = 0.150
MEASURES = 7
SLICES = np.linspace(20, 120, 15).astype(int)


def best(work: Callable[[], object]) -> float:
    """Wall seconds of the quickest of several runs."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def pure_recipe(
    differences: list[float], mean: Callable[[list[float]], float], resamples: int
) -> tuple[float, float]:
    means = sorted(mean(random.choices(differences, k=len(differences))) for _ in range(resamples))
    return means[int(0.025 * resamples)], means[int(0.975 * resamples)]


def forget() -> None:
    """What a new process starts without: draws, and tails that were worked out before."""
    ours._resamples.cache_clear()  # noqa: SLF001
    ours._cut_off.cache_clear()  # noqa: SLF001


def against_the_pure_recipe(name: str, differences: NDArray[np.float64]) -> float:
    """Print one row; the ratio that has to be large."""
    values = differences.tolist()
    scale = ours.RESAMPLES / SAMPLED
    start = time.perf_counter()
    pure_recipe(values, statistics.mean, SAMPLED)
    pure = (time.perf_counter() - start) * scale
    start = time.perf_counter()
    pure_recipe(values, statistics.fmean, SAMPLED)
    fast = (time.perf_counter() - start) * scale

    def interval_anew() -> None:
        forget()
        ours.bootstrap_interval(differences)

    interval = best(interval_anew)
    flips = best(lambda: ours.sign_flip_p(differences))
    print(
        f"{name:34} pure {pure:7.2f} s   with fmean {fast:6.2f} s   interval {interval:7.4f} s   "
        f"sign flips {flips:7.4f} s   {pure / interval:8.0f}x (fmean: {fast / interval:.0f}x)"
    )
    return pure / interval


def one_evaluation() -> float:
    """Seconds for every measure of every slice, nothing cached before."""
    generator = np.random.default_rng(3)
    rows = []
    for n in SLICES:
        for _ in range(MEASURES):
            baseline = generator.random(n)
            rows.append((baseline, np.where(generator.random(n) < 0.3, generator.random(n), baseline)))

    def compare() -> None:
        forget()
        for baseline, candidate in rows:
            ours.paired(baseline, candidate)
            ours.guarded_bounds(candidate - baseline)

    return best(compare)


def main() -> None:
    """Print the table; end with 1 when a limit is missed."""
    generator = np.random.default_rng(0)
    random.seed(0)
    changed = generator.random(QUERIES) < 0.27
    few = np.where(changed, generator.choice([-1.0, -0.5, 0.5, 1.0], QUERIES), 0.0)
    some = np.where(changed, generator.uniform(-1, 1, QUERIES), 0.0)
    every = generator.uniform(-1, 1, QUERIES)
    print(f"{ours.RESAMPLES:,} resamples over {QUERIES:,} queries (the pure recipe from {SAMPLED} resamples)")
    ratios = [
        against_the_pure_recipe("few values, 27 % changed", few),
        against_the_pure_recipe("continuous, 27 % changed", some),
        against_the_pure_recipe("continuous, every query changed", every),
    ]
    seconds = one_evaluation()
    print(
        f"{MEASURES * len(SLICES)} rows ({MEASURES} measures, {len(SLICES)} slices of {SLICES[0]} to {SLICES[-1]}"
        f" queries, 30 % changed), all statistics: {seconds * 1e3:.0f} ms (limit {MOST_SECONDS * 1e3:.0f})"
    )
    print(f"smallest ratio {min(ratios):.0f} (limit {LEAST_RATIO:.0f})")
    sys.exit(min(ratios) < LEAST_RATIO or seconds > MOST_SECONDS)


if __name__ == "__main__":
    main()
