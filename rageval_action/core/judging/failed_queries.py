"""Too many failed queries: what may still be said about a run that measured only a part of its questions.

A failed query scores 0 and stays in every mean. Up to the share that the policy allows that is a fair price; beyond it
those zeros would be told as worse retrieval (or, on the baseline's side, as better retrieval). So every gate is judged
twice, with the failed queries and without them, and what the two ways do not agree on was not measured.
"""

from __future__ import annotations

import datetime
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison, compare
from rageval_action.core.judging.gates import TOLERANCE, Against, Outcome, outcome
from rageval_action.core.judging.policy import FloorGate, Gate, KeepGate, LatencyGate, Policy, measures_of
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.measuring.record_summary import means, scored, slice_means
from rageval_action.core.model.record import Record, RunRecord
from rageval_action.core.wording.lists import plural

CODE = "errors"
"""Of an outcome that the failed queries alone would decide."""

UNJUDGED = ("cannot_measure", "no_baseline", "informs")
"""States that no failed query can have brought about."""


def failures(record: Record, policy: Policy) -> str:
    """`9 of 60 queries` where more failed than the policy allows, else empty."""
    if record.errors / record.golden.queries <= policy.max_errors + TOLERANCE:
        return ""
    return f"{record.errors} of {plural(record.golden.queries, 'query', 'queries')}"


def outcomes(
    policy: Policy, candidate: RunRecord, against: Against, today: datetime.date
) -> tuple[Outcome, ...]:
    """What each gate says, in the policy's order."""
    found = tuple(outcome(gate, policy, candidate.record, against, today) for gate in policy.gates)
    mine = failures(candidate.record, policy)
    theirs = failures(against.baseline.record, policy) if isinstance(against, Comparison) else ""
    if not mine and not theirs:
        return found
    run, left = _answered(policy, candidate, against)

    def checked(one: Outcome) -> Outcome:
        failed = mine or ("" if isinstance(one.gate, FloorGate) else theirs)
        if not failed or one.state in UNJUDGED:
            return one
        told = failed if mine else f"{failed} of the baseline"
        return _agreed(one, outcome(one.gate, policy, run.record, left, today), told)

    return tuple(map(checked, found))


def _agreed(every: Outcome, answered: Outcome, failed: str) -> Outcome:
    """The outcome over the queries that were answered, where counting the others as 0 leads to the same one."""
    if every.state == answered.state and not isinstance(every.gate, LatencyGate):
        return replace(answered, text=f"{answered.text}; over the queries that were answered")
    text = f"{_name(every.gate)} cannot be told: {failed} failed"
    return Outcome(gate=every.gate, state="cannot_measure", code=CODE, text=text)


def _name(gate: Gate) -> str:
    match gate:
        case LatencyGate():
            return f"{gate.stage} {gate.quantile}"
        case KeepGate():
            return f"{gate.measure} of tag:{gate.tag}"
        case _:
            return f"{gate.measure} of {gate.slice}" if gate.slice else gate.measure


def _answered(policy: Policy, candidate: RunRecord, against: Against) -> tuple[RunRecord, Against]:
    """Both runs without the queries that failed on either side; the candidate's means are worked out again."""
    if not isinstance(against, Comparison):
        return _scored(_without(candidate, _failing(candidate)), policy), against
    failed = _failing(candidate) | _failing(against.baseline)
    after = _scored(_without(candidate, failed), policy)
    left = compare(_without(against.baseline, failed), after, parse_measures(list(against.view.scores)))
    return after, left


def _failing(run: RunRecord) -> AbstractSet[str]:
    return frozenset(row.query_id for row in run.queries if row.error)


def _without(run: RunRecord, failed: AbstractSet[str]) -> RunRecord:
    return replace(run, queries=tuple(row for row in run.queries if row.query_id not in failed))


def _scored(run: RunRecord, policy: Policy) -> RunRecord:
    measures = parse_measures(measures_of(policy))
    record = run.record
    rows = scored(run.queries, record.golden.unit, record.retriever.depth, measures, record.cutoff)
    record = replace(record, measures=means(rows, measures), slices=slice_means(rows, measures))
    return replace(run, record=record, queries=rows)
