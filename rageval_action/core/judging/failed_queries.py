"""Too many failed queries: what may still be said about a run that measured only a part of its questions.

A failed query scores 0 and stays in every mean. Up to the share that the policy allows that is a fair price; beyond it
those zeros would look like worse retrieval (or, on the baseline's side, like better retrieval). So every gate is judged
twice, with the failed queries and without them, and what the two ways do not agree on was not measured.
"""

from __future__ import annotations

import datetime
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison, compare
from rageval_action.core.judging.gates import outcome
from rageval_action.core.judging.outcomes import Against, FailedQueries, Outcome
from rageval_action.core.judging.policy import FloorGate, LatencyGate, Policy, measures_of
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.measuring.record_summary import means, scored, slice_means
from rageval_action.core.model.record import QueryRow, RunRecord

CODE = "errors"
"""Of an outcome that the failed queries alone would decide."""

UNJUDGED = ("cannot_measure", "no_baseline", "informs")
"""States that no failed query can have brought about."""


def too_many_failed(run: RunRecord, policy: Policy, *, baseline: bool = False) -> FailedQueries | None:
    """How many failed, where these are more than the policy allows."""
    errors, queries = run.record.errors, run.record.golden.queries
    if policy.tolerates(errors, queries):
        return None
    return FailedQueries(failed=errors, queries=queries, baseline=baseline)


def outcomes(
    policy: Policy, candidate: RunRecord, against: Against, today: datetime.date
) -> tuple[Outcome, ...]:
    """What each gate finds, in the policy's order."""
    found = tuple(outcome(gate, policy, candidate.record, against, today) for gate in policy.gates)
    mine = too_many_failed(candidate, policy)
    theirs = (
        too_many_failed(against.baseline, policy, baseline=True) if isinstance(against, Comparison) else None
    )
    if not mine and not theirs:
        return found
    run, left = _answered(policy, candidate, against)

    def checked(every: Outcome) -> Outcome:
        failed = mine or (None if isinstance(every.gate, FloorGate) else theirs)
        if every.gate is None or failed is None or every.state in UNJUDGED:
            return every
        answered = outcome(every.gate, policy, run.record, left, today)
        if every.state == answered.state and not isinstance(every.gate, LatencyGate):
            return replace(answered, answered_only=True)
        return Outcome(gate=every.gate, state="cannot_measure", code=CODE, finding=failed)

    return tuple(map(checked, found))


def _answered(policy: Policy, candidate: RunRecord, against: Against) -> tuple[RunRecord, Against]:
    """Both runs without the queries that failed on either side; the candidate's means are worked out again."""
    if not isinstance(against, Comparison):
        return _scored(_without(candidate, _failing(candidate)), policy), against
    failed = _failing(candidate) | _failing(against.baseline)
    after = _scored(_without(candidate, failed), policy)
    measures = parse_measures(list(against.base.scores))
    left = compare(_without(against.baseline, failed), after, measures, cutoff=against.cutoff)
    return after, left


def _failing(run: RunRecord) -> AbstractSet[str]:
    """The texts of which an answer failed, by their SHA-256: ids may differ between the two runs."""
    return frozenset(row.query_sha256 for row in (*run.queries, *run.asked_for_base) if row.error)


def _without(run: RunRecord, failed: AbstractSet[str]) -> RunRecord:
    def left(rows: tuple[QueryRow, ...]) -> tuple[QueryRow, ...]:
        return tuple(row for row in rows if row.query_sha256 not in failed)

    return replace(run, queries=left(run.queries), asked_for_base=left(run.asked_for_base))


def _scored(run: RunRecord, policy: Policy) -> RunRecord:
    measures = parse_measures(measures_of(policy))
    record = run.record
    rows = scored(run.queries, record.golden.unit, record.retriever.depth, measures, record.cutoff)
    record = replace(record, measures=means(rows, measures), slices=slice_means(rows, measures))
    return replace(run, record=record, queries=rows)
