"""What one gate says about a comparison: the rules of design §8, each with its reason in words."""

from __future__ import annotations

import datetime
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from rageval_action.core.comparing.comparison import Comparison, LabelsUnchanged
from rageval_action.core.comparing.measure_rows import MeasureRow, View
from rageval_action.core.judging.policy import (
    DropGate,
    FloorGate,
    Gate,
    KeepGate,
    LatencyGate,
    Policy,
    Waiver,
)
from rageval_action.core.model.record import Record
from rageval_action.core.wording import numbers
from rageval_action.core.wording.lists import listed, plural

TOLERANCE = 1e-9
SIGNIFICANT = 0.05
SAME_JOB = datetime.timedelta(hours=1)
"""Two records of one machine within this time count as timed in the same job."""

Word: TypeAlias = Literal["fail", "cannot_measure", "inconclusive", "no_baseline", "pass"]
State: TypeAlias = Literal["fail", "cannot_measure", "inconclusive", "no_baseline", "pass", "informs"]

PRECEDENCE: tuple[Word, ...] = ("fail", "cannot_measure", "inconclusive", "no_baseline", "pass")
"""Worst first: the first that applies is the verdict."""


class NoBaseline(Struct, frozen=True):
    """There is nothing to compare with, and that is certain."""

    reason: str


class BaselineUnknown(Struct, frozen=True):
    """Whether there is a baseline could not be found out (an outage): never the same as having none."""

    reason: str


Against: TypeAlias = Comparison | NoBaseline | BaselineUnknown


class Outcome(Struct, frozen=True, kw_only=True):
    """What one gate says. `informs` never decides.

    Attributes:
        waiver: the exception that made the difference, if any. exceeded: one in force that was not enough.
    """

    gate: Gate
    state: State
    code: str
    text: str
    waiver: Waiver | None = None
    exceeded: Waiver | None = None


def outcome(gate: Gate, policy: Policy, record: Record, against: Against, today: datetime.date) -> Outcome:
    """Judge one gate; a floor needs no baseline, every other gate says so when there is none."""
    if isinstance(against, Comparison):
        return _compared(gate, policy, against, today)
    if isinstance(gate, FloorGate):
        return _floor(gate, record)
    if isinstance(against, BaselineUnknown):
        return Outcome(gate=gate, state="cannot_measure", code="baseline-unknown", text=against.reason)
    return Outcome(gate=gate, state="no_baseline", code="no-baseline", text=against.reason)


def _compared(gate: Gate, policy: Policy, against: Comparison, today: datetime.date) -> Outcome:
    if isinstance(gate, LatencyGate):
        return _latency(gate, against)
    if against.turned_over:
        what = "hold other texts now" if against.turnover.in_place else "are no longer in the index"
        text = f"the ids that the labels name {what}: re-chunked, not worse"
        return Outcome(gate=gate, state="cannot_measure", code="corpus.turned-over", text=text)
    if isinstance(gate, FloorGate):
        return _floor_either_way(gate, against)
    now = _under(gate, policy, against, against.view, today)
    if isinstance(against.old_view, LabelsUnchanged):
        return now
    return _worse(now, _under(gate, policy, against, against.old_view, today))


def _under(
    gate: DropGate | KeepGate, policy: Policy, comparison: Comparison, view: View, today: datetime.date
) -> Outcome:
    """The gate under one set of labels."""
    if isinstance(gate, KeepGate):
        return _keep(gate, comparison, view)
    return _drop(gate, policy, view, today)


def _worse(now: Outcome, then: Outcome) -> Outcome:
    """The worse of the outcomes under the new labels and under the old ones; where they differ, the labels decide."""
    if now.state == then.state:
        return now
    worst = min(now, then, key=lambda found: PRECEDENCE.index(found.state))
    text = f"the labels decide: under the new ones {now.text}; under the old ones {then.text}"
    return Outcome(gate=now.gate, state=worst.state, code="labels-decide", text=text, waiver=worst.waiver)


def _place(gate: DropGate | FloorGate) -> str:
    return f"{gate.measure} of {gate.slice}" if gate.slice else gate.measure


# --- a drop ---------------------------------------------------------------------------------------------------------


