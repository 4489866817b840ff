"""What each kind of gate (drop, floor, kept queries, latency) finds under the base's exam and under the head's."""

from __future__ import annotations

import datetime

import numpy as np
from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison
from rageval_action.core.comparing.exams import ExamName
from rageval_action.core.comparing.measure_rows import MeasureRow, MeasureTable
from rageval_action.core.judging.outcomes import (
    PRECEDENCE,
    Against,
    BaselineLost,
    BaselineUnknown,
    DropFinding,
    FloorFinding,
    KeepFinding,
    LatencyFinding,
    NoQueries,
    Outcome,
    reaches,
)
from rageval_action.core.judging.policy import (
    TOLERANCE,
    DropGate,
    FloorGate,
    Gate,
    KeepGate,
    LatencyGate,
    Policy,
    Waiver,
)
from rageval_action.core.measuring.scoring import mean
from rageval_action.core.model.record import Record
from rageval_action.core.statistics.drop_rules import Drop, decide, decide_floor

SAME_JOB = datetime.timedelta(hours=1)
"""Two records of one machine within this time count as timed in the same job."""

ANYTHING = (-1.0, 1.0)
"""Every difference that scores can have."""


def outcome(gate: Gate, policy: Policy, record: Record, against: Against, today: datetime.date) -> Outcome:
    """Judge one gate; a floor needs no baseline, every other gate says so when there is none."""
    if isinstance(against, Comparison):
        return _compared(gate, policy, against, today)
    if isinstance(gate, FloorGate):
        return _floor(gate, record)
    if isinstance(against, BaselineUnknown):
        return Outcome(gate=gate, state="cannot_measure", code="baseline-unknown", finding=against)
    if isinstance(against, BaselineLost):
        return Outcome(gate=gate, state="inconclusive", code="baseline-lost", finding=against)
    return Outcome(gate=gate, state="no_baseline", code="no-baseline", finding=against)


def _compared(gate: Gate, policy: Policy, against: Comparison, today: datetime.date) -> Outcome:
    if isinstance(gate, LatencyGate):
        return _latency(gate, against)
    tables = [table for table in (against.base, against.head) if isinstance(table, MeasureTable)]
    found = {table.exam: _under(gate, policy, table, today) for table in tables}
    known = {exam: one for exam, one in found.items() if not isinstance(one.finding, NoQueries)}
    if len(known) < 2 or len(tables) < 2:
        exam, one = next(iter((known or found).items()))
        return one if len(tables) < 2 else replace(one, exam=exam)
    return _of_both(gate, known["base"], known["head"])


def _of_both(gate: Gate, base: Outcome, head: Outcome) -> Outcome:
    """The worse of the outcomes of both exams; on a tie the base's. A floor fails by the base's questions alone."""
    if isinstance(gate, FloorGate) and base.state != "fail" and head.state == "fail":
        head = replace(head, state="inconclusive", code="floor-new-questions")
    worst = min((base, head), key=lambda found: PRECEDENCE.index(found.state))
    exam: ExamName = "base" if worst is base else "head"
    other = head if worst is base else base
    return replace(worst, exam=exam, other=other.state if other.state != worst.state else None)


def _under(
    gate: DropGate | KeepGate | FloorGate,
    policy: Policy,
    table: MeasureTable,
    today: datetime.date,
) -> Outcome:
    """The gate under one exam."""
    match gate:
        case KeepGate():
            return _keep(gate, table)
        case FloorGate():
            return _exam_floor(gate, table)
        case _:
            return _drop(gate, policy, table, today)


def _no_queries(gate: Gate) -> Outcome:
    return Outcome(gate=gate, state="cannot_measure", code="empty-slice", finding=NoQueries())


def _drop(gate: DropGate, policy: Policy, table: MeasureTable, today: datetime.date) -> Outcome:
    drop = table.drop(gate.measure, gate.slice)
    if drop is None:
        return _no_queries(gate)
    row = table.row(gate.measure, gate.slice)
    found = _ruled(gate, drop, row, gate.max_drop)
    waiver = waiver_for(gate, policy, today)
    if found.state == "pass" or waiver is None or waiver.max_drop <= gate.max_drop:
        return found
    eased = _ruled(gate, drop, row, waiver.max_drop)
    if eased.state == found.state:
        return replace(found, short_waiver=waiver)
    return replace(eased, waiver=waiver)


