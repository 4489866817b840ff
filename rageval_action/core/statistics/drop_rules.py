"""Whether a measure dropped too far: one decision for each gate rule, from the scores of each query.

With d = baseline - candidate of a query, the drop is the mean of d over all queries. A query whose candidate score
is unknown lost nothing at best (it kept the baseline's score) and everything at worst (it scores 0). Each rule is
asked at both ends, and no score between them turns its `pass` into a `fail` or its `fail` into a `pass`.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.statistics.paired_comparison import SIGNIFICANT, TOLERANCE
from rageval_action.core.statistics.resampling import Floats

Rule: TypeAlias = Literal["clear", "observed", "significant", "non-inferior"]

DEFAULT_RULE: Rule = "clear"

CLEAR = 2.0
"""`clear` needs (Σd)² of at least this many times Σd²: the largest factor at which two losses alone are clear."""

CLEAR_ON_SLICE = 6.0
"""The same on a slice, where several are looked at."""

State: TypeAlias = Literal["pass", "fail", "inconclusive"]
Code: TypeAlias = Literal[
    "unchanged",
    "within",
    "more-than-allowed",
    "clear",
    "not-clear",
    "beyond-chance",
    "chance",
    "ruled-out",
    "ruled-in",
    "cannot-rule-out",
    "too-few",
    "unknown-decides",
    "reached",
    "below",
]
"""Why a decision fell.