def _drop(gate: DropGate, policy: Policy, view: View, today: datetime.date) -> Outcome:
    row = view.row(gate.measure, gate.slice)
    if row is None:
        text = f"{_place(gate)}: no query in both runs"
        return Outcome(gate=gate, state="cannot_measure", code="empty-slice", text=text)
    allowed, used, exceeded = gate.max_drop, None, None
    state, why = _judged(row, gate, allowed)
    waiver = waiver_for(gate, policy, today)
    if state != "pass" and waiver is not None and waiver.max_drop > gate.max_drop:
        eased, because = _judged(row, gate, waiver.max_drop)
        if eased != state:
            allowed, used, state, why = waiver.max_drop, waiver, eased, because
        else:
            exceeded = waiver
    text = f"{_place(gate)} {_moved(row)} ({numbers.points(allowed)} allowed, {gate.rule}): {why}"
    if used:
        text += f"; waived until {used.until} by {used.owner}: {used.reason}"
    if exceeded:
        text += f"; {told_exceeded(exceeded)}"
    return Outcome(gate=gate, state=state, code="drop", text=text, waiver=used, exceeded=exceeded)


def told_exceeded(waiver: Waiver) -> str:
    """A waiver that was not enough, in words."""
    allowed = numbers.points(waiver.max_drop)
    return f"a waiver of {allowed} until {waiver.until} by {waiver.owner} is in force and exceeded"


def waiver_for(gate: DropGate, policy: Policy, today: datetime.date) -> Waiver | None:
    """The widest waiver of this measure and slice that has not run out; its last day counts."""
    live = [waiver for waiver in policy.waivers if waiver.covers(gate) and today <= waiver.until]
    return max(live, key=lambda waiver: waiver.max_drop, default=None)


def _moved(row: MeasureRow) -> str:
    if abs(row.delta) <= TOLERANCE:
        return "did not change"
    return f"{'rose' if row.delta > 0 else 'dropped'} by {numbers.points(abs(row.delta))}"


def _judged(row: MeasureRow, gate: DropGate, allowed: float) -> tuple[State, str]:
    return _RULES[gate.rule](row, allowed)


def _within(row: MeasureRow, allowed: float) -> bool:
    return row.baseline - row.candidate <= allowed + TOLERANCE


def _observed(row: MeasureRow, allowed: float) -> tuple[State, str]:
    return ("pass", "within what is allowed") if _within(row, allowed) else ("fail", "more than allowed")


def _significant(row: MeasureRow, allowed: float) -> tuple[State, str]:
    if _within(row, allowed):
        return "pass", "within what is allowed"
    if row.small:
        return "inconclusive", f"{plural(row.n, 'query is', 'queries are')} too few to tell"
    if row.slice is None:
        why = f"the interval, which decides, excludes no change (p = {row.p:.3g})"
        return ("fail", why) if row.ci[1] < -TOLERANCE else _UNTOLD
    adjusted = 1.0 if row.p_adjusted is None else row.p_adjusted
    return ("fail", f"adjusted p = {adjusted:.3g}") if adjusted < SIGNIFICANT else _UNTOLD


_UNTOLD: tuple[State, str] = ("inconclusive", "chance could explain it")


def _non_inferior(row: MeasureRow, allowed: float) -> tuple[State, str]:
    if row.better == row.worse == 0:
        return "pass", "no query changed"
    if row.small:
        return "inconclusive", f"{plural(row.n, 'query is', 'queries are')} too few to tell"
    low, high = row.bounds
    if low >= -allowed - TOLERANCE:
        return "pass", "a larger drop is ruled out"
    if high < -allowed - TOLERANCE:
        return "fail", "a larger drop is ruled in"
    moved = f"{row.better + row.worse} of {plural(row.n, 'query', 'queries')} changed"
    span = f"{numbers.delta(100 * low, 1)} to {numbers.delta(100 * high, 1)} points"
    return "inconclusive", f"with {moved}, nothing from {span} can be ruled out"


_RULES = {"observed": _observed, "significant": _significant, "non-inferior": _non_inferior}


# --- a floor --------------------------------------------------------------------------------------------------------


def _floor(gate: FloorGate, record: Record) -> Outcome:
    measures = record.measures
    if gate.slice:
        measures = record.slices[gate.slice].measures if gate.slice in record.slices else {}
    value = measures[gate.measure].mean if gate.measure in measures else None
    if value is None:
        text = f"{_place(gate)}: no query"
        return Outcome(gate=gate, state="cannot_measure", code="empty-slice", text=text)
    holds = _reaches(value, gate)
    # As many decimals as show on which side of the floor it is.
    digits = next((n for n in range(3, 9) if _reaches(numbers.rounded(value, n), gate) == holds), 9)
    shown = numbers.fixed(value, digits)
    text = f"{_place(gate)} is {shown}, {'at least' if holds else 'below'} the {gate.min:g} needed"
    return Outcome(gate=gate, state="pass" if holds else "fail", code="floor", text=text)


