"""The facts beside the scores: what changed, gates, latency, access, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rageval_action.core.comparing.factors import UNSTATED
from rageval_action.core.comparing.loss_clusters import ADVICE, Cluster
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.model.record import Record
from rageval_action.core.model.types import Notice
from rageval_action.core.wording import lists, numbers
from rageval_action.reports.sentences import failed_with, gate_text, label_effect, waived
from rageval_action.reports.view_types import ChangeLine, ClusterLine, Fact, LatencyLine

WATCHED = ("model", "chunker", "corpus", "retriever", "golden set")
"""What a reader wants to hear of, changed or not."""

CAVEATS = (
    "corpus.rechunked",
    "corpus.replaced",
    "labels.rewritten",
    "several-factors",
    "baseline.errors",
    "baseline.passed-over",
    "labels.stored",
    "labels.moved",
    "golden.removed",
    "golden.reworded",
    "golden.synthetic",
    "corpus.small",
    "policy.changed",
    "policy.first",
    "policy.recorded",
    "policy.empty-slice",
    "override.refused",
    "override.unknown",
)
"""Codes of notices without which a number is misread; they are never folded away. The order is that of reading."""

REPEATED = 3
"""Notices of one kind that are told one by one; more become one line."""

STATES = {"cannot_measure": "cannot measure", "no_baseline": "no baseline"}


def changed(document: ComparisonDocument) -> tuple[ChangeLine, ...]:
    """Everything that is not as it was; a new policy is told among the caveats."""
    return tuple(
        ChangeLine(name=factor.name, before=factor.before or UNSTATED, after=factor.after or UNSTATED)
        for factor in document.factors
    )


def unchanged(document: ComparisonDocument, record: Record) -> tuple[str, ...]:
    """What stayed the same, so that nobody has to ask; of what neither side names, nobody can know."""
    if document.baseline is None:
        return ()
    moved = {factor.name for factor in document.factors}
    if "snapshot" in moved:
        moved.add("corpus")
    stated = {"model": record.snapshot.model, "chunker": record.snapshot.chunker}
    return tuple(name for name in WATCHED if name not in moved and stated.get(name, name))


def gates(document: ComparisonDocument) -> tuple[Fact, ...]:
    """One line a gate, those that decide first."""
    order = ("fail", "cannot_measure", "inconclusive", "no_baseline", "pass", "informs")
    found = sorted(document.gates, key=lambda gate: order.index(gate.state))
    return tuple(Fact(STATES.get(gate.state, gate.state), gate_text(gate, document)) for gate in found)


def groups(found: Sequence[Cluster]) -> tuple[ClusterLine, ...]:
    """Groups of losses with their advice."""
    return tuple(
        ClusterLine(
            kind=group.kind,
            name=group.name,
            count=len(group.queries),
            queries=group.queries,
            advice=_advice(group),
            source=ADVICE[group.advice].source,
        )
        for group in found
    )


def _advice(group: Cluster) -> str:
    """What to try; where it is not about the whole group, for how many of it."""
    text = ADVICE[group.advice].text
    return (
        text
        if group.fitting == len(group.queries)
        else f"For {group.fitting} of {len(group.queries)}: {text}"
    )


def latency(record: Record, before: Record | None) -> tuple[LatencyLine, ...]:
    """Stage by stage, the total last."""
    old = before.latency_ms if before else {}
    stages = sorted(record.latency_ms, key=lambda stage: stage == "total")
    return tuple(
        LatencyLine(
            stage=stage,
            p50=numbers.milliseconds(record.latency_ms[stage].p50),
            p95=numbers.milliseconds(record.latency_ms[stage].p95),
            before_p50=numbers.milliseconds(old[stage].p50) if stage in old else "",
            before_p95=numbers.milliseconds(old[stage].p95) if stage in old else "",
            n=f"{record.latency_ms[stage].n:,}",
        )
        for stage in stages
    )


def no_answer(record: Record) -> str:
    """How often something came back where nothing should; empty without such queries."""
    track = record.no_answer
    if not track.n:
        return ""
    count = lists.plural(track.n, "unanswerable query", "unanswerable queries")
    if track.false_retrieval_rate is None or track.threshold is None:
        return f"{count}: not measured, {track.reason}."
    rate = numbers.share(track.false_retrieval_rate)
    return f"{count}: {rate} return something at or above the score {track.threshold:g}, where nothing should come."


def acl(record: Record) -> str:
    """Whether anything came back that the asker may not see."""
    how = {"enforce": "filtered while searching, then audited", "audit": "judged as returned"}[
        record.acl_mode
    ]
    if record.acl_violations:
        return f"{lists.plural(record.acl_violations, 'hit')} that the query may not see ({how})."
    if record.acl_judged is None:
        return f"No hit that a query may not see ({how})."
    if not record.acl_judged:
        return "Access was not judged: no query that was answered says who asks."
    asking = lists.plural(record.acl_judged, "query that says", "queries that say")
    return f"No forbidden hit in {asking} who asks ({how})."


def notices(document: ComparisonDocument, record: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What must be known before reading a number, and the rest, each once and the like of one kind together."""
    every = tuple(dict.fromkeys((*document.warnings, *record.warnings)))
    first = sorted(
        (notice for notice in every if notice.code in CAVEATS), key=lambda notice: CAVEATS.index(notice.code)
    )
    rest = [notice for notice in every if notice.code not in CAVEATS]
    told = waived(document)[:1] if document.verdict == "pass" else ()  # it is the first sentence
    in_force = [gate for gate in document.gates if gate.waived and gate not in told]
    excused = (f"a waiver is in force: {gate.text}" for gate in in_force)
    labels = label_effect(document)
    return (*excused, *_failed(document), *([labels] if labels else []), *_told(first)), _told(rest)


def _failed(document: ComparisonDocument) -> tuple[str, ...]:
    """What the retriever failed with, unless the reason that it failed too often says so already."""
    if not document.failures or any(reason.code == "errors" for reason in document.reasons):
        return ()
    return (f"the retriever failed for some queries: {failed_with(document)}",)


def _told(found: Sequence[Notice]) -> tuple[str, ...]:
    often = Counter(notice.code for notice in found)
    lines: dict[str, None] = {}
    for notice in found:
        if often[notice.code] <= REPEATED:
            lines[f"{notice.where}: {notice.text}" if notice.where else notice.text] = None
    for code, count in often.items():
        if count > REPEATED:
            lines[_together([notice for notice in found if notice.code == code], count)] = None
    return tuple(lines)


def _together(alike: Sequence[Notice], count: int) -> str:
    """`10 notes like "golden.jsonl:36: … is not in the snapshot"; texts that repeat are named once."""
    texts = list(dict.fromkeys(notice.text for notice in alike))
    where = alike[0].where.partition(":")[0] if alike[0].where else ""
    place = f"{where}: " if where else ""
    return f"{place}{lists.listed(texts, REPEATED)} ({lists.plural(count, 'row')})"


def footer(record: Record) -> str:
    """What was measured, in one line."""
    snapshot, golden = record.snapshot, record.golden
    reranker = record.retriever.reranker
    ranked_by = f"{record.retriever.name} with {reranker}" if reranker else record.retriever.name
    parts = [
        f"{lists.queries(golden.queries)} (unit: {golden.unit})",
        f"{lists.plural(snapshot.chunks, 'chunk')} of {lists.plural(snapshot.documents, 'document')}",
        f"{ranked_by}, depth {record.retriever.depth}",
        f"run {record.run_id[:12]}",
    ]
    return " · ".join(parts)
