"""The rules of a drop gate (`observed`, `significant`, `non-inferior`): what each decides about one row, and why.

All compare with a tolerance of 1e-9, so that sums of fractions trip no gate.
"""

from __future__ import annotations

from collections.abc import Callable

from rageval_action.core.comparing.measure_rows import MeasureRow
from rageval_action.core.judging.outcomes import Ground, State
from rageval_action.core.judging.policy import TOLERANCE, Rule

SIGNIFICANT = 0.05
"""Largest adjusted p, exclusive, by which a slice counts as changed."""


def _within(row: MeasureRow, allowed: float) -> bool:
    return row.baseline - row.candidate <= allowed + TOLERANCE


def observed(row: MeasureRow, allowed: float) -> tuple[State, Ground]:
    """Every drop of more than `allowed` fails."""
    return ("pass", "within") if _within(row, allowed) else ("fail", "exceeded")


def significant(row: MeasureRow, allowed: float) -> tuple[State, Ground]:
    """A larger drop fails when chance does not explain it: by the interval, in a slice by the adjusted p."""
    if _within(row, allowed):
        return "pass", "within"
    if row.small:
        return "inconclusive", "too-few"
    if row.slice is None:
        return ("fail", "interval") if row.ci[1] < -TOLERANCE else ("inconclusive", "chance")
    adjusted = 1.0 if row.p_adjusted is None else row.p_adjusted
    return ("fail", "adjusted-p") if adjusted < SIGNIFICANT else ("inconclusive", "chance")


def non_inferior(row: MeasureRow, allowed: float) -> tuple[State, Ground]:
    """Passes when the guarded bounds rule a larger drop out, fails when they rule it in."""
    if row.better == row.worse == 0:
        return "pass", "unchanged"
    if row.small:
        return "inconclusive", "too-few"
    low, high = row.bounds
    if low >= -allowed - TOLERANCE:
        return "pass", "ruled-out"
    return ("fail", "ruled-in") if high < -allowed - TOLERANCE else ("inconclusive", "open")


RULES: dict[Rule, Callable[[MeasureRow, float], tuple[State, Ground]]] = {
    "observed": observed,
    "significant": significant,
    "non-inferior": non_inferior,
}
