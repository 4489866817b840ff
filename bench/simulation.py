"""Whether the intervals and gates err as often as they say: a seeded simulation beside the reference figures.

Per-query differences lie in {-1, -.5, 0, .5, 1}; 2,000 data sets of 50, 100 and 300 queries for each setting, 2,000
resamples each. The reference figures come from an independent simulation of the percentile method and are good to
one point; ours are good to two standard errors; a rate that is worse by more than both ends the program with 1.
Data sets in which no query changed pass by rule, without guard or interval; they are counted apart.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.statistics import TOLERANCE, bootstrap_interval, guarded_bounds, sign_flip_p

VALUES = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
SIZES = (50, 100, 300)
MARGIN = 0.02
RESAMPLES = 2_000
DATA_SETS = 2_000
QUICK_DATA_SETS = 300
SEEDS = 16  # of the resampling, so that one unlucky draw does not reach every data set
POINT = 0.01


class Setting(Struct, frozen=True):
    """How often a query changes by -1, -.5, .5 and 1."""

    name: str
    shares: tuple[float, float, float, float]

    @property
    def mean(self) -> float:
        """The true mean difference."""
        return float(np.dot(self.shares, VALUES[VALUES != 0]))

    def draw(self, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """One data set of n differences."""
        low, lower, higher, high = self.shares
        shares = (low, lower, 1.0 - sum(self.shares), higher, high)
        return generator.choice(VALUES, size=n, p=shares)


DENSE = Setting("27 % changed, mean -.02", (0.06, 0.09, 0.07, 0.05))
SPARSE = Setting("5 % changed, mean -.02", (0.0125, 0.0275, 0.0125, 0.0))
NULL = Setting("5.5 % changed, mean 0", (0.01375, 0.01375, 0.01375, 0.01375))


class Trial(Struct, frozen=True):
    """What one data set showed, as 0 or 1."""

    covered: bool
    excludes_zero: bool
    significant: bool
    passes: bool
    passes_guarded: bool
    unchanged: bool


def trial(differences: NDArray[np.float64], mean: float, seed: int) -> Trial:
    interval = bootstrap_interval(differences, resamples=RESAMPLES, seed=seed)
    plain = bootstrap_interval(differences, level=0.90, resamples=RESAMPLES, seed=seed)
    guarded = guarded_bounds(differences, resamples=RESAMPLES, seed=seed)
    changed = bool(differences.any())
    return Trial(
        covered=interval.low - TOLERANCE <= mean <= interval.high + TOLERANCE,
        excludes_zero=interval.low > TOLERANCE or interval.high < -TOLERANCE,
        significant=sign_flip_p(differences, resamples=RESAMPLES, seed=seed) <= 0.05,
        passes=plain.low > -MARGIN + TOLERANCE,
        passes_guarded=changed and guarded.low > -MARGIN + TOLERANCE,
        unchanged=not changed,
    )


class Figure(Struct, frozen=True):
    """A rate, what the reference has for n = 50, 100, 300, and which side of it is the good one."""

    setting: Setting
    name: str
    of: Callable[[Trial], bool]
    reference: tuple[float, float, float]
    good: Literal["more", "less", "shown"] = "less"


FIGURES = (
    Figure(DENSE, "95 % interval covers the mean", lambda t: t.covered, (0.944, 0.946, 0.951), "more"),
    Figure(SPARSE, "95 % interval covers the mean", lambda t: t.covered, (0.867, 0.920, 0.949), "more"),
    Figure(NULL, "95 % interval covers the mean", lambda t: t.covered, (0.968, 0.942, 0.949), "more"),
    Figure(NULL, "interval excludes 0 by mistake", lambda t: t.excludes_zero, (0.032, 0.058, 0.051)),
    Figure(NULL, "sign-flip p <= .05 by mistake", lambda t: t.significant, (0.004, 0.013, 0.036)),
    Figure(DENSE, "gate passes wrongly, no guard", lambda t: t.passes, (0.052, 0.054, 0.052)),
    Figure(DENSE, "gate passes wrongly, guarded", lambda t: t.passes_guarded, (0.052, 0.054, 0.052)),
    Figure(SPARSE, "gate passes wrongly, no guard", lambda t: t.passes, (0.131, 0.102, 0.066)),
    Figure(SPARSE, "gate passes wrongly, guarded", lambda t: t.passes_guarded, (0.001, 0.031, 0.046)),
    Figure(NULL, "gate passes rightly, no guard", lambda t: t.passes, (0.28, 0.33, 0.62), "shown"),
    Figure(NULL, "gate passes rightly, guarded", lambda t: t.passes_guarded, (0.08, 0.24, 0.62), "shown"),
    Figure(SPARSE, "no query changed", lambda t: t.unchanged, (0.067, 0.005, 0.0), "shown"),
)


def simulate(setting: Setting, n: int, data_sets: int) -> list[Trial]:
    generator = np.random.default_rng((17, n, round(setting.mean * 1000) % 1000))
    return [trial(setting.draw(n, generator), setting.mean, number % SEEDS) for number in range(data_sets)]


def judged(figure: Figure, trials: Sequence[Trial], reference: float) -> tuple[float, str]:
    """The rate, and a word on how it compares."""
    rate = sum(map(figure.of, trials)) / len(trials)
    error = POINT + 2 * math.sqrt(max(rate * (1 - rate), reference * (1 - reference)) / len(trials))
    if figure.good == "shown":
        return rate, ""
    fine = rate >= reference - error if figure.good == "more" else rate <= reference + error
    return rate, "no worse" if fine else "WORSE"


def main() -> None:
    """Print each rate beside its reference; end with 1 when one is worse."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_DATA_SETS} data sets instead of {DATA_SETS:,}"
    )
    data_sets = QUICK_DATA_SETS if parser.parse_args().quick else DATA_SETS
    trials = {
        (setting.name, n): simulate(setting, n, data_sets) for setting in (DENSE, SPARSE, NULL) for n in SIZES
    }
    print(f"{data_sets:,} data sets, {RESAMPLES:,} resamples; rate (reference) for n = 50, 100, 300")
    worse = 0
    for figure in FIGURES:
        cells: list[str] = []
        for n, reference in zip(SIZES, figure.reference, strict=True):
            rate, word = judged(figure, trials[figure.setting.name, n], reference)
            cells.append(f"{rate:.3f} ({reference:.3f}) {word:8}")
            worse += word == "WORSE"
        print(f"{figure.setting.name:26} {figure.name:32} " + "   ".join(cells))
    sys.exit(worse > 0)


if __name__ == "__main__":
    main()
