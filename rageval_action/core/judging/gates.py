"""What each kind of gate (drop, floor, kept queries, latency) finds, under the new and the old labels."""

from __future__ import annotations

import datetime

import numpy as np
from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison, LabelsUnchanged
from rageval_action.core.comparing.measure_rows import MeasureRow, MeasureTable
from rageval_action.core.judging.gate_rules import RULES
from rageval_action.core.judging.outcomes import (
    PRECEDENCE,
    Against,
    BaselineLost,
    BaselineUnknown,
    ByBothLabels,
    DropFinding,
    FloorFinding,
    KeepFinding,
    LabelsMoved,
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
from rageval_action.core.model.record import Record

SAME_JOB = datetime.timedelta(hours=1)
"""Two records of one machine within this time count as timed in the same job."""


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
    if against.turned_over:
        finding = LabelsMoved(against.turnover.in_place)
        return Outcome(gate=gate, state="cannot_measure", code="corpus.turned-over", finding=finding)
    if isinstance(gate, FloorGate):
        return _floor_either_way(gate, against)
    now = _under(gate, policy, against, against.table, today)
    if isinstance(against.old_label_table, LabelsUnchanged):
        return now
    return _worse(now, _under(gate, policy, against, against.old_label_table, today))


def _under(
    gate: DropGate | KeepGate,
    policy: Policy,
    comparison: Comparison,
    table: MeasureTable,
    today: datetime.date,
) -> Outcome:
    """The gate under one set of labels."""
    if isinstance(gate, KeepGate):
        return _keep(gate, comparison, table)
    return _drop(gate, policy, table, today)


def _worse(now: Outcome, then: Outcome) -> Outcome:
    """The worse of the outcomes under the new labels and under the old ones; where they differ, the labels decide."""
    if now.state == then.state:
        return now
    worst = min(now, then, key=lambda found: PRECEDENCE.index(found.state))
    return Outcome(
        gate=now.gate,
        state=worst.state,
        code="labels-decide",
        finding=ByBothLabels(now, then),
        waiver=worst.waiver,
    )


def _no_queries(gate: Gate) -> Outcome:
    return Outcome(gate=gate, state="cannot_measure", code="empty-slice", finding=NoQueries())


def _drop(gate: DropGate, policy: Policy, table: MeasureTable, today: datetime.date) -> Outcome:
    row = table.row(gate.measure, gate.slice)
    if row is None:
        return _no_queries(gate)
    found = _ruled(gate, row, gate.max_drop)
    waiver = waiver_for(gate, policy, today)
    if found.state == "pass" or waiver is None or waiver.max_drop <= gate.max_drop:
        return found
    eased = _ruled(gate, row, waiver.max_drop)
    if eased.state == found.state:
        return replace(found, short_waiver=waiver)
    return replace(eased, waiver=waiver)


def _ruled(gate: DropGate, row: MeasureRow, allowed: float) -> Outcome:
    state, ground = RULES[gate.rule](row, allowed)
    finding = DropFinding(
        rule=gate.rule,
        ground=ground,
        delta=row.delta,
        allowed=allowed,
        n=row.n,
        better=row.better,
        worse=row.worse,
        bounds=row.bounds,
        p=row.p,
        p_adjusted=row.p_adjusted,
    )
    return Outcome(gate=gate, state=state, code="drop", finding=finding)


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


def _floor_either_way(gate: FloorGate, against: Comparison) -> Outcome:
    """The floor over all of the candidate's queries; one that only the new labels lift over it does not hold."""
    now = _floor(gate, against.candidate.record)
    if isinstance(against.old_label_table, LabelsUnchanged):
        return now
    new = against.table.row(gate.measure, gate.slice)
    old = against.old_label_table.row(gate.measure, gate.slice)
    lifted = new is None or reaches(new.candidate, gate.min)
    if now.state == "fail" or old is None or reaches(old.candidate, gate.min) or not lifted:
        return now
    value = now.finding.value if isinstance(now.finding, FloorFinding) else None
    finding = FloorFinding(value=value, floor=gate.min, under_old_labels=old.candidate)
    return Outcome(gate=gate, state="fail", code="labels-decide", finding=finding)


def _keep(gate: KeepGate, comparison: Comparison, table: MeasureTable) -> Outcome:
    old, new = table.scores[gate.measure]
    mine = np.array([gate.tag in tags for tags in table.tags], dtype=bool)
    unpaired = {*comparison.pairing.removed, *comparison.pairing.changed}
    finding = KeepFinding(
        measure=gate.measure,
        tag=gate.tag,
        n=int(mine.sum()),
        lost=tuple(table.ids[at] for at in np.flatnonzero(mine & (new < old - TOLERANCE))),
        gone=tuple(
            row.query_id
            for row in comparison.baseline.queries
            if gate.tag in row.tags and row.query_id in unpaired
        ),
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