unchanged: every query's score is known, and none changed.
within: the drop is at most what is allowed.
more-than-allowed: a larger drop, and rule `observed` asks no more.
clear, not-clear: a larger drop, with or without clearly more lost than gained.
beyond-chance, chance: a larger drop, with or without the interval below 0 and p < .05.
ruled-out, ruled-in, cannot-rule-out: what the guarded bounds say of a larger drop.
too-few: a slice of too few queries for this rule.
unknown-decides: the queries without a candidate score decide.
reached, below: a floor.
"""


class Drop(Struct, frozen=True, kw_only=True):
    """The scores of one measure over the queries of the baseline, each in [0, 1].

    Attributes:
        known_before, known_after: of the queries whose score is known on both sides, shape (n,), in one order.
        unknown_before: the baseline's scores of the queries whose candidate score is unknown, shape (u,).
    """

    known_before: Floats
    known_after: Floats
    unknown_before: Floats


class Decision(Struct, frozen=True, kw_only=True):
    """What a rule says, why, and the numbers that a sentence about it needs.

    Attributes:
        at_best, at_worst: of a drop rule the mean drop over all n + unknown queries, of a floor the mean score, with
            the unknown at the baseline's score and at 0. They are equal where nothing is unknown.
        n: queries whose score is known. unknown: those whose score is not.
        better, worse: of the known queries, those that gained and lost (1e-9 is no difference); 0 for a floor, which
            compares nothing.
    """

    state: State
    code: Code
    at_best: float
    at_worst: float
    n: int
    unknown: int
    better: int = 0
    worse: int = 0

    @property
    def changed(self) -> int:
        """Known queries whose score changed."""
        return self.better + self.worse


class _Case(Struct, frozen=True, kw_only=True):
    """Everything a rule looks at, once the unknown scores are set to one end.

    Attributes:
        total: Σd. squares: Σd². n: all queries.
        lower, upper: guarded bounds of the mean difference, candidate - baseline.
        factor: what `clear` asks for.
        beyond_chance: the interval of the known queries lies below 0, and p < .05.
        small: a slice of too few queries for rules that use intervals.
    """

    total: float
    squares: float
    n: int
    lower: float
    upper: float
    factor: float
    beyond_chance: bool
    small: bool


def decide(
    rule: Rule,
    drop: Drop,
    allowed: float,
    *,
    is_slice: bool,
    ci: tuple[float, float],
    p: float,
    p_adjusted: float | None,
    bounds: tuple[float, float],
    small: bool,
) -> Decision:
    """Judge a drop by one rule. Where no query's score changed, every rule passes.

    Args:
        rule: see `clear`, `observed`, `significant` and `non-inferior` in docs/gates.md.
        drop: the scores.
        allowed: the largest mean drop that passes, in [0, 1].
        is_slice: part of the queries: `clear` asks for more, and `significant` for `p_adjusted`.
        ci: 95 % interval of candidate - baseline over the known queries.
        p: of the sign-flip test over the known queries.
        p_adjusted: by Holm, for a slice; None counts as 1.
        bounds: guarded one-sided 95 % bounds of candidate - baseline over the known queries.
        small: a slice of fewer than 20 queries.

    Raises:
        ValueError: there is no query, or the known scores differ in shape.
    """
    if drop.known_before.shape != drop.known_after.shape:
        raise ValueError(
            f"known scores must pair up: shapes {drop.known_before.shape}, {drop.known_after.shape}"
        )
    fallen = _differences(drop)
    _need(fallen.size + drop.unknown_before.size)
    chance = p_adjusted if is_slice else p
    beyond = chance is not None and chance < SIGNIFICANT - TOLERANCE and ci[1] < -TOLERANCE
    factor = CLEAR_ON_SLICE if is_slice else CLEAR
    ends = [
        _case(fallen, lost, bounds, factor=factor, beyond_chance=beyond, small=small)
        for lost in (np.zeros(drop.unknown_before.size), drop.unknown_before)
    ]
    state, code = _either_way(*(_at_one_end(rule, end, allowed) for end in ends))
    if state == "pass" and not fallen.any() and not drop.unknown_before.size:
        code = "unchanged"
    return Decision(
        state=state,
        code=code,
        at_best=ends[0].total / ends[0].n,
        at_worst=ends[1].total / ends[1].n,
        n=fallen.size,
        unknown=drop.unknown_before.size,
        better=int(np.count_nonzero(fallen < 0)),
        worse=int(np.count_nonzero(fallen > 0)),
    )


def decide_floor(known_after: Floats, unknown_before: Floats, minimum: float) -> Decision:
    """Whether the mean score reaches a minimum.

    Args:
        known_after: the candidate's known scores, shape (n,).
        unknown_before: the baseline's scores of queries whose candidate score is unknown, shape (u,).
        minimum: in [0, 1].

    Raises:
        ValueError: there is no query.
    """
    n = known_after.size + unknown_before.size
    _need(n)
    at_worst = math.fsum(known_after) / n
    at_best = math.fsum((*known_after, *unknown_before)) / n
    state, code = _either_way(*(_floor(mean, minimum) for mean in (at_best, at_worst)))
    return Decision(
        state=state,
        code=code,
        at_best=at_best,
        at_worst=at_worst,
        n=known_after.size,
        unknown=unknown_before.size,
    )


Flags: TypeAlias = bool | NDArray[np.bool_]


def above(total: float | Floats, n: int, allowed: float) -> Flags:
    """Whether the mean drop Σd / n is larger than allowed; arrays of Σd, shape (m,), are judged one by one."""
    return total / n > allowed + TOLERANCE


def is_clear(total: float | Floats, squares: float | Floats, factor: float) -> Flags:
    """Whether a Σd above 0 has (Σd)² >= factor·Σd²; arrays of shape (m,) are judged one by one.

    It is compared as Σd >= √(factor·Σd²): the tolerance is small beside a score, and would be large beside its square.
    """
    return total >= np.sqrt(factor * squares) - TOLERANCE


_Said: TypeAlias = tuple[State, Code]


def _need(n: int) -> None:
    if not n:
        raise ValueError("a gate needs at least one query")


def _differences(drop: Drop) -> Floats:
    """The d of each known query; what is within the tolerance is 0."""
    fallen = drop.known_before - drop.known_after
    return np.where(np.abs(fallen) > TOLERANCE, fallen, 0.0)


def _case(
    fallen: Floats,
    lost: Floats,
    bounds: tuple[float, float],
    *,
    factor: float,
    beyond_chance: bool,
    small: bool,
) -> _Case:
    """The known queries and `lost` by the unknown; the bounds are moved by it, over all queries."""
    n, missing = fallen.size + lost.size, math.fsum(lost)
    lower, upper = ((fallen.size * bound - missing) / n for bound in bounds)
    if not fallen.any():  # the guard is for samples in which something changed
        lower = upper = -missing / n
        small = small and missing > TOLERANCE
    return _Case(
        total=math.fsum((*fallen, *lost)),
        squares=math.fsum((*fallen**2, *lost**2)),
        n=n,
        lower=lower,
        upper=upper,
        factor=factor,
        beyond_chance=beyond_chance,
        small=small,
    )


def _at_one_end(rule: Rule, case: _Case, allowed: float) -> _Said:
    if rule == "non-inferior":
        return _non_inferior(case, allowed)
    if not above(case.total, case.n, allowed):
        return "pass", "within"
    if rule == "observed":
        return "fail", "more-than-allowed"
    if rule == "clear":
        clear = is_clear(case.total, case.squares, case.factor)
        return ("fail", "clear") if clear else ("inconclusive", "not-clear")
    if case.small:
        return "inconclusive", "too-few"
    return ("fail", "beyond-chance") if case.beyond_chance else ("inconclusive", "chance")


def _non_inferior(case: _Case, allowed: float) -> _Said:
    if case.small:
        return "inconclusive", "too-few"
    if case.lower >= -allowed - TOLERANCE:
        return "pass", "ruled-out"
    if case.upper < -allowed - TOLERANCE:
        return "fail", "ruled-in"
    return "inconclusive", "cannot-rule-out"


def _floor(mean: float, minimum: float) -> _Said:
    return ("pass", "reached") if mean >= minimum - TOLERANCE else ("fail", "below")


def _either_way(best: _Said, worst: _Said) -> _Said:
    """What holds whatever the unknown scores are: the same at both ends (so is a pass at worst), or a fail at best."""
    if best == worst or best[0] == "fail":
        return best
    return "inconclusive", "unknown-decides"
