"""What a gate found, and why a verdict is what it is, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rageval_action.core.judging.outcomes import (
    BaselineLost,
    BaselineUnknown,
    ByBothLabels,
    DropFinding,
    FailedQueries,
    FloorFinding,
    GatesHold,
    Ground,
    KeepFinding,
    LabelsMoved,
    LatencyFinding,
    Leaks,
    NoBaseline,
    NoQueries,
    NothingPaired,
    Outcome,
    reaches,
)
from rageval_action.core.judging.policy import TOLERANCE, FloorGate, Gate, KeepGate, LatencyGate, Waiver
from rageval_action.core.wording import numbers
from rageval_action.core.wording.lists import listed, plural, queries


def about(gate: Gate | None) -> str:
    """`recall@5 of tag:x`, `total p50`; empty where no gate is involved."""
    match gate:
        case None:
            return ""
        case LatencyGate():
            return f"{gate.stage} {gate.quantile}"
        case KeepGate():
            return f"{gate.measure} of tag:{gate.tag}"
        case _:
            return f"{gate.measure} of {gate.slice}" if gate.slice else gate.measure


def full(found: Outcome) -> str:
    """All that decided, with the rule and the waiver: the `text` of the JSON."""
    text = _found(found)
    return f"{text}; over the queries that were answered" if found.answered_only else text


def brief(found: Outcome) -> str:
    """As a headline gives it: a drop without its rule, and no more of the labels than the title says."""
    if drop := _brief_drop(found):
        return drop
    finding = found.finding
    if isinstance(finding, ByBothLabels):
        return f"under the new labels {full(finding.new)}; under the old labels {full(finding.old)}"
    if isinstance(finding, FloorFinding) and finding.under_old_labels is not None:
        return f"{_floor(found.gate, finding)}; under the old labels it is {numbers.fixed(finding.under_old_labels)}"
    return full(found)


def line(found: Outcome) -> str:
    """For a table of gates: it names what the gate is about, also where what it found does not."""
    if found.state == "fail" and (drop := _brief_drop(found)):
        return drop
    unnamed = isinstance(found.finding, LabelsMoved | NoBaseline | BaselineUnknown | BaselineLost)
    if unnamed or found.code == "must-not-lose-gone":
        return f"{about(found.gate)}: {full(found)}"
    return full(found)


def fallen(found: Outcome) -> str:
    """`recall@5 dropped by 5.8 points`; empty unless the gate is about a drop and there is one."""
    finding = found.finding
    if not isinstance(finding, DropFinding) or finding.delta >= 0:
        return ""
    return f"{about(found.gate)} dropped by {numbers.points(finding.delta)}"


def short_waiver(waiver: Waiver | None) -> str:
    """A waiver that was not enough; empty without one."""
    if waiver is None:
        return ""
    allowed = numbers.points(waiver.max_drop)
    return f"a waiver of {allowed} until {waiver.until} by {waiver.owner} is in force and exceeded"


def waived_by(waiver: Waiver | None) -> str:
    """`owner: reason`; empty without a waiver."""
    return f"{waiver.owner}: {waiver.reason}" if waiver else ""


def _brief_drop(found: Outcome) -> str:
    """`recall@5 dropped by 5.8 points; 2.0 points are allowed`: the commonest reason, without its jargon."""
    drop, finding = fallen(found), found.finding
    if not drop or not isinstance(finding, DropFinding) or finding.rule != "observed":
        return ""
    limit = short_waiver(found.short_waiver) or f"{numbers.points(finding.allowed)} are allowed"
    return f"{drop}; {limit}"


def _found(found: Outcome) -> str:
    return _SENTENCES[type(found.finding)](found, found.finding)


def _drop(found: Outcome, finding: DropFinding) -> str:
    if abs(finding.delta) <= TOLERANCE:
        moved = "did not change"
    else:
        moved = f"{'rose' if finding.delta > 0 else 'dropped'} by {numbers.points(finding.delta)}"
    allowed = f"{numbers.points(finding.allowed)} allowed, {finding.rule}"
    text = f"{about(found.gate)} {moved} ({allowed}): {_ground(finding)}"
    if found.waiver:
        text += f"; waived until {found.waiver.until} by {waived_by(found.waiver)}"
    return f"{text}; {short_waiver(found.short_waiver)}" if found.short_waiver else text


def _ground(finding: DropFinding) -> str:
    """Why the rule decides as it does."""
    match finding.ground:
        case "too-few":
            return f"{plural(finding.n, 'query is', 'queries are')} too few to tell"
        case "interval":
            return f"the interval, which decides, excludes no change (p = {finding.p:.3g})"
        case "adjusted-p":
            return f"adjusted p = {finding.p_adjusted:.3g}"
        case "open":
            moved = f"{finding.better + finding.worse} of {queries(finding.n)} changed"
            low, high = (numbers.delta(100 * bound, 1) for bound in finding.bounds)
            return f"with {moved}, nothing from {low} to {high} points can be ruled out"
        case ground:
            return GROUNDS[ground]


GROUNDS: dict[Ground, str] = {
    "within": "within what is allowed",
    "exceeded": "more than allowed",
    "chance": "chance could explain it",
    "unchanged": "no query changed",
    "ruled-out": "a larger drop is ruled out",
    "ruled-in": "a larger drop is ruled in",
}


def _floor_either_way(found: Outcome, finding: FloorFinding) -> str:
    if finding.under_old_labels is None:
        return _floor(found.gate, finding)
    old = numbers.fixed(finding.under_old_labels)
    return f"the labels decide: {_floor(found.gate, finding)}; under the old ones it is {old}"


def _floor(gate: Gate | None, finding: FloorFinding) -> str:
    """With as many decimals as show on which side of the floor the value is."""
    value, floor = finding.value, finding.floor
    if value is None:
        return f"{about(gate)}: no query"
    holds = reaches(value, floor)
    digits = next((n for n in range(3, 9) if reaches(numbers.rounded(value, n), floor) == holds), 9)
    side = "at least" if holds else "below"
    return f"{about(gate)} is {numbers.fixed(value, digits)}, {side} the {floor:g} needed"


def _keep(_found: Outcome, finding: KeepFinding) -> str:
    measure, tag = finding.measure, f"tag:{finding.tag}"
    if finding.lost:
        return f"{measure} got worse for {_named(finding.lost)} of {tag}, none may"
    if finding.gone:
        return f"{_named(finding.gone)} of {tag} cannot be compared: removed from the golden set or reworded"
    return f"{measure} got worse for none of the {queries(finding.n)} of {tag}"


def _named(ids: tuple[str, ...]) -> str:
    """`query 8`, `queries 8, 9`: an id may be a bare number."""
    return f"{'query' if len(ids) == 1 else 'queries'} {listed(ids)}"


def _latency(found: Outcome, finding: LatencyFinding) -> str:
    name = about(found.gate)
    if finding.before is None or finding.after is None:
        return f"{name} was not timed on both sides"
    if found.code == "latency-not-comparable":
        return f"{name} is not judged: the baseline was timed on another machine or at another time"
    text = f"{name} is {numbers.fixed(finding.after, 1)} ms against {numbers.fixed(finding.before, 1)} ms"
    if found.state == "informs":
        return f"{text}; p95 informs, it is not gated"
    return f"{text}; {finding.max_ratio:g} times, or {finding.floor_ms:g} ms more, allowed"


def _no_queries(found: Outcome, _finding: NoQueries) -> str:
    where = "" if isinstance(found.gate, FloorGate) else " in both runs"
    return f"{about(found.gate)}: no query{where}"


def _labels_moved(_found: Outcome, finding: LabelsMoved) -> str:
    what = "hold other texts now" if finding.in_place else "are no longer in the index"
    return f"the ids that the labels name {what}: re-chunked, not worse"


def _by_both_labels(_found: Outcome, finding: ByBothLabels) -> str:
    return (
        f"the labels decide: under the new ones {full(finding.new)}; under the old ones {full(finding.old)}"
    )


def _failed(found: Outcome, finding: FailedQueries) -> str:
    failed = f"{finding.failed} of {queries(finding.queries)}"
    if found.gate is not None:
        side = " of the baseline" if finding.baseline else ""
        return f"{about(found.gate)} cannot be told: {failed}{side} failed"
    if finding.baseline:
        return f"the baseline's retriever failed for {failed}, so it cannot be compared with"
    return f"the retriever failed for {failed}"


def _hold(_found: Outcome, finding: GatesHold) -> str:
    held, gates = finding.held, finding.gates
    text = "every gate holds" if held == gates else f"{held} of {gates} gates hold"
    return f"{text}; removed or reworded, so not compared: {listed(finding.gone)}" if finding.gone else text


_SENTENCES: dict[type, Callable[[Outcome, Any], str]] = {
    DropFinding: _drop,
    FloorFinding: _floor_either_way,
    KeepFinding: _keep,
    LatencyFinding: _latency,
    NoQueries: _no_queries,
    LabelsMoved: _labels_moved,
    ByBothLabels: _by_both_labels,
    FailedQueries: _failed,
    NoBaseline: lambda _found, finding: finding.reason,
    BaselineUnknown: lambda _found, finding: finding.reason,
    BaselineLost: lambda _found, finding: finding.reason,
    Leaks: lambda _found, finding: f"{plural(finding.hits, 'hit')} that the query may not see came back",
    NothingPaired: lambda *_: "no answerable query has the same id and text on both sides",
    GatesHold: _hold,
}
"""Kind of finding -> its sentence."""
