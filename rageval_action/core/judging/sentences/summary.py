"""The sentences of a report as a whole: verdict, baseline, losses, power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rageval_action.core.comparing.loss_clusters import Cluster, losses
from rageval_action.core.comparing.measure_rows import MARGIN, MeasureRow
from rageval_action.core.judging.document import ComparisonDocument, GateResult, Reason
from rageval_action.core.judging.outcomes import Word
from rageval_action.core.judging.policy import DropGate, Gate, LatencyGate
from rageval_action.core.judging.sentences import gate_text
from rageval_action.core.measuring.measures import headline_measure
from rageval_action.core.statistics.paired_comparison import queries_needed, smallest_detectable
from rageval_action.core.wording import lists, numbers

ALERTS: dict[Word, str] = {
    "fail": "CAUTION",
    "cannot_measure": "WARNING",
    "inconclusive": "WARNING",
    "no_baseline": "NOTE",
    "pass": "TIP",
}
"""Verdict -> kind of alert, by GitHub's names."""

TITLES: dict[Word, str] = {
    "fail": "Retrieval got worse",
    "cannot_measure": "Retrieval could not be measured",
    "inconclusive": "Cannot tell whether retrieval got worse",
    "no_baseline": "No baseline to compare with",
    "pass": "No retrieval regression",
}

WORSE: dict[Word, str] = {
    "inconclusive": "Retrieval got worse, and a gate cannot be decided",
    "pass": "Retrieval got worse, within what the gates allow",
}
"""Verdict -> title where the headline measure fell beyond chance and no gate of it failed."""

FAILURES = {
    "acl": "Retrieval shows what the asker may not see",
    "floor": "Retrieval is below the floor",
    "latency": "Retrieval got slower",
    "must-not-lose": "A query that may not be lost got worse",
}
"""Code of the first reason -> title of a failure that is not a drop."""

UNDECIDED = {
    "exam.withdrawn": "This pull request changes the questions it is judged by",
    "labels.stale": "The labels must follow the renamed documents",
    "acl-base": "Access was widened",
    "corpus.shrunk": "Most of the base branch's documents are gone",
    "baseline.no-exam": "The baseline is too old to be asked again",
}
"""Code of the first reason -> title of an undecided verdict that no gate brought about."""

RUNGS = {
    "exact": "the exact base commit",
    "ancestor": "the nearest ancestor with a record",
    "snapshot": "the baseline snapshot, evaluated in this job",
    "base-branch-record": "the record file on the base branch",
    "file": "the record that was given",
}

MOST_FAILURES = 3
"""Different errors of a retriever that are named."""

MOST_RIVALS = 3

HARMLESS = ("pass", "informs", "no_baseline")
"""States of a gate that holds, that only informs, or that repeats that there is no baseline."""

MOST_REASONS = 4
"""Further reasons named in the alert; every gate is in its own table."""


def title(document: ComparisonDocument) -> tuple[str, str]:
    """Kind of alert and words of the verdict."""
    alert, words = ALERTS[document.verdict], TITLES[document.verdict]
    if document.verdict == "fail" and document.reasons:
        words = FAILURES.get(document.reasons[0].code, words)
    if document.verdict == "inconclusive" and document.reasons:
        words = UNDECIDED.get(document.reasons[0].code, words)
    if document.verdict == "pass" and waived(document):
        return "NOTE", "Waived: retrieval got worse"
    reading = _reading(document)
    if reading == "worse" and document.verdict in WORSE:
        words = WORSE[document.verdict]
        alert = "NOTE" if document.verdict == "pass" else alert
    if document.verdict == "pass" and reading == "better":
        words = "Retrieval got better"
    if document.verdict == "pass" and only_labels(document):
        words = "Only the labels changed, retrieval did not"
    if document.overridden and not document.exit_code:
        return "NOTE", f"Accepted: {words[0].lower()}{words[1:]}"
    return alert, words


def void(document: ComparisonDocument) -> bool:
    """True when the scores are no measurement: nothing, or too little of the base's exam, was asked."""
    return any(reason.code in ("exam.not-asked", "nothing-paired") for reason in document.reasons)


def only_labels(document: ComparisonDocument) -> bool:
    """True when the golden set is all that changed, and no query is ranked otherwise than before."""
    whole = [row for row in document.measures if row.slice is None]
    moved = {factor.name for factor in document.factors}
    return (
        bool(document.pairing.relabelled)
        and moved <= {"golden set"}
        and not any(row.better or row.worse for row in whole)
    )


