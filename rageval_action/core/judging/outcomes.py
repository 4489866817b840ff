"""What a gate found, as data: its state, a stable code, and the numbers that its sentence is made from."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from rageval_action.core.comparing.comparison import Comparison
from rageval_action.core.judging.policy import TOLERANCE, Gate, Rule, Waiver

Word: TypeAlias = Literal["fail", "cannot_measure", "inconclusive", "no_baseline", "pass"]
State: TypeAlias = Literal["fail", "cannot_measure", "inconclusive", "no_baseline", "pass", "informs"]

PRECEDENCE: tuple[Word, ...] = ("fail", "cannot_measure", "inconclusive", "no_baseline", "pass")
"""Worst first: the first that applies is the verdict."""

Ground: TypeAlias = Literal[
    "within",
    "exceeded",
    "too-few",
    "interval",
    "adjusted-p",
    "chance",
    "unchanged",
    "ruled-out",
    "ruled-in",
    "open",
]
"""Why a rule decides as it does about a drop."""


class NoBaseline(Struct, frozen=True, tag_field="kind", tag="no-baseline"):
    """There is nothing to compare with, and that is certain."""

    reason: str


class BaselineUnknown(Struct, frozen=True, tag_field="kind", tag="baseline-unknown"):
    """Whether there is a baseline could not be found out (an outage): never the same as having none."""

    reason: str


class BaselineLost(Struct, frozen=True, tag_field="kind", tag="baseline-lost"):
    """The base has a golden set or a policy, but no baseline was found: `reason` says why, and the cure."""

    reason: str


Against: TypeAlias = Comparison | NoBaseline | BaselineUnknown | BaselineLost


class DropFinding(Struct, frozen=True, kw_only=True, tag_field="kind", tag="drop"):
    """How far a measure moved, and why the gate's rule decides as it does.

    Attributes:
        delta: candidate − baseline. allowed: the largest drop that passes, a waiver's where one made the difference.
        n: queries compared; better, worse: how many of them moved.
        bounds: guarded one-sided 95 % bounds of `delta`. p, p_adjusted: as in `MeasureRow`.
    """

    rule: Rule
    ground: Ground
    delta: float
    allowed: float
    n: int
    better: int
    worse: int
    bounds: tuple[float, float]
    p: float
    p_adjusted: float | None


class FloorFinding(Struct, frozen=True, kw_only=True, tag_field="kind", tag="floor"):
    """The measure's value and its floor.

    `under_old_labels` only where the old labels put it below; None as the value where the new ones leave no query.
    """

    value: float | None
    floor: float
    under_old_labels: float | None = None


def reaches(value: float, floor: float) -> bool:
    """True when `value` is at or above the floor."""
    return value >= floor - TOLERANCE


class KeepFinding(Struct, frozen=True, kw_only=True, tag_field="kind", tag="keep"):
    """Of `n` queries with the tag: ids that got worse (`lost`), and ids that can no longer be compared (`gone`)."""

    measure: str
    tag: str
    n: int
    lost: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class LatencyFinding(Struct, frozen=True, kw_only=True, tag_field="kind", tag="latency"):
    """The quantile in milliseconds on either side, None where it was not timed on both, and how much it may grow."""

    max_ratio: float
    floor_ms: float
    before: float | None = None
    after: float | None = None


class NoQueries(Struct, frozen=True, tag_field="kind", tag="no-queries"):
    """Nothing that the gate is about could be measured."""


class LabelsMoved(Struct, frozen=True, tag_field="kind", tag="labels-moved"):
    """The ids that the labels name are gone, or (`in_place`) hold other texts."""

    in_place: bool


class ByBothLabels(Struct, frozen=True, tag_field="kind", tag="by-both-labels"):
    """The new and the old labels lead to different states."""

    new: Outcome
    old: Outcome


class FailedQueries(Struct, frozen=True, kw_only=True, tag_field="kind", tag="failed-queries"):
    """More queries failed than the policy allows; `baseline`: on the baseline's side."""

    failed: int
    queries: int
    baseline: bool = False


class Leaks(Struct, frozen=True, tag_field="kind", tag="leaks"):
    """Hits that their query may not see."""

    hits: int


class NothingPaired(Struct, frozen=True, tag_field="kind", tag="nothing-paired"):
    """No answerable query has the same id and text on both sides."""


class GatesHold(Struct, frozen=True, kw_only=True, tag_field="kind", tag="gates-hold"):
    """`held` of `gates` pass and none decides otherwise; `gone`: ids of queries that were not compared."""

    held: int
    gates: int
    gone: tuple[str, ...] = ()


Finding: TypeAlias = (
    DropFinding
    | FloorFinding
    | KeepFinding
    | LatencyFinding
    | NoQueries
    | LabelsMoved
    | ByBothLabels
    | FailedQueries
    | NoBaseline
    | BaselineUnknown
    | BaselineLost
    | Leaks
    | NothingPaired
    | GatesHold
)


class Outcome(Struct, frozen=True, kw_only=True):
    """What one gate found, or what decides without a gate (`gate` is None). `informs` never decides.

    Attributes:
        waiver: the exception that made the difference, if any. short_waiver: one in force that was not enough.
        answered_only: judged over the queries that were answered, since too many failed.
    """

    gate: Gate | None
    state: State
    code: str
    finding: Finding
    waiver: Waiver | None = None
    short_waiver: Waiver | None = None
    answered_only: bool = False
