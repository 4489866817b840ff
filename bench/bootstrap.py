"""How fast the paired statistics are: against the pure-Python recipe, and on everything one evaluation compares.

It also shows how steady intervals are whose draws serve several times (`core.statistics.resampling`).

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

from rageval_action.core.statistics import paired_comparison as ours

QUERIES = 10_000
SAMPLED = 100
REPEATS = 5
LEAST_RATIO = 50.0
MOST_SECONDS = 0.150
MEASURES = 7
STEADY = (11, 24, 60, 160)
SEEDS = 200
MOST_UNSTEADY = 1.15
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
    interval = best(lambda: ours.bootstrap_interval(differences))
    flips = best(lambda: ours.sign_flip_p(differences))
    print(
        f"{name:34} pure {pure:7.2f} s   with fmean {fast:6.2f} s   interval {interval:7.4f} s   "
        f"sign flips {flips:7.4f} s   {pure / interval:8.0f}x (fmean: {fast / interval:.0f}x)"
    )
    return pure / interval


def one_evaluation() -> float:
    """Seconds for every measure of every slice."""
    generator = np.random.default_rng(3)
    parts = []
    for n in SLICES:
        sides = []
        for _ in range(MEASURES):
            baseline = generator.random(n)
            sides.append((baseline, np.where(generator.random(n) < 0.3, generator.random(n), baseline)))
        parts.append(sides)

    def compare() -> None:
        for sides in parts:
            ours.paired_all(sides)
            ours.guarded_bounds_all([candidate - baseline for baseline, candidate in sides])

    return best(compare)


def unsteadiness() -> float:
    """How much more the ends of an interval move with the seed than those of separate draws, which serve once.

    The root mean square, over several samples and both ends, of the ratio of standard deviations.
    """
    ratios = []
    for n in STEADY:
        for share in (0.3, 1.0):
            generator = np.random.default_rng(n)
            values = np.sort(np.where(np.arange(n) < share * n, generator.normal(0.1, 0.3, n), 0.0))
            reused, separate = [], []
            for seed in range(SEEDS):
                interval = ours.bootstrap_interval(values, seed=seed)
                reused.append((interval.low, interval.high))
                own = np.random.default_rng((seed, 9))
                means = np.sort(values[own.integers(0, n, (ours.RESAMPLES, n), dtype=np.uint16)].mean(axis=1))
                separate.append((means[249], means[-250]))
            ratios += list(np.std(reused, axis=0) / np.std(separate, axis=0))
    return float(np.sqrt(np.mean(np.square(ratios))))


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
    more = unsteadiness()
    print(
        f"the ends move {more:.2f} times as much with the seed as those of separate draws (limit {MOST_UNSTEADY})"
    )
    print(f"smallest ratio {min(ratios):.0f} (limit {LEAST_RATIO:.0f})")
    sys.exit(min(ratios) < LEAST_RATIO or seconds > MOST_SECONDS or more > MOST_UNSTEADY)


if __name__ == "__main__":
    main()
