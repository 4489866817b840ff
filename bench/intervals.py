"""Whether the intervals and gates err as often as they say: a seeded simulation beside two references.

Per-query differences lie in {-1, -.5, 0, .5, 1}, for 50, 100 and 300 queries. The first reference are the published
figures of an independent simulation of the percentile method, good to one point: how often the interval covers the
mean, how often it excludes 0 and the sign-flip test says p <= .05 where nothing changed in truth. The second is the
plain recipe (indices drawn one by one, `numpy.quantile`) on the same data sets, because the published simulation does
not say how its sparse differences were distributed. A rate that is worse than either by more than a point ends the
program with 1. Of the guard the effect is shown beside the published one, and it must keep wrong passes near 5 %.
Data sets in which no query changed pass by rule, whatever the guard: they are counted apart.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.statistics.paired_comparison import (
    TOLERANCE,
    bootstrap_interval,
    guarded_bounds,
    sign_flip_p,
)

VALUES = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
SIZES = (50, 100, 300)
MARGIN = 0.02
RESAMPLES = 2_000
DATA_SETS = 4_000
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
SPARSE = Setting("5.5 % changed, mean -.02", (0.0225, 0.0175, 0.0075, 0.0075))
NULL = Setting("5.5 % changed, mean 0", (0.01375, 0.01375, 0.01375, 0.01375))


class Trial(Struct, frozen=True):
    """What one data set showed, as 0 or 1; `recipe_…` by the plain recipe."""

    covered: bool
    recipe_covered: bool
    excludes_zero: bool
    recipe_excludes_zero: bool
    significant: bool
    passes: bool
    recipe_passes: bool
    passes_guarded: bool
    unchanged: bool


def recipe(differences: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Quantiles .025, .05, .95 and .975 of the means of resamples, with nothing clever about them."""
    n = differences.size
    means = differences[generator.integers(0, n, size=(RESAMPLES, n))].mean(axis=1)
    return np.quantile(means, (0.025, 0.05, 0.95, 0.975))


def trial(differences: NDArray[np.float64], mean: float, seed: int, generator: np.random.Generator) -> Trial:
    interval = bootstrap_interval(differences, resamples=RESAMPLES, seed=seed)
    plain = bootstrap_interval(differences, level=0.90, resamples=RESAMPLES, seed=seed)
    guarded = guarded_bounds(differences, resamples=RESAMPLES, seed=seed)
    lowest, low, _, highest = recipe(differences, generator)
    changed = bool(differences.any())
    return Trial(
        covered=interval.low - TOLERANCE <= mean <= interval.high + TOLERANCE,
        recipe_covered=lowest - TOLERANCE <= mean <= highest + TOLERANCE,
        excludes_zero=interval.low > TOLERANCE or interval.high < -TOLERANCE,
        recipe_excludes_zero=lowest > TOLERANCE or highest < -TOLERANCE,
        significant=sign_flip_p(differences, resamples=RESAMPLES, seed=seed) <= 0.05,
        passes=plain.low > -MARGIN + TOLERANCE,
        recipe_passes=low > -MARGIN + TOLERANCE,
        passes_guarded=changed and guarded.low > -MARGIN + TOLERANCE,
        unchanged=not changed,
    )


class Figure(Struct, frozen=True):
    """A rate, what the references have for it, and which side of them is the good one.

    Attributes:
        published: for n = 50, 100, 300; none where the published setting is not known well enough to be held to.
        recipe: the same rate by the plain recipe.
        shown: published figures that are printed, and not held to.
        most: what the rate may be in itself.
    """

    setting: Setting
    name: str
    of: Callable[[Trial], bool]
    published: tuple[float, ...] = ()
    recipe: Callable[[Trial], bool] | None = None
    good: Literal["more", "less"] = "less"
    shown: tuple[float, ...] = ()
    most: float = 1.0


def covered(setting: Setting, *published: float) -> Figure:
    return Figure(
        setting,
        "95 % interval covers the mean",
        lambda t: t.covered,
        published,
        recipe=lambda t: t.recipe_covered,
        good="more",
    )


