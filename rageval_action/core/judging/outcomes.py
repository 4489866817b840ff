"""What a gate found, as data: its state, a stable code, and the numbers that its sentence is made from."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from rageval_action.core.comparing.access_audit import ForbiddenHit
from rageval_action.core.comparing.comparison import Comparison
from rageval_action.core.comparing.exams import ExamName
from rageval_action.core.judging.policy import TOLERANCE, Gate, Waiver
from rageval_action.core.statistics.drop_rules import Code, Rule

Word: TypeAlias = Literal["fail", "cannot_measure", "inconclusive", "no_baseline", "pass"]
State: TypeAlias = Literal["fail", "cannot_measure", "inconclusive", "no_baseline", "pass", "informs"]

PRECEDENCE: tuple[Word, ...] = ("fail", "cannot_measure", "inconclusive", "no_baseline", "pass")
"""Worst first: the first that applies is the verdict."""


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
        ground: why the rule decides so (`core.statistics.drop_rules.Code`).
        delta: candidate − baseline. allowed: the largest drop that passes, a waiver's where one made the difference.
        n: queries compared; better, worse: how many of them moved. unknown: queries whose score is not known.
        at_best, at_worst: the mean drop with the unknown scores at the baseline's and at 0.
        bounds: guarded one-sided 95 % bounds of `delta`. p, p_adjusted: as in `MeasureRow`.
    """

    rule: Rule
    ground: Code
    delta: float
    allowed: float
    n: int
    better: int
    worse: int
    bounds: tuple[float, float]
    p: float
    p_adjusted: float | None
    unknown: int = 0
    at_best: float = 0.0
    at_worst: float = 0.0


class FloorFinding(Struct, frozen=True, kw_only=True, tag_field="kind", tag="floor"):
    """The measure's value and its floor.

    Attributes:
        value: over the known scores where some are unknown.
        unknown: queries whose score is not known.
        at_best, at_worst: the mean with these at the baseline's score, and at 0.
    """

    value: float
    floor: float
    unknown: int = 0
    at_best: float = 0.0
    at_worst: float = 0.0


def reaches(value: float, floor: float) -> bool:
    """True when `value` is at or above the floor."""
    return value >= floor - TOLERANCE


class KeepFinding(Struct, frozen=True, kw_only=True, tag_field="kind", tag="keep"):
    """Of `n` queries with the tag: ids that got worse (`lost`), and ids whose score is not known (`gone`)."""

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


class Withdrawn(Struct, frozen=True, kw_only=True, tag_field="kind", tag="withdrawn"):
    """Questions of the base that the pull request took away, of how many.

    Attributes:
        ids: removed, reworded, relabelled or given to another asker.
        named: those that a gate protects by a tag, and those whose protecting tag was taken off.
    """

    ids: tuple[str, ...]
    queries: int
    named: tuple[str, ...] = ()


class StaleLabels(Struct, frozen=True, kw_only=True, tag_field="kind", tag="stale-labels"):
    """Questions, of how many, whose labels name ids that the pull request replaced without changing the labels."""

    ids: tuple[str, ...]
    queries: int


class NotAsked(Struct, frozen=True, kw_only=True, tag_field="kind", tag="not-asked"):
    """Questions of the base that were not put to the candidate, of how many; `why`: code -> how many."""

    ids: tuple[str, ...]
    queries: int
    why: dict[str, int]


class CorpusShrunk(Struct, frozen=True, kw_only=True, tag_field="kind", tag="corpus-shrunk"):
    """How many of the base's documents the index still holds."""

    left: int
    documents: int


class NoExam(Struct, frozen=True, tag_field="kind", tag="no-exam"):
    """The baseline's record is of a version that kept no exam: its questions can be compared only in part."""


class FailedQueries(Struct, frozen=True, kw_only=True, tag_field="kind", tag="failed-queries"):
    """More queries failed than the policy allows; `baseline`: on the baseline's side."""

    failed: int
    queries: int
    baseline: bool = False


class Leaks(Struct, frozen=True, tag_field="kind", tag="leaks"):
    """Hits that their query may not see."""

    hits: int


class BaseLeaks(Struct, frozen=True, tag_field="kind", tag="base-leaks"):
    """Hits that only the base's lists or askers forbid."""

    hits: tuple[ForbiddenHit, ...]


class NothingPaired(Struct, frozen=True, tag_field="kind", tag="nothing-paired"):
    """The base has no answerable question."""


class GatesHold(Struct, frozen=True, kw_only=True, tag_field="kind", tag="gates-hold"):
    """`held` of `gates` pass and none decides otherwise."""

    held: int
    gates: int


Finding: TypeAlias = (
    DropFinding
    | FloorFinding
    | KeepFinding
    | LatencyFinding
    | NoQueries
    | Withdrawn
    | StaleLabels
    | NotAsked
    | CorpusShrunk
    | NoExam
    | BaseLeaks
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
        exam: the exam that decides; None where both are the same, or no exam is asked.
        other: what the gate found in the other exam, where that is another state.
    """

    gate: Gate | None
    state: State
    code: str
    finding: Finding
    waiver: Waiver | None = None
    short_waiver: Waiver | None = None
    answered_only: bool = False
    exam: ExamName | None = None
    other: State | None = None
