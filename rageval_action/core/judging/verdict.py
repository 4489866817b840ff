"""From the gates' outcomes to one verdict and its exit code."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from rageval_action.core.comparing.exams import ExamName
from rageval_action.core.judging.exam_limits import exam_limits
from rageval_action.core.judging.failed_queries import CODE, outcomes, too_many_failed
from rageval_action.core.judging.outcomes import (
    PRECEDENCE,
    Against,
    BaselineLost,
    BaselineUnknown,
    Finding,
    GatesHold,
    Leaks,
    NoBaseline,
    NothingPaired,
    Outcome,
    State,
    Word,
)
from rageval_action.core.judging.policy import DropGate, Policy, Waiver
from rageval_action.core.model.record import RunRecord
from rageval_action.errors import EXIT_CANNOT_MEASURE, EXIT_FAIL

LIFTED: tuple[Word, ...] = ("fail", "inconclusive")
"""What an override accepts: a result that somebody has seen, never a run that measured nothing."""


class Override(Struct, frozen=True, kw_only=True):
    """A recorded decision by a person to accept this result."""

    by: str
    reason: str
    sha: str = ""
    at: str = ""


class WaiverNote(Struct, frozen=True):
    """A waiver that does nothing, and why."""

    code: Literal["waiver.no-gate", "waiver.expired"]
    waiver: Waiver


class Verdict(Struct, frozen=True, kw_only=True):
    """The answer.

    Attributes:
        verdict: before any override.
        overridden: the override that was needed, or None.
        reasons: what decided, worst first. outcomes: one per gate, in the policy's order.
        exam: the exam that decided.
        notes: what the owner of the policy should know.
    """

    verdict: Word
    exit_code: int
    overridden: Override | None
    reasons: tuple[Outcome, ...]
    outcomes: tuple[Outcome, ...]
    exam: ExamName = "base"
    notes: tuple[WaiverNote, ...] = ()


def judge(
    policy: Policy,
    candidate: RunRecord,
    against: Against,
    *,
    today: datetime.date,
    override: Override | None = None,
) -> Verdict:
    """Judge one record against its baseline, or alone.

    Args:
        policy: the gates; from the base branch when a pull request is judged.
        candidate: the record to judge.
        against: the comparison, or why there is none.
        today: for waivers.
        override: an accepted exception, already checked by the caller.
    """
    by_gates = outcomes(policy, candidate, against, today)
    found = [*_standing(policy, candidate, against), *(one for one in by_gates if one.code != CODE)]
    bad: list[Word] = [word for word in PRECEDENCE[:-1] if any(one.state == word for one in found)]
    words: list[Word] = bad or ["pass"]
    reasons = tuple(one for word in bad for one in found if one.state == word)
    return Verdict(
        verdict=words[0],
        exit_code=exit_code(words, policy, overridden=override is not None),
        overridden=override if words[0] in LIFTED else None,
        reasons=reasons or (_passed(by_gates),),
        outcomes=by_gates,
        exam=deciding_exam(by_gates),
        notes=_waiver_notes(policy, today),
    )


def exit_code(words: Sequence[Word], policy: Policy, *, overridden: bool) -> int:
    """The exit code of everything that was found, worst first.

    An override, like `fail-on: never`, lifts a fail and an inconclusive result; what could not be measured stays.
    """
    spared = overridden or policy.fail_on == "never"
    left = [word for word in words if not (spared and word in LIFTED)]
    worst = left[0] if left else "pass"
    if worst == "cannot_measure":
        return EXIT_CANNOT_MEASURE
    fails = worst == "fail" or (worst == "inconclusive" and policy.fail_on == "inconclusive")
    return EXIT_FAIL if fails else 0


def _passed(by_gates: Sequence[Outcome]) -> Outcome:
    held = sum(found.state == "pass" for found in by_gates)
    return _ungated("pass", "pass", GatesHold(held=held, gates=len(by_gates)))


def _ungated(state: State, code: str, finding: Finding) -> Outcome:
    return Outcome(gate=None, state=state, code=code, finding=finding)


def deciding_exam(by_gates: Sequence[Outcome]) -> ExamName:
    """The exam of the worst outcome; on a tie the base's."""
    judged = [one for one in by_gates if one.exam is not None and one.state != "informs"]
    key = {word: at for at, word in enumerate(PRECEDENCE)}
    worst = min((key[one.state] for one in judged if one.state != "informs"), default=0)
    heads = {one.exam for one in judged if one.state != "informs" and key[one.state] == worst}
    return "head" if heads == {"head"} else "base"


def _standing(policy: Policy, candidate: RunRecord, against: Against) -> list[Outcome]:
    """What decides whatever the gates say: access, errors, the state of the baseline."""
    found = []
    if hits := candidate.record.acl_violations:
        found.append(_ungated("fail", "acl", Leaks(hits)))
    if failed := too_many_failed(candidate, policy):
        found.append(_ungated("cannot_measure", CODE, failed))
    if isinstance(against, BaselineUnknown):
        found.append(_ungated("cannot_measure", "baseline-unknown", against))
    elif isinstance(against, BaselineLost):
        found.append(_ungated("inconclusive", "baseline-lost", against))
    elif isinstance(against, NoBaseline):
        found.append(_ungated("no_baseline", "no-baseline", against))
    else:
        if failed := too_many_failed(against.baseline, policy, baseline=True):
            found.append(_ungated("cannot_measure", "baseline-errors", failed))
        if not against.base.ids:
            found.append(_ungated("cannot_measure", "nothing-paired", NothingPaired()))
        found += exam_limits(policy, against)
    return found


def _waiver_notes(policy: Policy, today: datetime.date) -> tuple[WaiverNote, ...]:
    notes = []
    drops = [gate for gate in policy.gates if isinstance(gate, DropGate)]
    for waiver in policy.waivers:
        if not any(waiver.covers(gate) for gate in drops):
            notes.append(WaiverNote("waiver.no-gate", waiver))
        elif today > waiver.until:
            notes.append(WaiverNote("waiver.expired", waiver))
    return tuple(notes)
