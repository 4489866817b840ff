"""Checks of the judgments: ids that match nothing, coarse labels, conflicts, cover, and how much they can prove."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from rageval_action.core.labels.linking import link
from rageval_action.core.measuring.slices import SMALLEST
from rageval_action.core.statistics.paired_comparison import smallest_detectable
from rageval_action.core.wording.lists import listed
from rageval_action.errors import GoldenError
from rageval_action.golden.audit.findings import Finding, Row, about, row
from rageval_action.golden.near_duplicates import near_pairs
from rageval_action.golden.query_builder import asker, judgments_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rageval_action.core.model.types import Query
    from rageval_action.golden.audit.findings import Subject

MANY_CHUNKS = 50
"""A judged document with more chunks than this is more of a place than an answer."""

MANY_RELEVANT = 0.1
"""A query for which more than this share of the documents is relevant tells little about ranking."""

CHANGED_SHARES = (0.05, 0.10)
"""Shares of queries that change between two builds, for which the smallest detectable drop of recall is shown."""


def unmatched(subject: Subject) -> Iterator[Finding]:
    """Ids and quotes that the snapshot does not hold, with near misses where linking sees one."""
    if not subject.corpus:
        return
    try:
        linked = link(subject.golden, subject.corpus.chunks, "auto")
    except GoldenError as error:
        yield Finding(code=error.code, severity="error", text=error.message, hint=error.hint)
        return
    by_id = {query.id: query for query in subject.queries}
    lost = [row(by_id[name], ", ".join(gone[:3])) for name, gone in linked.missing.items()]
    yield from about(
        lost,
        "check.unmatched",
        f"of {len(subject.queries)} queries name ids or quotes that the snapshot does not hold.",
        hint="`rageval golden drift --snapshot DIR` says why and proposes a patch.",
        severity="error",
    )
    named = {name for query in subject.queries for name in query.relevant}
    yield Finding(
        code="check.unit",
        severity="info",
        text=f"judgments count as {linked.unit}s; {len(named)} ids are judged.",
    )


def duplicates(subject: Subject) -> Iterator[Finding]:
    """Queries that ask the same, and those of them that are judged otherwise."""
    pairs = near_pairs([query.text for query in subject.queries])
    queries = subject.queries
    alike: dict[int, Row] = {}
    torn: dict[int, Row] = {}
    for pair in pairs:
        first, second = queries[pair.first], queries[pair.second]
        if first.acl != second.acl or (first.group and first.group == second.group):
            continue
        alike.setdefault(pair.second, row(second, f'{pair.similarity:.0%} like "{first.id}"'))
        left, right = _wanted(first), _wanted(second)
        if left and right and not left & right:
            torn.setdefault(pair.second, row(second, f'shares nothing with "{first.id}"'))
    yield from about(
        alike.values(),
        "check.near-duplicates",
        "queries nearly repeat an earlier one: they weigh double and prove nothing new.",
        hint="Keep one of each, or give them one `group`.",
    )
    yield from about(
        torn.values(),
        "check.conflicts",
        "of them should find quite other documents: one of the two is wrong or incomplete.",
        hint="Judge both by both sets of documents.",
    )


def repeated(subject: Subject) -> Iterator[Finding]:
    """The same question for the same access with other judgments: each of the rows is scored by its own."""
    first: dict[tuple[str, object], Query] = {}
    torn: list[Row] = []
    for query in subject.queries:
        earlier = first.setdefault((query.text, asker(query.acl)), query)
        if judgments_of(earlier) != judgments_of(query):
            torn.append(row(query, f'asks the same as "{earlier.id}" ({_place(earlier)})'))
    yield from about(
        torn,
        "check.conflicting-judgments",
        "rows repeat an earlier question word for word and judge it otherwise.",
        hint="Join them: `rageval golden import FILE --merge-equal --out golden.jsonl`.",
    )


def _place(query: Query) -> str:
    return f"{query.file}:{query.line}" if query.file else f"line {query.line}"


def hidden(subject: Subject) -> Iterator[Finding]:
    """Judged documents that their asker may not see: no retriever that keeps access can return them."""
    by_id = {chunk.id: [chunk] for chunk in subject.corpus.chunks}
    lost: list[Row] = []
    for query in subject.queries:
        who = query.acl
        if who is None:
            continue
        names = sorted(_wanted(query) | {item.doc for item in query.evidence})
        closed = []
        for name in names:
            chunks = by_id.get(name) or subject.chunks_of(name)
            if chunks and not any(chunk.acl is None or chunk.acl.admits(who) for chunk in chunks):
                closed.append(name)
        if closed:
            lost.append(row(query, listed([f'"{name}"' for name in closed], 3)))
    yield from about(
        lost,
        "check.hidden-labels",
        "queries should find documents that their `acl` may not see.",
        hint="Change the labels or the access: such a document can never be returned to this user.",
    )


def coarse(subject: Subject) -> Iterator[Finding]:
    """Labels too coarse to miss: a folder, a site, a document of very many chunks, a tenth of the corpus."""
    if not subject.corpus:
        return
    documents, ids = subject.corpus.docs, subject.corpus.ids
    found: list[Row] = []
    for query in subject.queries:
        reasons: list[str] = []
        wanted = _wanted(query)
        for name in sorted(wanted):
            size = len(subject.chunks_of(name))
            if size > MANY_CHUNKS and name not in ids:
                reasons.append(f'"{name}" has {size} chunks')
            elif name not in documents and name not in ids:
                inside = sum(doc.startswith(name.rstrip("/") + "/") for doc in documents)
                if inside > 1:
                    reasons.append(f'"{name}" is a folder of {inside} documents')
        known = wanted & documents
        if len(known) > max(3, MANY_RELEVANT * len(documents)):
            reasons.append(f"{len(known)} of {len(documents)} documents are relevant")
        if reasons:
            found.append(row(query, "; ".join(reasons)))
    yield from about(
        found,
        "check.coarse-labels",
        "queries have labels so coarse that almost any result is right.",
        hint="Judge the passage that answers: evidence quotes, or chunk ids.",
    )


def slices(subject: Subject) -> Iterator[Finding]:
    """Slices with fewer queries than a percentage needs."""
    counts: Counter[str] = Counter()
    for query in subject.queries:
        counts.update(f"tag:{tag}" for tag in set(query.tags))
        counts.update(
            f"{name}:{value}" for name, value in (("type", query.type), ("lang", query.lang)) if value
        )
    small = sorted((name, count) for name, count in counts.items() if count < SMALLEST)
    if small:
        shown = listed([f"{name} ({count})" for name, count in small], 8)
        yield Finding(
            code="check.small-slices",
            severity="warning",
            text=f"{len(small)} slices have fewer than {SMALLEST} queries: {shown}.",
            hint="A gate on them by the rule significant or non-inferior stays undecided; the rules clear and "
            "observed still judge. Add queries or drop the gate.",
        )


def cover(subject: Subject) -> Iterator[Finding]:
    """How the labels spread over the documents."""
    asked: Counter[str] = Counter()
    by_id = {chunk.id: chunk.doc for chunk in subject.corpus.chunks}
    for query in subject.queries:
        docs = {by_id.get(name, name) for name in _wanted(query)} | {item.doc for item in query.evidence}
        asked.update(docs)
    if not asked:
        return
    top, most = asked.most_common(1)[0]
    answerable = sum(query.answerable for query in subject.queries)
    text = f'{len(asked)} documents are asked about; "{top}" by {most} of {answerable} queries.'
    if subject.corpus:
        total = len(subject.corpus.docs)
        never = total - len(set(asked) & subject.corpus.docs)
        text += f" {never} of {total} documents ({never / total:.0%}) are never asked about."
    crowded = most > max(5, 0.3 * answerable)
    yield Finding(
        code="check.cover",
        severity="warning" if crowded else "info",
        text=text,
        hint="Results will say much about one document and little about the rest." if crowded else "",
    )


def power(subject: Subject) -> Iterator[Finding]:
    """The smallest drop that a set of this size can prove, for two guesses of how many queries change.

    A query that changes moves recall@k by at most 1, so with a share p of changed queries the standard deviation
    of the differences is at most √p (`core.statistics.paired_comparison.smallest_detectable`).
    """
    n = sum(query.answerable for query in subject.queries)
    if n == 0:
        yield Finding(code="check.no-answerable", severity="error", text="no query can be answered.")
        return
    drops = [smallest_detectable(math.sqrt(share), n) for share in CHANGED_SHARES]
    shown = " and ".join(
        f"{min(drop, 1):.3f} when {share:.0%} of the queries change"
        for drop, share in zip(drops, CHANGED_SHARES, strict=True)
    )
    yield Finding(
        code="check.power",
        severity="warning" if drops[0] > 0.1 else "info",
        text=f"{n} queries detect (80 % power) a drop in mean recall of about {shown}.",
        hint="Add queries: four times as many halve the smallest detectable drop." if drops[0] > 0.1 else "",
    )


def state(subject: Subject) -> Iterator[Finding]:
    """Where the rows come from, whether anybody accepted them, and whether no-answer queries are there."""
    queries = subject.queries
    made = sum(query.source == "synthetic" for query in queries)
    if made > len(queries) / 2:
        yield Finding(
            code="check.synthetic",
            severity="info",
            text=f"{made} of {len(queries)} queries are synthetic: compare runs, do not quote as quality.",
        )
    pending = [row(query) for query in queries if query.review == "pending"]
    yield from about(
        pending,
        "check.pending",
        "rows wait for review.",
        hint="`rageval golden review FILE`.",
        severity="info",
    )
    if all(query.answerable for query in queries):
        yield Finding(
            code="check.no-unanswerable",
            severity="info",
            text="no query is unanswerable, so the no-answer track has nothing to measure.",
        )


def _wanted(query: Query) -> set[str]:
    positive = {name for name, grade in query.relevant.items() if grade > 0}
    return positive | {name for group in query.any_of for name in group}
