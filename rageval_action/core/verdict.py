"""From gates and a comparison to one verdict, each outcome with its reason (design §8)."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from rageval_action.core.comparison import Comparison, LabelsUnchanged, MeasureRow, View
from rageval_action.core.policy import (
    DropGate,
    FloorGate,
    Gate,
    KeepGate,
    LatencyGate,
    Policy,
    Waiver,
    plain_gate,
)
from rageval_action.core.record import Record
from rageval_action.errors import EXIT_CANNOT_MEASURE, EXIT_FAIL

TOLERANCE = 1e-9
SIGNIFICANT = 0.05
SAME_JOB = datetime.timedelta(hours=1)
"""Two records of one machine within this time count as timed in the same job."""

State: TypeAlias = Literal["fail", "cannot_measure", "inconclusive", "no_baseline", "pass", "informs"]
Word: TypeAlias = Literal["fail", "cannot_measure", "inconclusive", "no_baseline", "pass"]

PRECEDENCE: tuple[Word, ...] = ("fail", "cannot_measure", "inconclusive", "no_baseline", "pass")


class NoBaseline(Struct, frozen=True):
    """There is nothing to compare with, and that is certain."""

    reason: str


class BaselineUnknown(Struct, frozen=True):
    """Whether there is a baseline could not be found out (an outage): never the same as having none."""

    reason: str


Against: TypeAlias = Comparison | NoBaseline | BaselineUnknown


class Override(Struct, frozen=True, kw_only=True):
    """A recorded decision by a person to accept this result."""

    by: str
    reason: str
    sha: str = ""
    at: str = ""


class Outcome(Struct, frozen=True, kw_only=True):
    """What one gate says. `informs` never decides. `waiver` is the exception that was used, if any."""

    gate: Gate
    state: State
    code: str
    text: str
    waiver: Waiver | None = None


class Reason(Struct, frozen=True, kw_only=True):
    """Why the verdict is what it is; `gate` is None where no gate is involved."""

    code: str
    text: str
    gate: dict[str, object] | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """The answer.

    Attributes:
        verdict: before any override.
        overridden: the override that makes the exit code 0, or None.
        outcomes: one per gate, in the policy's order. reasons: what decided, worst first.
    """

    verdict: Word
    exit_code: int
    overridden: Override | None
    reasons: tuple[Reason, ...]
    outcomes: tuple[Outcome, ...]


def judge(
    policy: Policy,
    record: Record,
    against: Against,
    *,
    today: datetime.date,
    override: Override | None = None,
) -> Verdict:
    """Judge one record against its baseline, or alone.

    Args:
        policy: the gates; from the base branch when a pull request is judged.
        record: the candidate.
        against: the comparison, or why there is none.
        today: for waivers.
        override: an accepted exception, already checked by the caller.
    """
    outcomes = tuple(_outcome(gate, policy, record, against, today) for gate in policy.gates)
    reasons = _standing(policy, record, against) + [_reason(outcome) for outcome in outcomes]
    found: list[tuple[Word, Reason]] = [(state, reason) for state, reason in reasons if state is not None]
    word = next(word for word in PRECEDENCE if word == "pass" or any(state == word for state, _ in found))
    code = exit_code(word, policy, overridden=override is not None)
    told = [reason for level in PRECEDENCE for state, reason in found if state == level]
    if not told or word == "pass":
        told = [Reason(code="pass", text=_pass_text(outcomes))]
    return Verdict(
        verdict=word,
        exit_code=code,
        overridden=override if word != "pass" else None,
        reasons=tuple(told),
        outcomes=outcomes,
    )


def exit_code(word: Word, policy: Policy, *, overridden: bool) -> int:
    """The exit code of a verdict (design §8); an override lifts a fail, never an unmeasured run."""
    if word == "cannot_measure":
        return EXIT_CANNOT_MEASURE
    if overridden or policy.fail_on == "never":
        return 0
    if word == "fail" or (word == "inconclusive" and policy.fail_on == "inconclusive"):
        return EXIT_FAIL
    return 0


def _pass_text(outcomes: Sequence[Outcome]) -> str:
    judged = sum(outcome.state == "pass" for outcome in outcomes)
    return f"{judged} of {len(outcomes)} gates hold" if judged != len(outcomes) else "every gate holds"


def _reason(outcome: Outcome) -> tuple[Word | None, Reason]:
    reason = Reason(code=outcome.code, text=outcome.text, gate=plain_gate(outcome.gate))
    if outcome.state == "pass" or outcome.state == "informs":  # noqa: PLR1714 - mypy narrows this spelling only
        return None, reason
    return outcome.state, reason


def _standing(policy: Policy, record: Record, against: Against) -> list[tuple[Word | None, Reason]]:
    """What decides whatever the gates say: access, errors, the state of the baseline."""
    found: list[tuple[Word | None, Reason]] = []
    if record.acl_violations:
        text = f"{record.acl_violations} hits that the query may not see were returned"
        found.append(("fail", Reason(code="acl", text=text)))
    share = record.errors / record.golden.queries
    if share > policy.max_errors + TOLERANCE:
        text = f"the retriever failed for {record.errors} of {record.golden.queries} queries"
        found.append(("cannot_measure", Reason(code="errors", text=text)))
    match against:
        case BaselineUnknown(reason=reason):
            found.append(("cannot_measure", Reason(code="baseline-unknown", text=reason)))
        case NoBaseline(reason=reason):
            found.append(("no_baseline", Reason(code="no-baseline", text=reason)))
        case Comparison() if not against.view.ids:
            text = "no answerable query has the same id and text on both sides"
            found.append(("cannot_measure", Reason(code="nothing-paired", text=text)))
        case _:
            pass
    return found


def _outcome(gate: Gate, policy: Policy, record: Record, against: Against, today: datetime.date) -> Outcome:
    if isinstance(gate, FloorGate):
        return _floor(gate, record, against)
    if isinstance(against, BaselineUnknown):
        return Outcome(gate=gate, state="cannot_measure", code="baseline-unknown", text=against.reason)
    if isinstance(against, NoBaseline):
        return Outcome(gate=gate, state="no_baseline", code="no-baseline", text=against.reason)
    if isinstance(gate, LatencyGate):
        return _latency(gate, against)
    if turned_over(against):
        text = "the ids that the labels name are no longer in the index: re-chunked, not worse"
        return Outcome(gate=gate, state="cannot_measure", code="corpus.turned-over", text=text)
    now = _against_labels(gate, policy, against, against.view, today)
    if isinstance(against.old_view, LabelsUnchanged):
        return now
    then = _against_labels(gate, policy, against, against.old_view, today)
    if _rank(then.state) < _rank(now.state):
        return Outcome(
            gate=gate,
            state=then.state,
            code="labels-decide",
            text=f"the labels decide: under the old ones {then.text}; under the new ones {now.text}",
            waiver=then.waiver,
        )
    return now


def _rank(state: State) -> int:
    return PRECEDENCE.index("pass" if state == "informs" else state)


def turned_over(comparison: Comparison) -> bool:
    """Most chunk ids are new and for most queries the judged ids are gone: labels by id measure nothing now."""
    gone = sum(
        change.change in ("lost", "worse") and change.cause in ("not-indexed", "re-identified")
        for change in comparison.queries
    )
    return comparison.turnover.rechunked and 2 * gone > len(comparison.view.ids)


def _against_labels(
    gate: DropGate | KeepGate, policy: Policy, comparison: Comparison, view: View, today: datetime.date
) -> Outcome:
    if isinstance(gate, KeepGate):
        return _keep(gate, comparison, view)
    return _drop(gate, policy, view, today)


def _row(view: View, measure: str, part: str) -> MeasureRow | None:
    return next((row for row in view.rows if row.measure == measure and (row.slice or "") == part), None)


def _place(gate: DropGate | FloorGate) -> str:
    return f"{gate.measure} of {gate.slice}" if gate.slice else gate.measure


def _drop(gate: DropGate, policy: Policy, view: View, today: datetime.date) -> Outcome:
    row = _row(view, gate.measure, gate.slice)
    if row is None:
        text = f"{_place(gate)}: no query in both runs"
        return Outcome(gate=gate, state="cannot_measure", code="empty-slice", text=text)
    waiver = next(
        (
            w
            for w in policy.waivers
            if (w.measure, w.slice) == (gate.measure, gate.slice) and today <= w.until
        ),
        None,
    )
    allowed = max(gate.max_drop, waiver.max_drop) if waiver else gate.max_drop
    state, why = _RULES[gate.rule](row, allowed)
    if waiver and allowed > gate.max_drop:
        strict, _ = _RULES[gate.rule](row, gate.max_drop)
        waiver = waiver if strict != state else None
    drop = row.baseline - row.candidate
    text = f"{_place(gate)} {_moved(drop)} ({points(allowed)} allowed, {gate.rule}): {why}"
    if waiver:
        text += f"; waived until {waiver.until} by {waiver.owner}: {waiver.reason}"
    return Outcome(gate=gate, state=state, code="drop", text=text, waiver=waiver)


def _moved(drop: float) -> str:
    if abs(drop) <= TOLERANCE:
        return "did not change"
    return f"{'dropped' if drop > 0 else 'rose'} by {points(abs(drop))}"


def points(value: float) -> str:
    """A difference between scores in words: one point is 0.01."""
    return f"{100 * value:.1f} points"


def _observed(row: MeasureRow, allowed: float) -> tuple[State, str]:
    if row.baseline - row.candidate > allowed + TOLERANCE:
        return "fail", "more than allowed"
    return "pass", "within what is allowed"


def _significant(row: MeasureRow, allowed: float) -> tuple[State, str]:
    if row.baseline - row.candidate <= allowed + TOLERANCE:
        return "pass", "within what is allowed"
    if row.small:
        return "inconclusive", f"{row.n} queries are too few to tell"
    if row.slice is None:
        return ("fail", "the interval excludes no change") if row.ci[1] < -TOLERANCE else _UNTOLD
    adjusted = row.p_adjusted if row.p_adjusted is not None else 1.0
    return ("fail", f"adjusted p = {adjusted:.3f}") if adjusted < SIGNIFICANT else _UNTOLD


_UNTOLD: tuple[State, str] = ("inconclusive", "chance could explain it")


def _non_inferior(row: MeasureRow, allowed: float) -> tuple[State, str]:
    if row.better == row.worse == 0:
        return "pass", "no query changed"
    if row.small:
        return "inconclusive", f"{row.n} queries are too few to tell"
    low, high = row.bounds
    if low > -allowed - TOLERANCE:
        return "pass", "a larger drop is ruled out"
    if high < -allowed - TOLERANCE:
        return "fail", "a larger drop is certain"
    return "inconclusive", "a larger drop can be neither ruled in nor out"


_RULES = {"observed": _observed, "significant": _significant, "non-inferior": _non_inferior}


def _floor(gate: FloorGate, record: Record, against: Against) -> Outcome:
    part = record.slices.get(gate.slice) if gate.slice else None
    measures = (part.measures if part else {}) if gate.slice else record.measures
    value = measures[gate.measure].mean if gate.measure in measures else None
    if isinstance(against, Comparison) and isinstance(against.old_view, View):
        row = _row(against.old_view, gate.measure, gate.slice)
        if row is not None and value is not None and row.candidate < value:
            now = value >= gate.min - TOLERANCE
            then = row.candidate >= gate.min - TOLERANCE
            if now and not then:
                text = (
                    f"the labels decide: {_place(gate)} is {value:.3f}, but {row.candidate:.3f} under the old labels "
                    f"(at least {gate.min:g} needed)"
                )
                return Outcome(gate=gate, state="fail", code="labels-decide", text=text)
    if value is None or math.isnan(value):
        return Outcome(
            gate=gate, state="cannot_measure", code="empty-slice", text=f"{_place(gate)}: no query"
        )
    holds = value >= gate.min - TOLERANCE
    text = f"{_place(gate)} is {value:.3f}, {'at least' if holds else 'below'} the {gate.min:g} needed"
    return Outcome(gate=gate, state="pass" if holds else "fail", code="floor", text=text)


def _keep(gate: KeepGate, comparison: Comparison, view: View) -> Outcome:
    old, new = view.scores[gate.measure]
    mine = [i for i, tags in enumerate(view.tags) if gate.tag in tags]
    lost = [view.ids[i] for i in mine if new[i] < old[i] - TOLERANCE]
    gone = [
        row.query_id
        for row in comparison.baseline.queries
        if gate.tag in row.tags and row.query_id in {*comparison.pairing.removed, *comparison.pairing.changed}
    ]
    name = f"tag:{gate.tag}"
    if lost:
        text = f"{gate.measure} got worse for {_listed(lost)} of {name}, none may"
        return Outcome(gate=gate, state="fail", code="must-not-lose", text=text)
    if gone:
        text = f"{_listed(gone)} of {name} cannot be compared: removed from the golden set or reworded"
        return Outcome(gate=gate, state="inconclusive", code="must-not-lose-gone", text=text)
    if not mine:
        text = f"{name}: no query in both runs"
        return Outcome(gate=gate, state="cannot_measure", code="empty-slice", text=text)
    text = f"{gate.measure} got worse for none of the {len(mine)} queries of {name}"
    return Outcome(gate=gate, state="pass", code="must-not-lose", text=text)


def _listed(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:10])
    return shown if len(ids) <= 10 else f"{shown} and {len(ids) - 10} more"


def _latency(gate: LatencyGate, comparison: Comparison) -> Outcome:
    before, after = comparison.baseline.record, comparison.candidate.record
    name = f"{gate.stage} {gate.quantile}"
    if not timed_together(before, after):
        text = f"{name} is not judged: the baseline was timed on another machine or at another time"
        return Outcome(gate=gate, state="informs", code="latency-not-comparable", text=text)
    if gate.stage not in before.latency_ms or gate.stage not in after.latency_ms:
        return Outcome(
            gate=gate, state="informs", code="latency-absent", text=f"{name} was not timed on both sides"
        )
    old, new = (getattr(side.latency_ms[gate.stage], gate.quantile) for side in (before, after))
    text = f"{name} is {new:.1f} ms against {old:.1f} ms"
    if gate.quantile == "p95":
        return Outcome(
            gate=gate, state="informs", code="latency", text=f"{text}; p95 informs, it is not gated"
        )
    worse = new > old * gate.max_ratio and new - old > gate.floor_ms
    limit = f"{gate.max_ratio:g} times and {gate.floor_ms:g} ms more allowed"
    return Outcome(gate=gate, state="fail" if worse else "pass", code="latency", text=f"{text}; {limit}")


def timed_together(before: Record, after: Record) -> bool:
    """True when two records were timed on one machine within an hour: only then may their latencies be compared."""
    if not before.hardware or before.hardware != after.hardware:
        return False
    return abs(after.created_at - before.created_at) <= SAME_JOB
