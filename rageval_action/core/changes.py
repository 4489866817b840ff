"""What is different between two records beside the scores: queries, corpus, set-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from rageval_action.core.diagnosis import MOST_RIVALS, Item, best_rank, holds, items_of, texts_of
from rageval_action.core.ranking import unit_ids
from rageval_action.core.record import Corpus, Miss, QueryRow, Record, RunRecord
from rageval_action.core.types import Judgments, Notice, Unanswerable, Unit

if TYPE_CHECKING:
    from rageval_action.core.comparison import Pairing

Change = Literal["lost", "worse", "missed", "changed", "better", "gained"]

ORDER: tuple[Change, ...] = ("lost", "worse", "missed", "changed", "better", "gained")
"""Worst first. `lost`: the last relevant item left the top k. `gained`: the first one came in. `worse` and
`better`: some did. `missed`: nothing relevant in the top k on either side. `changed`: another query text."""

TURNED_OVER = 0.5
"""From this share of new chunk ids on, a corpus counts as re-chunked."""

SET_UP = ("model", "chunker", "corpus", "retriever", "metric")
"""Factors of which only one should change at a time, or nobody knows which one moved the score."""


class QueryChange(Struct, frozen=True, kw_only=True):
    """One query that changed, or that misses everything.

    Attributes:
        measure: the headline measure it is judged by.
        cause: for a gained or better query, why it was missing before; empty when nothing explains it.
        item: the relevant item that moved most.
        baseline_rank, candidate_rank: of that item; None when it is not in that ranking.
        by: what pushed it out, best first. tags: secondary causes.
        baseline, candidate: the query's scores.
    """

    id: str
    change: Change
    measure: str
    cause: str
    baseline_rank: int | None
    candidate_rank: int | None
    by: tuple[str, ...] = ()
    item: str = ""
    tags: tuple[str, ...] = ()
    baseline: float | None = None
    candidate: float | None = None
    query: str = ""
    line: int = 0


class Factor(Struct, frozen=True, kw_only=True):
    """Something about the set-up that is not the same on both sides."""

    name: str
    before: str
    after: str


class Turnover(Struct, frozen=True, kw_only=True):
    """How much of the corpus is still the same. Shares are of the candidate's chunks.

    Attributes:
        new_ids: share whose id the baseline did not have. same_texts: share whose text it had.
        documents_added, documents_removed: counts by document id.
    """

    new_ids: float
    same_texts: float
    documents_added: int
    documents_removed: int

    @property
    def rechunked(self) -> bool:
        """Most chunk ids are new."""
        return self.new_ids >= TURNED_OVER


def turnover(before: Corpus, after: Corpus) -> Turnover:
    """Compare two corpora by their hashes."""
    known = np.isin(after.ids, before.ids)
    texts = np.isin(after.texts, before.texts)
    old, new = np.unique(before.docs), np.unique(after.docs)
    return Turnover(
        new_ids=1.0 - float(known.mean()) if known.size else 0.0,
        same_texts=float(texts.mean()) if texts.size else 1.0,
        documents_added=int((~np.isin(new, old)).sum()),
        documents_removed=int((~np.isin(old, new)).sum()),
    )


def factors(
    before: Record, after: Record, corpus: Turnover, *, relabelled: int, pairing: Pairing
) -> tuple[Factor, ...]:
    """Every part of the set-up that differs, the retrieval side first, then the judging side."""
    pairs = {
        "model": (_model(before), _model(after)),
        "chunker": (before.snapshot.chunker, after.snapshot.chunker),
        "metric": (before.snapshot.metric, after.snapshot.metric),
        "retriever": (_retriever(before), _retriever(after)),
        "access": (before.acl_mode, after.acl_mode),
        "k": (str(before.k), str(after.k)),
        "unit": (before.golden.unit, after.golden.unit),
    }
    found = [Factor(name=name, before=old, after=new) for name, (old, new) in pairs.items() if old != new]
    if _content_changed(before, after, corpus):
        found.append(
            Factor(
                name="corpus",
                before=f"{before.snapshot.documents} documents, {before.snapshot.chunks} chunks",
                after=f"{after.snapshot.documents} documents, {after.snapshot.chunks} chunks: "
                f"{corpus.documents_added} added, {corpus.documents_removed} removed",
            )
        )
    if relabelled or pairing.new or pairing.removed or pairing.changed:
        found.append(
            Factor(
                name="golden set",
                before=f"{before.golden.queries} queries",
                after=f"{after.golden.queries} queries: {relabelled} relabelled, {len(pairing.new)} new, "
                f"{len(pairing.removed)} removed, {len(pairing.changed)} reworded",
            )
        )
    return tuple(found)


def _content_changed(before: Record, after: Record, corpus: Turnover) -> bool:
    """Documents came or went, or texts changed although the chunker did not."""
    if corpus.documents_added or corpus.documents_removed:
        return True
    same_chunker = before.snapshot.chunker == after.snapshot.chunker
    return same_chunker and (corpus.same_texts < 1.0 or before.snapshot.chunks != after.snapshot.chunks)


def _model(record: Record) -> str:
    snapshot = record.snapshot
    parts = [snapshot.model, snapshot.revision]
    parts += [f"query prefix {snapshot.query_prefix!r}"] if snapshot.query_prefix else []
    parts += [f"document prefix {snapshot.document_prefix!r}"] if snapshot.document_prefix else []
    return " ".join(part for part in parts if part)


def _retriever(record: Record) -> str:
    retriever = record.retriever
    settings = " ".join(f"{name}={value}" for name, value in sorted(retriever.parameters.items()))
    return " ".join(part for part in (retriever.name, settings, retriever.reranker) if part)


def warnings(
    before: RunRecord, after: RunRecord, found: Sequence[Factor], corpus: Turnover, stored: int
) -> tuple[Notice, ...]:
    """What a reader must know before looking at a number, most important first."""
    notes = []
    if corpus.rechunked:
        share = round(100 * corpus.new_ids)
        kept = round(100 * corpus.same_texts)
        notes.append(
            Notice(code="corpus.rechunked", text=f"re-chunked: {share} % of ids new, {kept} % of texts known")
        )
    moved = [factor.name for factor in found if factor.name in SET_UP]
    if len(moved) > 1:
        text = f"{', '.join(moved)} changed at once: the comparison cannot tell which of them moved the score"
        notes.append(Notice(code="several-factors", text=text))
    if stored:
        text = f"{stored} queries keep the baseline's own labels: the new ones name what it did not have"
        notes.append(Notice(code="labels.stored", text=text))
    shallow = min(before.record.retriever.depth, after.record.retriever.depth)
    if before.record.retriever.depth != after.record.retriever.depth:
        notes.append(
            Notice(code="depth", text=f"both sides are scored at depth {shallow}, the smaller of the two")
        )
    return tuple(notes)


class _Pair(Struct, frozen=True):
    """One query on both sides, under the candidate's labels."""

    old: QueryRow
    new: QueryRow
    old_items: dict[str, Item]
    old_ranked: list[str]
    new_ranked: list[str]


