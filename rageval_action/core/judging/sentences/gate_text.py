"""What a gate found, and why a verdict is what it is, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rageval_action.core.comparing.exams import ExamName
from rageval_action.core.judging.outcomes import (
    BaseLeaks,
    BaselineLost,
    BaselineUnknown,
    CorpusShrunk,
    DropFinding,
    FailedQueries,
    FloorFinding,
    GatesHold,
    KeepFinding,
    LatencyFinding,
    Leaks,
    NoBaseline,
    NoExam,
    NoQueries,
    NotAsked,
    NothingPaired,
    Outcome,
    StaleLabels,
    Withdrawn,
    reaches,
)
from rageval_action.core.judging.policy import TOLERANCE, Gate, KeepGate, LatencyGate, Waiver
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
    """All that decided, with the exam, the rule and the waiver: the `text` of the JSON."""
    text = f"{_exam(found)}{_found(found)}"
    return f"{text}; over the queries that were answered" if found.answered_only else text


def brief(found: Outcome) -> str:
    """As a headline gives it: a drop without its rule."""
    if drop := _brief_drop(found):
        return f"{_exam(found)}{drop}"
    return full(found)


def line(found: Outcome) -> str:
    """For a table of gates: it names what the gate is about, also where what it found does not."""
    if found.state == "fail" and (drop := _brief_drop(found)):
        return drop
    unnamed = isinstance(found.finding, NoBaseline | BaselineUnknown | BaselineLost)
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


OPEN = ("unknown-decides", "not-clear", "chance", "cannot-rule-out", "too-few")
"""Grounds that decide nothing: the reader wants to know why."""


def _brief_drop(found: Outcome) -> str:
    """`recall@5 dropped by 5.8 points; 2.0 points are allowed`: the commonest reason, without its jargon."""
    drop, finding = fallen(found), found.finding
    if not drop or not isinstance(finding, DropFinding) or finding.ground in OPEN:
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


def _exam(found: Outcome) -> str:
    """Which exam decides, where the other one finds something else."""
    if found.exam is None or found.other is None:
        return ""
    return EXAMS[found.exam]


EXAMS: dict[ExamName, str] = {
    "base": "by the base branch's questions and labels, ",
    "head": "by this pull request's questions and labels, ",
}


def _ground(finding: DropFinding) -> str:
    """Why the rule decides as it does."""
    match finding.ground:
        case "too-few":
            return f"{plural(finding.n, 'query is', 'queries are')} too few to tell"
        case "beyond-chance":
            p = finding.p if finding.p_adjusted is None else finding.p_adjusted
            return f"a drop larger than chance (p = {p:.2g})"
        case "not-clear" if finding.better + finding.worse == 1:
            return f"only 1 of {queries(finding.n)} changed"
        case "not-clear":
            return f"{finding.worse} got worse and {finding.better} better: chance often does this"
        case "clear":
            return f"{finding.worse} got worse and {finding.better} better"
        case "cannot-rule-out":
            return _range(finding)
        case "unknown-decides":
            asked, total = finding.n, finding.n + finding.unknown
            return f"{asked} of {queries(total)} could be marked, and the others decide"
        case ground:
            return GROUNDS[ground]


def _range(finding: DropFinding) -> str:
    low, high = finding.bounds
    if high <= 0:
        span = f"the true change is between {numbers.points(high)} and {numbers.points(low)} worse"
    else:
        span = f"anything from {numbers.points(low)} worse to {numbers.points(high)} better is possible"
    return f"too few queries to decide: {span}"


GROUNDS: dict[str, str] = {
    "within": "within what is allowed",
    "more-than-allowed": "more than allowed",
    "chance": "chance could explain it",
    "unchanged": "no query changed",
    "ruled-out": "a larger drop is ruled out",
    "ruled-in": "the drop is larger than allowed (95 % confidence)",
}


def _floor_text(found: Outcome, finding: FloorFinding) -> str:
    text = _floor(found.gate, finding)
    if found.code == "floor-new-questions":
        return f"{text}: the new questions are harder; the base's questions hold the floor"
    return text


def _floor(gate: Gate | None, finding: FloorFinding) -> str:
    """With as many decimals as show on which side of the floor the value is."""
    value, floor = finding.value, finding.floor
    if finding.unknown and reaches(finding.at_best, floor) and not reaches(finding.at_worst, floor):
        span = f"between {numbers.fixed(finding.at_worst)} and {numbers.fixed(finding.at_best)}"
        return f"{about(gate)} is {span}, {floor:g} needed: {queries(finding.unknown)} could not be marked"
    holds = reaches(value, floor)
    digits = next((n for n in range(3, 9) if reaches(numbers.rounded(value, n), floor) == holds), 9)
    side = "at least" if holds else "below"
    return f"{about(gate)} is {numbers.fixed(value, digits)}, {side} the {floor:g} needed"


def _keep(_found: Outcome, finding: KeepFinding) -> str:
    measure, tag = finding.measure, f"tag:{finding.tag}"
    if finding.lost:
        return f"{measure} got worse for {_named(finding.lost)} of {tag}, which must not be lost"
    if finding.gone:
        return f"{_named(finding.gone)} of {tag} could not be marked"
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
    return f"{about(found.gate)}: no query"


def _failed(found: Outcome, finding: FailedQueries) -> str:
    failed = f"{finding.failed} of {queries(finding.queries)}"
    if found.gate is not None:
        side = " of the baseline" if finding.baseline else ""
        return f"{about(found.gate)} cannot be told: {failed}{side} failed"
    if finding.baseline:
        return f"the baseline's retriever failed for {failed}, so it cannot be compared with"
    return f"the retriever failed for {failed}"


def _hold(_found: Outcome, finding: GatesHold) -> str:
    if finding.held == finding.gates:
        return "every gate holds"
    return f"{finding.held} of {finding.gates} gates hold"


def _withdrawn(_found: Outcome, finding: Withdrawn) -> str:
    if finding.named:
        return (
            f"this pull request removed or changed {_named(finding.named)}, which a gate protects;"
            " once merged, the next pull request is judged by the new questions and labels"
        )
    return (
        f"this pull request removed or changed {len(finding.ids)} of {queries(finding.queries)} of the"
        " base branch; check them, then merge: the next pull request is judged by the new ones"
    )


def _stale(_found: Outcome, finding: StaleLabels) -> str:
    return (
        f"the labels of {len(finding.ids)} of {queries(finding.queries)} name ids that this pull request replaced;"
        " update them (rageval golden drift writes the patch)"
    )


WHY_NOT_ASKED = {
    "no-text": "the baseline's record keeps no text",
    "no-vector": "the snapshot has no query vector",
    "no-asker": "the name of the asker is not known",
    "no-row": "the run file has no row",
    "not-asked": "this run did not ask them",
}


def _not_asked(_found: Outcome, finding: NotAsked) -> str:
    why = "; ".join(f"{WHY_NOT_ASKED.get(code, code)} ({count})" for code, count in finding.why.items())
    cure = (
        " (rageval snapshot add-queries --from-record adds the vectors)" if "no-vector" in finding.why else ""
    )
    asked = finding.queries - len(finding.ids)
    return f"{asked} of {queries(finding.queries)} of the base branch were asked: {why}{cure}"


def _shrunk(_found: Outcome, finding: CorpusShrunk) -> str:
    return f"the index holds {finding.left} of the base branch's {plural(finding.documents, 'document')}"


def _no_exam(_found: Outcome, _finding: NoExam) -> str:
    return "the baseline is of an older version, which kept no questions: record it again on the base branch"


def _base_leaks(_found: Outcome, finding: BaseLeaks) -> str:
    hits = finding.hits
    named = listed([f"{hit.id} for query {hit.query_id}" for hit in hits], 3)
    return f"{plural(len(hits), 'result')} may not be seen by the base branch's access lists: {named}"


_SENTENCES: dict[type, Callable[[Outcome, Any], str]] = {
    DropFinding: _drop,
    FloorFinding: _floor_text,
    KeepFinding: _keep,
    LatencyFinding: _latency,
    NoQueries: _no_queries,
    Withdrawn: _withdrawn,
    StaleLabels: _stale,
    NotAsked: _not_asked,
    CorpusShrunk: _shrunk,
    NoExam: _no_exam,
    BaseLeaks: _base_leaks,
    FailedQueries: _failed,
    NoBaseline: lambda _found, finding: finding.reason,
    BaselineUnknown: lambda _found, finding: finding.reason,
    BaselineLost: lambda _found, finding: finding.reason,
    Leaks: lambda _found, finding: f"{plural(finding.hits, 'hit')} that the query may not see came back",
    NothingPaired: lambda *_: "the base branch has no answerable question to compare by",
    GatesHold: _hold,
}
"""Kind of finding -> its sentence."""