def label_effect(document: ComparisonDocument) -> str:
    """How far the new labels alone moved the headline measure of the baseline; empty when they did not."""
    row = headline(document)
    if row is None or abs(row.label_effect) <= 1e-9:
        return ""
    way = "raise" if row.label_effect > 0 else "lower"
    count = lists.queries(len(document.pairing.relabelled))
    return (
        f"the new labels of {count} alone {way} the baseline's {row.measure} by {numbers.points(row.label_effect)}; "
        "both sides are scored by the new ones"
    )


def _reading(document: ComparisonDocument) -> str:
    row = headline(document)
    return row.reading if row else ""


def headline(document: ComparisonDocument) -> MeasureRow | None:
    """The row of the headline measure over all queries."""
    name = headline_measure(document.k)
    return next((row for row in document.measures if row.slice is None and row.measure == name), None)


def first(document: ComparisonDocument) -> str:
    """The first reason as a sentence; a pass says how the headline measure moved."""
    if document.verdict != "pass":
        return _reason(document.reasons[0], document) if document.reasons else ""
    excused = waived(document)
    moved = _excused(excused[0]) if excused else _moved(headline(document))
    return f"{moved} {_sentence(_held(document))}".strip()


def waived(document: ComparisonDocument) -> tuple[GateResult, ...]:
    """The gates that hold only by a waiver."""
    return tuple(result for result in document.gates if result.waived and result.state == "pass")


def _excused(result: GateResult) -> str:
    """`recall@5 dropped by 16.7 points; allowed until 2031-06-30 by ana: the archive moves`."""
    fallen = gate_text.fallen(result)
    allowed = f"{fallen}; allowed until {result.waived_until} by {result.waived}"
    return _sentence(allowed if fallen else result.text, _measure(result.gate))


def _held(document: ComparisonDocument) -> str:
    """How many gates hold; one that only informs is not counted."""
    judging = [gate for gate in document.gates if gate.state != "informs"]
    if not judging:
        return "there is no gate"
    waived = sum(bool(gate.waived) for gate in judging)
    held = "the gate holds" if len(judging) == 1 else f"all {len(judging)} gates hold"
    return (
        f"{held}, {waived} of them by a waiver"
        if waived and len(judging) > 1
        else (f"{held} by a waiver" if waived else held)
    )


def also(document: ComparisonDocument) -> tuple[str, ...]:
    """Further reasons, worst first; the last one counts those that are left out."""
    rest = [
        _reason(reason, document)
        for reason in document.reasons[1:]
        if reason.gate is None or reason.state not in HARMLESS
    ]
    kept, left = rest[:MOST_REASONS], len(rest) - MOST_REASONS
    if left > 0:
        kept.append(f"{lists.plural(left, 'more reason')} under Gates.")
    return tuple(dict.fromkeys(kept))


def _sentence(text: str, name: str = "") -> str:
    """With a capital and a full stop; a `name` that it begins with (of a measure or a slice) stays as it is."""
    started = text if name and text.startswith(name) else text[:1].upper() + text[1:]
    return started if started.endswith((".", "!", "?")) or not text else f"{started}."


def _measure(gate: Gate | None) -> str:
    return "" if gate is None or isinstance(gate, LatencyGate) else gate.measure


def _reason(reason: Reason, document: ComparisonDocument) -> str:
    why = f": {failed_with(document)}" if reason.code == "errors" and document.failures else ""
    return _sentence(f"{gate_text.brief(reason)}{why}", _measure(reason.gate))


def failed_with(document: ComparisonDocument) -> str:
    """What the retriever failed with: `no module named foo (18), no answer within 2 s (2)`."""
    found = [f"{failure.text} ({failure.queries:,})" for failure in document.failures]
    return lists.listed(found, MOST_FAILURES)


def _moved(row: MeasureRow | None) -> str:
    """How the headline measure moved; empty without it."""
    if row is None:
        return ""
    if not row.better and not row.worse:
        return f"{row.measure} is unchanged at {numbers.score(row.candidate)}."
    if abs(row.delta) <= 1e-9:
        return f"{row.measure} is the same, {lists.queries(row.worse)} down and {row.better} up."
    way = "rose" if row.delta > 0 else "dropped"
    sure = "" if row.reading in ("better", "worse") else ", which chance could explain"
    return f"{row.measure} {way} by {numbers.points(row.delta)}{sure}."