def queries(
    before: Sequence[QueryRow],
    labels: Sequence[Judgments],
    after: Sequence[QueryRow],
    changed: Sequence[str],
    candidate: RunRecord,
    baseline: RunRecord,
    k: int,
) -> tuple[QueryChange, ...]:
    """Every paired query whose share of relevant items in the top k moved or is nothing, worst first.

    `labels` are the candidate's judgments fitted to the baseline's rows (`relabel.onto_baseline`).
    """
    unit = candidate.record.golden.unit
    found = []
    for old, fitted, new in zip(before, labels, after, strict=True):
        if isinstance(new.judgments, Unanswerable) or isinstance(fitted, Unanswerable):
            continue
        pair = _Pair(
            old,
            new,
            {item.label: item for item in items_of(fitted)},
            unit_ids(old.results, unit),
            unit_ids(new.results, unit),
        )
        change = _change(pair, candidate.corpus, baseline.corpus, unit, k)
        if change is not None:
            found.append(change)
    found += [_reworded(row, k) for row in candidate.queries if row.query_id in set(changed)]
    return tuple(sorted(found, key=_worst_first))


def _worst_first(change: QueryChange) -> tuple[int, float, float, bytes]:
    moved = abs((change.candidate or 0.0) - (change.baseline or 0.0))
    return (ORDER.index(change.change), -moved, change.baseline_rank or float("inf"), change.id.encode())


def _reworded(row: QueryRow, k: int) -> QueryChange:
    return QueryChange(
        id=row.query_id,
        change="changed",
        measure=f"recall@{k}",
        cause="query-changed",
        baseline_rank=None,
        candidate_rank=None,
        query=row.query,
        line=row.line,
    )


