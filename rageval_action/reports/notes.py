"""The facts beside the scores: what changed, gates, latency, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rageval_action.core.comparing.factors import UNSTATED
from rageval_action.core.comparing.loss_clusters import Cluster
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.judging.sentences import gate_text
from rageval_action.core.judging.sentences.cause_words import advice
from rageval_action.core.judging.sentences.summary import failed_with, label_effect, waived
from rageval_action.core.model.record import Record, RetrieverInfo
from rageval_action.core.model.types import Notice
from rageval_action.core.wording import lists, numbers
from rageval_action.reports.view_types import ChangeLine, ClusterLine, Fact, LatencyLine

WATCHED = ("model", "chunker", "corpus", "retriever", "golden set")
"""What a reader wants to hear of, changed or not."""

CAVEATS = (
    "labels.dangling",
    "labels.damaged",
    "corpus.rechunked",
    "corpus.replaced",
    "labels.rewritten",
    "labels.gone",
    "several-factors",
    "baseline.errors",
    "baseline.passed-over",
    "labels.followed",
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
"""Notices of one kind that are shown one by one; more become one line."""

NEVER_JOINED = ("policy.changed",)
"""Notices that are shown one by one however many there are: a waiver must not hide behind a count of gates."""

STATES = {"cannot_measure": "cannot measure", "no_baseline": "no baseline"}


def changed(document: ComparisonDocument) -> tuple[ChangeLine, ...]:
    """Everything that is not as it was; a new policy is among the caveats."""
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
    if "retriever code" in moved or not _tracked(record.retriever):
        moved.add("retriever")
    stated = {"model": record.snapshot.model, "chunker": record.snapshot.chunker}
    return tuple(name for name in WATCHED if name not in moved and stated.get(name, name))


def _tracked(retriever: RetrieverInfo) -> bool:
    """Whether a record holds all that decides this retriever's ranking: of another system it holds the address only."""
    parts = {str(value) for name, value in retriever.parameters.items() if name.endswith(".retriever")}
    own_code = {"python", "command"} if retriever.code else set()
    return {retriever.name, *parts} <= {"bm25", "dense", "hybrid", "rerank", "run-file", *own_code}


def gates(document: ComparisonDocument) -> tuple[Fact, ...]:
    """One line a gate, those that decide first."""
    order = ("fail", "cannot_measure", "inconclusive", "no_baseline", "pass", "informs")
    found = sorted(document.gates, key=lambda gate: order.index(gate.state))
    return tuple(Fact(STATES.get(gate.state, gate.state), gate_text.line(gate)) for gate in found)


def groups(found: Sequence[Cluster]) -> tuple[ClusterLine, ...]:
    """Groups of losses with their advice."""
    lines = []
    for group in found:
        text, source = advice(group)
        lines.append(
            ClusterLine(
                kind=group.kind,
                name=group.name,
                count=len(group.queries),
                queries=group.queries,
                advice=text,
                source=source,
            )
        )
    return tuple(lines)


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


def notices(document: ComparisonDocument, record: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What must be known before reading a number, and the rest, each once and the like of one kind together."""
    every = tuple(dict.fromkeys((*document.warnings, *record.warnings)))
    first = sorted(
        (notice for notice in every if notice.code in CAVEATS), key=lambda notice: CAVEATS.index(notice.code)
    )
    rest = [notice for notice in every if notice.code not in CAVEATS]
    said = waived(document)[:1] if document.verdict == "pass" else ()  # it is the first sentence
    in_force = [gate for gate in document.gates if gate.waived and gate not in said]
    excused = (f"a waiver is in force: {gate.text}" for gate in in_force)
    labels = label_effect(document)
    return (*excused, *_failed(document), *([labels] if labels else []), *_lines(first)), _lines(rest)


def _failed(document: ComparisonDocument) -> tuple[str, ...]:
    """What the retriever failed with, unless the reason that it failed too often says so already."""
    if not document.failures or any(reason.code == "errors" for reason in document.reasons):
        return ()
    return (f"the retriever failed for some queries: {failed_with(document)}",)


def _lines(found: Sequence[Notice]) -> tuple[str, ...]:
    often = Counter(notice.code for notice in found)
    lines: dict[str, None] = {}
    for notice in found:
        if often[notice.code] <= REPEATED or notice.code in NEVER_JOINED:
            lines[f"{notice.where}: {notice.text}" if notice.where else notice.text] = None
    for code, count in often.items():
        if count > REPEATED and code not in NEVER_JOINED:
            lines[_together([notice for notice in found if notice.code == code], count)] = None
    return tuple(lines)


def _together(alike: Sequence[Notice], count: int) -> str:
    """`10 notes like "golden.jsonl:36: … is not in the snapshot"; texts that repeat are named once."""
    texts = list(dict.fromkeys(notice.text for notice in alike))
    where = alike[0].where.partition(":")[0] if alike[0].where else ""
    place = f"{where}: " if where else ""
    return f"{place}{lists.listed(texts, REPEATED)} ({lists.plural(count, 'row')})"