def hardest(document: ComparisonDocument, groups: Sequence[Cluster]) -> str:
    """The slice that lost most and the commonest cause: where to look first."""
    if document.verdict not in ("fail", "inconclusive"):
        return ""
    total = len(losses(document.queries))
    parts = []
    rows = [
        row
        for row in document.measures
        if row.slice and not row.small and row.measure == headline_measure(document.k) and row.worse
    ]
    worst = min(rows, key=lambda row: row.delta, default=None)
    whole = headline(document)
    if worst is not None and whole is not None and worst.delta < min(whole.delta, 0.0) - 1e-9:
        parts.append(
            f"{worst.slice} lost most ({numbers.points(worst.delta)}, {worst.worse} of {worst.n} queries)"
        )
    causes = [group for group in groups if group.kind == "cause"]
    if causes and total > 1:
        parts.append(f"the commonest cause is {causes[0].name} ({len(causes[0].queries)} of {total} losses)")
    return _sentence("; ".join(parts), (worst.slice or "") if worst else "")


def baseline(document: ComparisonDocument) -> str:
    """Where the baseline is from; each surface names the commit itself, which it can link."""
    info = document.baseline
    if info is None:
        if document.verdict == "no_baseline":
            return "These scores stand alone. Once the base branch has a record, pull requests are compared with it."
        return "Without a baseline these scores stand alone."
    away = f", {lists.plural(info.distance, 'commit')} before the base" if info.distance else ""
    older = f", {numbers.age(info.age_s)} older" if info.age_s >= 60 else ""
    paired = lists.queries(document.pairing.paired)
    return f"{RUNGS[info.rung]}{away}{older}; {paired} on both sides."


def blast(document: ComparisonDocument) -> str:
    """How many queries lost their last relevant result, net of recoveries."""
    whole = headline(document)
    if whole is None:
        return ""
    if void(document):
        return ""
    changes = Counter(change.change for change in document.queries)
    lost, gained = changes["lost"], changes["gained"]
    if not lost and not gained:
        return f"No query lost or gained its last relevant result in the top {document.k}."
    net = (
        f"net {numbers.MINUS if lost > gained else numbers.PLUS if gained > lost else ''}{abs(gained - lost)}"
    )
    recovered = f"{gained:,} recovered one" if gained else "none recovered one"
    return (
        f"{lists.queries(lost)} lost the last relevant result in the top {document.k}, "
        f"{recovered}: {net} of {whole.n:,}."
    )


def causes(groups: Sequence[Cluster]) -> str:
    """Name the causes with their counts, and the rival that took most places."""
    named = [f"{len(group.queries):,} {group.name}" for group in groups if group.kind == "cause"]
    if not named:
        return ""
    return f"Causes of the losses: {', '.join(named)}.{_rivals(groups)}"


def _rivals(groups: Sequence[Cluster]) -> str:
    """Who took most places: every one of those that took equally many."""
    rivals = [group for group in groups if group.kind == "rival" and len(group.queries) > 2]
    if not rivals:
        return ""
    most = max(len(group.queries) for group in rivals)
    names = [group.name for group in rivals if len(group.queries) == most]
    if len(names) == 1:
        return f" {names[0]} took a place in {most:,} of them."
    return f" {lists.both(names, MOST_RIVALS)} each took a place in {most:,} of them."


def power(document: ComparisonDocument) -> str:
    """What this set can prove, and how many queries it would take to prove what the gate asks."""
    row = headline(document)
    if row is None or row.n < 1 or not row.mde <= 1:
        return ""
    if row.mde <= 0 and (row.better or row.worse):
        return f"All {lists.queries(row.n)} changed alike in {row.measure}, so their noise cannot be told."
    if row.mde <= 0:
        return f"No query changed in {row.measure}, so its noise cannot be told from these {lists.queries(row.n)}."
    target = _target(document, row.measure)
    found = (
        f"{lists.queries(row.n)} can prove a change of {numbers.points(row.mde)} or more in {row.measure} "
        "(80 % power)"
    )
    if row.mde <= target + 1e-9:
        return f"{found}."
    sd = row.mde / smallest_detectable(1.0, row.n)
    needed = numbers.about(queries_needed(sd, target))
    return f"{found}; for {numbers.points(target)} you need about {needed}."


def _target(document: ComparisonDocument, measure: str) -> float:
    """The drop that the gate of this measure is about; without such a gate, the margin of the readings."""
    for result in document.gates:
        match result.gate:
            case DropGate(measure=own, slice="", max_drop=allowed) if own == measure and allowed > 0:
                return allowed
    return MARGIN