def _floor_either_way(gate: FloorGate, against: Comparison) -> Outcome:
    """The floor over all of the candidate's queries; one that only the new labels lift over it does not hold."""
    now = _floor(gate, against.candidate.record)
    if isinstance(against.old_view, LabelsUnchanged):
        return now
    new, old = against.view.row(gate.measure, gate.slice), against.old_view.row(gate.measure, gate.slice)
    lifted = new is None or _reaches(new.candidate, gate)
    if now.state == "fail" or old is None or _reaches(old.candidate, gate) or not lifted:
        return now
    text = f"the labels decide: {now.text}; under the old ones it is {numbers.fixed(old.candidate)}"
    return Outcome(gate=gate, state="fail", code="labels-decide", text=text)


def _reaches(value: float, gate: FloorGate) -> bool:
    return value >= gate.min - TOLERANCE


# --- queries that may not be lost -----------------------------------------------------------------------------------


def _named(ids: list[str]) -> str:
    """`query 8`, `queries 8, 9`: an id may be a bare number."""
    return f"{'query' if len(ids) == 1 else 'queries'} {listed(ids)}"


def _keep(gate: KeepGate, comparison: Comparison, view: View) -> Outcome:
    old, new = view.scores[gate.measure]
    mine = np.array([gate.tag in tags for tags in view.tags], dtype=bool)
    lost = [view.ids[at] for at in np.flatnonzero(mine & (new < old - TOLERANCE))]
    unpaired = {*comparison.pairing.removed, *comparison.pairing.changed}
    gone = [
        row.query_id
        for row in comparison.baseline.queries
        if gate.tag in row.tags and row.query_id in unpaired
    ]
    name = f"tag:{gate.tag}"
    if lost:
        text = f"{gate.measure} got worse for {_named(lost)} of {name}, none may"
        return Outcome(gate=gate, state="fail", code="must-not-lose", text=text)
    if gone:
        text = f"{_named(gone)} of {name} cannot be compared: removed from the golden set or reworded"
        return Outcome(gate=gate, state="inconclusive", code="must-not-lose-gone", text=text)
    if not mine.any():
        text = f"{gate.measure} of {name}: no query in both runs"
        return Outcome(gate=gate, state="cannot_measure", code="empty-slice", text=text)
    text = f"{gate.measure} got worse for none of the {plural(int(mine.sum()), 'query', 'queries')} of {name}"
    return Outcome(gate=gate, state="pass", code="must-not-lose", text=text)


# --- latency --------------------------------------------------------------------------------------------------------


def _latency(gate: LatencyGate, comparison: Comparison) -> Outcome:
    before, after = comparison.baseline.record, comparison.candidate.record
    name = f"{gate.stage} {gate.quantile}"
    if gate.stage not in before.latency_ms or gate.stage not in after.latency_ms:
        text = f"{name} was not timed on both sides"
        return Outcome(gate=gate, state="informs", code="latency-absent", text=text)
    if not timed_together(before, after):
        text = f"{name} is not judged: the baseline was timed on another machine or at another time"
        return Outcome(gate=gate, state="informs", code="latency-not-comparable", text=text)
    old, new = (getattr(side.latency_ms[gate.stage], gate.quantile) for side in (before, after))
    text = f"{name} is {numbers.fixed(new, 1)} ms against {numbers.fixed(old, 1)} ms"
    if gate.quantile == "p95":
        text += "; p95 informs, it is not gated"
        return Outcome(gate=gate, state="informs", code="latency", text=text)
    slower = new > old * gate.max_ratio + TOLERANCE and new - old > gate.floor_ms + TOLERANCE
    text += f"; {gate.max_ratio:g} times, or {gate.floor_ms:g} ms more, allowed"
    return Outcome(gate=gate, state="fail" if slower else "pass", code="latency", text=text)


def timed_together(before: Record, after: Record) -> bool:
    """True when two records were timed on one machine within an hour: only then may their latencies be compared."""
    if not before.hardware or before.hardware != after.hardware:
        return False
    return abs(after.created_at - before.created_at) <= SAME_JOB