def passes(setting: Setting, name: str, *shown: float) -> Figure:
    return Figure(setting, name, lambda t: t.passes, recipe=lambda t: t.recipe_passes, shown=shown)


def passes_guarded(setting: Setting, name: str, *shown: float, most: float = 1.0) -> Figure:
    return Figure(setting, name, lambda t: t.passes_guarded, shown=shown, most=most)


FIGURES = (
    covered(DENSE, 0.944, 0.946, 0.951),
    covered(SPARSE, 0.867, 0.920, 0.949),
    covered(NULL, 0.968, 0.942, 0.949),
    Figure(
        NULL,
        "interval excludes 0 by mistake",
        lambda t: t.excludes_zero,
        (0.032, 0.058, 0.051),
        recipe=lambda t: t.recipe_excludes_zero,
    ),
    Figure(NULL, "sign-flip p <= .05 by mistake", lambda t: t.significant, (0.004, 0.013, 0.036)),
    passes(DENSE, "passes wrongly, no guard", 0.052, 0.054, 0.052),
    passes_guarded(DENSE, "passes wrongly, guarded", most=0.06),
    passes(SPARSE, "passes wrongly, no guard", 0.131, 0.102, 0.066),
    passes_guarded(SPARSE, "passes wrongly, guarded", 0.001, 0.031, 0.046, most=0.06),
    passes(NULL, "passes rightly, no guard", 0.28, 0.33, 0.62),
    passes_guarded(NULL, "passes rightly, guarded", 0.08, 0.24, 0.62),
    Figure(SPARSE, "no query changed", lambda t: t.unchanged),
)


def simulate(setting: Setting, n: int, data_sets: int) -> list[Trial]:
    generator = np.random.default_rng((17, n, round(setting.mean * 1000) % 1000))
    draws = np.random.default_rng((18, n))
    return [
        trial(setting.draw(n, generator), setting.mean, number % SEEDS, draws) for number in range(data_sets)
    ]


def worse(figure: Figure, trials: Sequence[Trial], place: int) -> bool:
    """Whether a rate is worse than what it is held to, by more than a point."""
    held = [figure.published[place]] if figure.published else []
    if figure.recipe:
        held.append(share(figure.recipe, trials))
    rate = share(figure.of, trials)
    if figure.good == "more":
        return any(rate < other - POINT for other in held)
    return rate > figure.most or any(rate > other + POINT for other in held)


def share(of: Callable[[Trial], bool], trials: Sequence[Trial]) -> float:
    return sum(map(of, trials)) / len(trials)


def told(figure: Figure, trials: Sequence[Trial], place: int) -> str:
    """The rate, in brackets the published one and the plain recipe's."""
    published = (figure.published or figure.shown)[place : place + 1]
    others = [*(f"{value:.3f}" for value in published)]
    others += [f"recipe {share(figure.recipe, trials):.3f}"] if figure.recipe else []
    mark = " WORSE" if worse(figure, trials, place) else ""
    return f"{share(figure.of, trials):.3f}" + (f" ({', '.join(others)})" if others else "") + mark


def main() -> None:
    """Print each rate beside its references; end with 1 when one is worse."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_DATA_SETS} data sets instead of {DATA_SETS:,}"
    )
    data_sets = QUICK_DATA_SETS if parser.parse_args().quick else DATA_SETS
    trials = {
        (setting.name, n): simulate(setting, n, data_sets) for setting in (DENSE, SPARSE, NULL) for n in SIZES
    }
    sizes = ", ".join(map(str, SIZES))
    print(f"{data_sets:,} data sets, {RESAMPLES:,} resamples; rate (published, recipe) for n = {sizes}")
    broken = False
    for figure in FIGURES:
        own = [trials[figure.setting.name, n] for n in SIZES]
        cells = [told(figure, part, place) for place, part in enumerate(own)]
        broken |= any(worse(figure, part, place) for place, part in enumerate(own))
        print(
            f"{figure.setting.name:25} {figure.name:31} " + "  ".join(f"{cell:32}" for cell in cells).rstrip()
        )
    sys.exit(broken)


if __name__ == "__main__":
    main()
