"""What the order in which results are listed says about their scores: does a larger one mean a better result?"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Trend: TypeAlias = Literal["falling", "rising", "mixed", "level"]
"""How scores run from the first result to the last; `level` when all are equal, or there is only one."""

Basis: TypeAlias = Literal["list", "rank"]
"""Where the order is from: the places in the list, or ranks written beside the results."""


def trend(scores: Sequence[float], ranks: Sequence[float] | None = None) -> tuple[Trend, Basis]:
    """How `scores` run, best result first, and where that order is from.

    Args:
        scores: in the order listed; finite.
        ranks: parallel to `scores`, the best rank smallest. They decide where they differ; equal ranks say nothing.
    """
    basis: Basis = "list"
    if ranks is not None and len(set(ranks)) > 1:
        basis = "rank"
        best_first = sorted(range(len(scores)), key=lambda at: (ranks[at], -scores[at]))
        scores = [scores[at] for at in best_first]
    steps = list(pairwise(scores))
    falls, rises = any(one > other for one, other in steps), any(one < other for one, other in steps)
    if rises:
        return ("mixed" if falls else "rising"), basis
    return ("falling" if falls else "level"), basis


class Trends:
    """Counts the trends of a run's queries; those that are level decide nothing."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Trend, Basis]] = Counter()

    def add(self, found: tuple[Trend, Basis]) -> None:
        """Count one query."""
        self._counts[found] += 1

    @property
    def decided(self) -> int:
        """Queries whose results have scores that differ."""
        return sum(count for (one, _), count in self._counts.items() if one != "level")

    def count(self, *wanted: Trend) -> int:
        """Queries with one of these trends."""
        return sum(count for (one, _), count in self._counts.items() if one in wanted)

    @property
    def basis(self) -> Basis:
        """Where most of the orders are from."""
        ranked = sum(count for (one, basis), count in self._counts.items() if basis == "rank")
        return "rank" if 2 * ranked > sum(self._counts.values()) else "list"
