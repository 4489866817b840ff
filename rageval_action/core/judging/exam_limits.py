"""What caps a verdict whatever the gates say: an exam that was withdrawn, not asked, or asked of another corpus."""

from __future__ import annotations

from collections import Counter

from rageval_action.core.comparing.comparison import Comparison
from rageval_action.core.comparing.exams import NOT_ASKED
from rageval_action.core.judging.outcomes import (
    BaseLeaks,
    CorpusShrunk,
    Finding,
    NoExam,
    NotAsked,
    Outcome,
    StaleLabels,
    State,
    Withdrawn,
)
from rageval_action.core.judging.policy import TOLERANCE, KeepGate, Policy

MOST_WITHDRAWN = 0.10
"""From this share of the base's questions on, one pull request could clear the way for the next."""

MOST_UNASKED = 0.10
"""Above this share of the base's questions, what was asked is no measurement of the rest."""

LEAST_DOCUMENTS = 0.5
"""Below this share of the base's documents, another corpus was searched."""


def exam_limits(policy: Policy, against: Comparison) -> list[Outcome]:
    """Every cap that applies, each with what it is about."""
    found = [
        _not_asked(against),
        _withdrawn(policy, against),
        _stale(against),
        _shrunk(against),
        _outcome("inconclusive", "baseline.no-exam", NoExam())
        if against.baseline.record.exam is None
        else None,
        _outcome("inconclusive", "acl-base", BaseLeaks(against.access.base_only))
        if against.access.base_only
        else None,
    ]
    return [one for one in found if one is not None]


def _outcome(state: State, code: str, finding: Finding) -> Outcome:
    return Outcome(gate=None, state=state, code=code, finding=finding)


def _not_asked(against: Comparison) -> Outcome | None:
    gone = [one for one in against.base_questions if one.unknown in NOT_ASKED]
    total = len(against.base_questions)
    if len(gone) <= MOST_UNASKED * total + TOLERANCE:
        return None
    finding = NotAsked(
        ids=tuple(one.row.query_id for one in gone),
        queries=total,
        why=dict(Counter(one.unknown for one in gone)),
    )
    return _outcome("cannot_measure", "exam.not-asked", finding)


def _withdrawn(policy: Policy, against: Comparison) -> Outcome | None:
    gone, total = against.golden.withdrawn, len(against.baseline.queries)
    kept = {gate.tag for gate in policy.gates if isinstance(gate, KeepGate)}
    tags = {row.query_id: kept.intersection(row.tags) for row in against.baseline.queries}
    untagged = [name for name, tags in against.golden.untagged.items() if kept & tags]
    named = (*(name for name in gone if tags[name]), *untagged)
    if not named and len(gone) <= MOST_WITHDRAWN * total + TOLERANCE:
        return None
    return _outcome("inconclusive", "exam.withdrawn", Withdrawn(ids=gone, queries=total, named=named))


def _stale(against: Comparison) -> Outcome | None:
    """Labels that only follow their texts here: the next baseline could not be marked by them."""
    stale, total = against.golden.stale, len(against.baseline.queries)
    if len(stale) <= MOST_WITHDRAWN * total + TOLERANCE:
        return None
    return _outcome("inconclusive", "labels.stale", StaleLabels(ids=stale, queries=total))


def _shrunk(against: Comparison) -> Outcome | None:
    turned = against.turnover
    total = turned.documents_kept + turned.documents_removed
    left = turned.documents_kept + turned.documents_carried
    if left >= LEAST_DOCUMENTS * total - TOLERANCE:
        return None
    return _outcome("inconclusive", "corpus.shrunk", CorpusShrunk(left=left, documents=total))
