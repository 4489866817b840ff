"""From gates and a comparison to one verdict, each outcome with its reason (design §8)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from msgspec import Struct

from rageval_action.core.comparing.comparison import Comparison
from rageval_action.core.judging.failed_queries import CODE, failures, outcomes
from rageval_action.core.judging.gates import (
    PRECEDENCE,
    Against,
    BaselineUnknown,
    NoBaseline,
    Outcome,
    State,
    Word,
)
from rageval_action.core.judging.policy import DropGate, Policy, plain_gate
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.types import Notice
from rageval_action.core.wording.lists import listed
from rageval_action.errors import EXIT_CANNOT_MEASURE, EXIT_FAIL

__all__ = [
    "Against",
    "BaselineUnknown",
    "NoBaseline",
    "Outcome",
    "Override",
    "Reason",
    "State",
    "Verdict",
    "Word",
    "exit_code",
    "judge",
]

LIFTED: tuple[Word, ...] = ("fail", "inconclusive")
"""What an override accepts: a result that somebody has seen, never a run that measured nothing."""


class Override(Struct, frozen=True, kw_only=True):
    """A recorded decision by a person to accept this result."""

    by: str
    reason: str
    sha: str = ""
    at: str = ""


class Reason(Struct, frozen=True, kw_only=True):
    """Why the verdict is what it is; `gate` is None where no gate is involved."""

    code: str
    text: str
    gate: dict[str, object] | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """The answer.

    Attributes:
        verdict: before any override.
        overridden: the override that was needed, or None.
        reasons: what decided, worst first. outcomes: one per gate, in the policy's order.
        notes: what the owner of the policy should know (waivers that have run out or that fit no gate).
    """

    verdict: Word
    exit_code: int
    overridden: Override | None
    reasons: tuple[Reason, ...]
    outcomes: tuple[Outcome, ...]
    notes: tuple[Notice, ...] = ()


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
    told_by = outcomes(policy, candidate, against, today)
    found = _standing(policy, candidate, against)
    found += [_reason(one) for one in told_by if one.code != CODE]
    bad: list[Word] = [word for word in PRECEDENCE[:-1] if any(state == word for state, _ in found)]
    words: list[Word] = bad or ["pass"]
    told = [reason for word in bad for state, reason in found if state == word]
    return Verdict(
        verdict=words[0],
        exit_code=exit_code(words, policy, overridden=override is not None),
        overridden=override if words[0] in LIFTED else None,
        reasons=tuple(told) or (Reason(code="pass", text=_pass_text(told_by, against)),),
        outcomes=told_by,
        notes=_waiver_notes(policy, today),
    )


def exit_code(words: Sequence[Word], policy: Policy, *, overridden: bool) -> int:
    """The exit code (design §8) of everything that was found, worst first.

    An override, like `fail-on: never`, lifts a fail and an inconclusive result; what could not be measured stays.
    """
    spared = overridden or policy.fail_on == "never"
    left = [word for word in words if not (spared and word in LIFTED)]
    worst = left[0] if left else "pass"
    if worst == "cannot_measure":
        return EXIT_CANNOT_MEASURE
    fails = worst == "fail" or (worst == "inconclusive" and policy.fail_on == "inconclusive")
    return EXIT_FAIL if fails else 0


def _pass_text(outcomes: Sequence[Outcome], against: Against) -> str:
    held = sum(found.state == "pass" for found in outcomes)
    text = "every gate holds" if held == len(outcomes) else f"{held} of {len(outcomes)} gates hold"
    gone = (*against.pairing.removed, *against.pairing.changed) if isinstance(against, Comparison) else ()
    return f"{text}; removed or reworded, so not compared: {listed(gone)}" if gone else text


def _reason(found: Outcome) -> tuple[State, Reason]:
    return found.state, Reason(code=found.code, text=found.text, gate=plain_gate(found.gate))


def _standing(policy: Policy, candidate: RunRecord, against: Against) -> list[tuple[State, Reason]]:
    """What decides whatever the gates say: access, errors, the state of the baseline."""
    record = candidate.record
    found: list[tuple[State, Reason]] = []
    if record.acl_violations:
        hits = "1 hit" if record.acl_violations == 1 else f"{record.acl_violations} hits"
        found.append(("fail", Reason(code="acl", text=f"{hits} that the query may not see came back")))
    if failed := failures(record, policy):
        found.append(("cannot_measure", Reason(code=CODE, text=f"the retriever failed for {failed}")))
    if isinstance(against, Comparison) and (failed := failures(against.baseline.record, policy)):
        text = f"the baseline's retriever failed for {failed}, so it cannot be compared with"
        found.append(("cannot_measure", Reason(code="baseline-errors", text=text)))
    if isinstance(against, BaselineUnknown):
        found.append(("cannot_measure", Reason(code="baseline-unknown", text=against.reason)))
    elif isinstance(against, NoBaseline):
        found.append(("no_baseline", Reason(code="no-baseline", text=against.reason)))
    elif not against.view.ids:
        text = "no answerable query has the same id and text on both sides"
        found.append(("cannot_measure", Reason(code="nothing-paired", text=text)))
    return found


def _waiver_notes(policy: Policy, today: datetime.date) -> tuple[Notice, ...]:
    notes = []
    drops = [gate for gate in policy.gates if isinstance(gate, DropGate)]
    for waiver in policy.waivers:
        name = (
            f"the waiver of {waiver.measure}{f' of {waiver.slice}' if waiver.slice else ''} ({waiver.owner})"
        )
        if not any(waiver.covers(gate) for gate in drops):
            notes.append(Notice(code="waiver.no-gate", text=f"{name} fits no gate"))
        elif today > waiver.until:
            notes.append(Notice(code="waiver.expired", text=f"{name} ran out on {waiver.until}"))
    return tuple(notes)