def _kind(before: float, after: float) -> Change | None:
    if before == after:
        return "missed" if after == 0.0 else None
    if after < before:
        return "lost" if after == 0.0 else "worse"
    return "gained" if before == 0.0 else "better"


def _change(pair: _Pair, corpus: Corpus, old_corpus: Corpus, unit: Unit, k: int) -> QueryChange | None:
    items = items_of(pair.new.judgments)
    ranks = {
        item.label: (
            best_rank(pair.old_ranked, pair.old_items.get(item.label, item)),
            best_rank(pair.new_ranked, item),
        )
        for item in items
    }
    if not items:
        return None
    before = sum(0 < old <= k for old, _ in ranks.values()) / len(items)
    after = sum(0 < new <= k for _, new in ranks.values()) / len(items)
    kind = _kind(before, after)
    if kind is None:
        return None
    item = _moved_most(items, ranks, kind, k)
    old_rank, new_rank = ranks[item.label]
    if kind in ("better", "gained"):
        miss = _stored_miss(pair.old, item)
    else:
        miss = _cause(pair, item, old_rank, corpus, old_corpus, unit, k)
        if kind == "missed":
            miss = Miss(
                cause="no-relevant-retrieved-before",
                item=miss.item,
                tags=(miss.cause, *miss.tags),
                by=miss.by,
            )
    return QueryChange(
        id=pair.new.query_id,
        change=kind,
        measure=f"recall@{k}",
        cause=miss.cause,
        baseline_rank=old_rank or None,
        candidate_rank=new_rank or None,
        by=miss.by,
        item=item.label,
        tags=miss.tags,
        baseline=before,
        candidate=after,
        query=pair.new.query,
        line=pair.new.line,
    )


def _moved_most(items: Sequence[Item], ranks: dict[str, tuple[int, int]], kind: Change, k: int) -> Item:
    """The item that tells the story: for a loss the one that ranked best before and left, for a gain the reverse."""

    def key(item: Item) -> tuple[bool, int, str]:
        old, new = ranks[item.label]
        here, there = (new, old) if kind in ("better", "gained", "missed") else (old, new)
        crossed = 0 < here <= k and not 0 < there <= k
        return (not crossed, here or 10**9, item.label)

    return min(items, key=key)


def _stored_miss(row: QueryRow, item: Item) -> Miss:
    return next((miss for miss in row.misses if miss.item == item.label), Miss(cause="", item=item.label))


def _cause(
    pair: _Pair, item: Item, old_rank: int, corpus: Corpus, old_corpus: Corpus, unit: Unit, k: int
) -> Miss:
    """Why the candidate misses the item, knowing what the baseline had."""
    if pair.new.error:
        return Miss(cause="retriever-error", item=item.label)
    if not any(holds(corpus, name, unit) for name in item.members):
        before = pair.old_items.get(item.label, item)
        texts = set().union(*(texts_of(old_corpus, name, unit) for name in before.members))
        kept = texts & set(corpus.texts.tolist())
        if texts and 2 * len(kept) >= len(texts):
            return Miss(cause="re-identified", item=item.label, by=_carriers(pair.new, kept, unit))
        return Miss(cause="not-indexed", item=item.label)
    miss = _stored_miss(pair.new, item)
    if miss.cause not in ("outranked", "below-depth") or not old_rank:
        return miss
    risen = _risen(pair, old_rank, k)
    return Miss(cause=miss.cause, item=miss.item, tags=miss.tags, by=risen or miss.by, rank=miss.rank)


def _carriers(row: QueryRow, texts: set[int], unit: Unit) -> tuple[str, ...]:
    """Under which ids the query's hits carry these texts now."""
    names = [
        hit.doc if unit == "document" else hit.id
        for hit in row.results
        if int(hit.text_hash or "0", 16) in texts
    ]
    return tuple(dict.fromkeys(names))[:MOST_RIVALS]


def _risen(pair: _Pair, old_rank: int, k: int) -> tuple[str, ...]:
    """What is in the top k now and ranked below the item (or not at all) before."""
    relevant = {name for item in items_of(pair.new.judgments) for name in item.members}
    before = {name: rank for rank, name in enumerate(pair.old_ranked, start=1)}
    rivals = [name for name in pair.new_ranked[:k] if name not in relevant]
    return tuple(name for name in rivals if before.get(name, 10**9) > old_rank)[:MOST_RIVALS]