def _ruled(gate: DropGate, drop: Drop, row: MeasureRow | None, allowed: float) -> Outcome:
    """One rule over one exam; without a known score there is no interval."""
    decided = decide(
        gate.rule,
        drop,
        allowed,
        is_slice=row.slice is not None if row else bool(gate.slice),
        ci=row.ci if row else ANYTHING,
        p=row.p if row else 1.0,
        p_adjusted=row.p_adjusted if row else None,
        bounds=row.bounds if row else ANYTHING,
        small=row.small if row else False,
    )
    finding = DropFinding(
        rule=gate.rule,
        ground=decided.code,
        delta=row.delta if row else 0.0,
        allowed=allowed,
        n=decided.n,
        better=decided.better,
        worse=decided.worse,
        bounds=row.bounds if row else ANYTHING,
        p=row.p if row else 1.0,
        p_adjusted=row.p_adjusted if row else None,
        unknown=decided.unknown,
        at_best=decided.at_best,
        at_worst=decided.at_worst,
    )
    return Outcome(gate=gate, state=decided.state, code="drop", finding=finding)


def waiver_for(gate: DropGate, policy: Policy, today: datetime.date) -> Waiver | None:
    """The widest waiver of this measure and slice that has not run out; its last day counts."""
    live = [waiver for waiver in policy.waivers if waiver.covers(gate) and today <= waiver.until]
    return max(live, key=lambda waiver: waiver.max_drop, default=None)


def _floor(gate: FloorGate, record: Record) -> Outcome:
    measures = record.measures
    if gate.slice:
        measures = record.slices[gate.slice].measures if gate.slice in record.slices else {}
    value = measures[gate.measure].mean if gate.measure in measures else None
    if value is None:
        return _no_queries(gate)
    finding = FloorFinding(value=value, floor=gate.min)
    return Outcome(
        gate=gate, state="pass" if reaches(value, gate.min) else "fail", code="floor", finding=finding
    )


def _exam_floor(gate: FloorGate, table: MeasureTable) -> Outcome:
    """The floor over all questions of an exam, with labels that follow their texts."""
    scores = table.floor(gate.measure, gate.slice)
    if scores is None:
        return _no_queries(gate)
    decided = decide_floor(scores.known, scores.unknown, gate.min)
    finding = FloorFinding(
        value=mean(scores.known) if scores.known.size else decided.at_worst,
        floor=gate.min,
        unknown=decided.unknown,
        at_best=decided.at_best,
        at_worst=decided.at_worst,
    )
    return Outcome(gate=gate, state=decided.state, code="floor", finding=finding)


def _keep(gate: KeepGate, table: MeasureTable) -> Outcome:
    old, new = table.scores[gate.measure]
    mine = np.array([gate.tag in tags for tags in table.tags], dtype=bool)
    unknown = np.array([bool(code) for code in table.unknown], dtype=bool)
    finding = KeepFinding(
        measure=gate.measure,
        tag=gate.tag,
        n=int(mine.sum()),
        lost=tuple(table.ids[at] for at in np.flatnonzero(mine & ~unknown & (new < old - TOLERANCE))),
        gone=tuple(table.ids[at] for at in np.flatnonzero(mine & unknown & (old > TOLERANCE))),
    )
    if finding.lost:
        return Outcome(gate=gate, state="fail", code="must-not-lose", finding=finding)
    if finding.gone:
        return Outcome(gate=gate, state="inconclusive", code="must-not-lose-gone", finding=finding)
    if not finding.n:
        return _no_queries(gate)
    return Outcome(gate=gate, state="pass", code="must-not-lose", finding=finding)


def _latency(gate: LatencyGate, comparison: Comparison) -> Outcome:
    before, after = comparison.baseline.record, comparison.candidate.record
    limits = LatencyFinding(max_ratio=gate.max_ratio, floor_ms=gate.floor_ms)
    if gate.stage not in before.latency_ms or gate.stage not in after.latency_ms:
        return Outcome(gate=gate, state="informs", code="latency-absent", finding=limits)
    old, new = (getattr(side.latency_ms[gate.stage], gate.quantile) for side in (before, after))
    finding = replace(limits, before=old, after=new)
    if not timed_together(before, after):
        return Outcome(gate=gate, state="informs", code="latency-not-comparable", finding=finding)
    if gate.quantile == "p95":
        return Outcome(gate=gate, state="informs", code="latency", finding=finding)
    slower = new > old * gate.max_ratio + TOLERANCE and new - old > gate.floor_ms + TOLERANCE
    return Outcome(gate=gate, state="fail" if slower else "pass", code="latency", finding=finding)


def timed_together(before: Record, after: Record) -> bool:
    """True when two records were timed on one machine within an hour: only then may their latencies be compared."""
    if not before.hardware or before.hardware != after.hardware:
        return False
    return abs(after.created_at - before.created_at) <= SAME_JOB
