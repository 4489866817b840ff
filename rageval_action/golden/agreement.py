"""How far two annotators agree, beyond what chance would give."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

Level: TypeAlias = Literal["nominal", "ordinal"]


class Agreement(Struct, frozen=True, kw_only=True):
    """Agreement of two annotators over the units that both coded.

    Attributes:
        n: units that both coded.
        observed: share of units with the same code, in [0, 1].
        kappa: Cohen's kappa, nominal; NaN when both used one and the same code throughout, or n is 0.
        alpha: Krippendorff's alpha at the level stated; NaN as kappa.
    """

    n: int
    observed: float
    kappa: float
    alpha: float
    level: Level


def agreement(pairs: Sequence[tuple[Hashable, Hashable]], level: Level = "nominal") -> Agreement:
    """Agreement over pairs of codes, one pair a unit. Ordinal codes are numbers."""
    n = len(pairs)
    same = sum(left == right for left, right in pairs)
    return Agreement(
        n=n,
        observed=same / n if n else float("nan"),
        kappa=cohen_kappa(pairs),
        alpha=krippendorff_alpha([list(pair) for pair in pairs], level),
        level=level,
    )


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float:
    """Cohen's kappa (1960): (p_o - p_e) / (1 - p_e), p_e from each annotator's own shares of codes."""
    n = len(pairs)
    if n == 0:
        return float("nan")
    left, right = Counter(pair[0] for pair in pairs), Counter(pair[1] for pair in pairs)
    observed = sum(one == other for one, other in pairs) / n
    expected = sum(left[code] * right[code] for code in left) / (n * n)
    return (observed - expected) / (1 - expected) if expected < 1 else float("nan")


def krippendorff_alpha(units: Sequence[Sequence[Hashable]], level: Level = "nominal") -> float:
    """Krippendorff's alpha (2011, "Computing Krippendorff's Alpha-Reliability"): 1 - D_o / D_e.

    Args:
        units: the codes that each unit got, from any number of annotators; units with fewer than two are left out.
        level: `nominal`, or `ordinal` for codes that are numbers on a scale.
    """
    pairable = [unit for unit in units if len(unit) > 1]
    coincidence: Counter[tuple[Hashable, Hashable]] = Counter()
    for unit in pairable:
        for at, one in enumerate(unit):
            for other in (*unit[:at], *unit[at + 1 :]):
                coincidence[one, other] += 1 / (len(unit) - 1)  # type: ignore[assignment]
    totals: Counter[Hashable] = Counter()
    for (one, _), weight in coincidence.items():
        totals[one] += weight
    n = sum(totals.values())
    difference = _differences(totals, level)
    observed = sum(weight * difference[pair] for pair, weight in coincidence.items())
    expected = sum(totals[one] * totals[other] * difference[one, other] for one in totals for other in totals)
    return 1 - (n - 1) * observed / expected if expected else float("nan")


def _differences(totals: Mapping[Hashable, float], level: Level) -> dict[tuple[Hashable, Hashable], float]:
    """Squared difference of two codes at the level of measurement."""
    codes = list(totals)
    if level == "nominal":
        return {(one, other): float(one != other) for one in codes for other in codes}
    ordered = sorted(codes)  # type: ignore[type-var]
    found: dict[tuple[Hashable, Hashable], float] = {}
    for i, one in enumerate(ordered):
        for j, other in enumerate(ordered):
            low, high = min(i, j), max(i, j)
            between = sum(totals[code] for code in ordered[low : high + 1])
            found[one, other] = (between - (totals[one] + totals[other]) / 2) ** 2
    return found
