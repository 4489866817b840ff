"""Why a relevant item is not where it should be: one primary cause each, and what else is worth knowing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from msgspec import Struct

from rageval_action.core.ranking import unit_ids
from rageval_action.core.record import Corpus, Miss, QueryRow, hash64
from rageval_action.core.types import EvidenceItems, Grades, Groups, Hit, Judgments, Unit

CAUSES: dict[str, str] = {
    "retriever-error": "the retriever failed for this query",
    "not-indexed": "the item is not in the index",
    "re-identified": "its text is in the index under another id",
    "acl-filtered": "the query's principal may not see it",
    "duplicate": "an identical text took its place",
    "outranked": "other documents rank above it",
    "below-depth": "it is in the index, but below the depth that was searched",
    "query-changed": "the query's text is not the one the baseline answered",
    "no-relevant-retrieved-before": "it was missing before as well",
}
"""Primary cause -> what it says, in the order in which they are tried."""

MOST_ITEMS = 20
"""Items diagnosed per query: with hundreds of relevant items, misses at a small k are no news."""

MOST_RIVALS = 5


class Item(Struct, frozen=True):
    """One thing to be found: any of `members` will do. `label` is what a reader sees."""

    label: str
    members: tuple[str, ...]
    grade: int = 1


def items_of(judgments: Judgments) -> tuple[Item, ...]:
    """What a query should find, best grade first, then by label."""
    match judgments:
        case Grades(grades=grades):
            found = [Item(name, (name,), grade) for name, grade in grades.items() if grade >= 1]
        case Groups(groups=groups):
            found = [Item(" | ".join(group), group) for group in groups]
        case EvidenceItems(items=items):
            found = [Item(f"{item.doc}: {item.quote}", item.chunks) for item in items]
        case _:
            found = []
    return tuple(sorted(found, key=lambda item: (-item.grade, item.label)))


def best_rank(ranked: Sequence[str], item: Item) -> int:
    """1-based rank of the item's first member in `ranked`, 0 when none is there."""
    members = set(item.members)
    return next((rank for rank, name in enumerate(ranked, start=1) if name in members), 0)


def texts_of(corpus: Corpus, name: str, unit: Unit) -> set[int]:
    """Text hashes of a document's chunks, or of one chunk; empty when the corpus does not hold it."""
    column = corpus.docs if unit == "document" else corpus.ids
    return set(corpus.texts[column == np.uint64(hash64(name))].tolist())


def holds(corpus: Corpus, name: str, unit: Unit) -> bool:
    """True when the corpus has a document (or chunk) of this id."""
    column = corpus.docs if unit == "document" else corpus.ids
    return bool((column == np.uint64(hash64(name))).any())


def diagnose(
    row: QueryRow,
    *,
    unit: Unit,
    k: int,
    corpus: Corpus,
    visible: Callable[[str], bool] = lambda _name: True,
) -> tuple[Miss, ...]:
    """A miss for every relevant item outside the top `k` of one query, those without any rank first.

    `visible` says whether the query's principal may see a judged id (a document: any chunk of it).
    """
    ranked = unit_ids(row.results, unit)
    items = items_of(row.judgments)
    ranks = [best_rank(ranked, item) for item in items]
    found = sum(0 < rank <= k for rank in ranks)
    missing = [(item, rank) for item, rank in zip(items, ranks, strict=True) if not 0 < rank <= k]
    return tuple(
        _miss(row, item, rank, ranked=ranked, found=found, unit=unit, k=k, corpus=corpus, visible=visible)
        for item, rank in missing[:MOST_ITEMS]
    )


def _miss(
    row: QueryRow,
    item: Item,
    rank: int,
    *,
    ranked: Sequence[str],
    found: int,
    unit: Unit,
    k: int,
    corpus: Corpus,
    visible: Callable[[str], bool],
) -> Miss:
    relevant = {member for other in items_of(row.judgments) for member in other.members}
    rivals = tuple(name for name in ranked[:k] if name not in relevant)[:MOST_RIVALS]
    tags = _tags(row, item, rank, found=found, unit=unit, k=k)
    if row.error:
        return Miss(cause="retriever-error", item=item.label, tags=tags)
    indexed = [member for member in item.members if holds(corpus, member, unit)]
    if not indexed:
        return Miss(cause="not-indexed", item=item.label, tags=tags)
    if not any(visible(member) for member in indexed):
        return Miss(cause="acl-filtered", item=item.label, tags=tags, rank=rank)
    twins = _twins(row, item, indexed, unit=unit, k=k, corpus=corpus)
    if twins:
        return Miss(cause="duplicate", item=item.label, tags=tags, by=twins, rank=rank)
    cause = "outranked" if rank else "below-depth"
    return Miss(cause=cause, item=item.label, tags=tags, by=rivals, rank=rank)


def _top(hits: Sequence[Hit], unit: Unit, k: int) -> list[Hit]:
    """The hits whose unit is among the first k units."""
    kept = set(unit_ids(hits, unit)[:k])
    return [hit for hit in hits if (hit.doc if unit == "document" else hit.id) in kept]


def _twins(
    row: QueryRow, item: Item, indexed: Collection[str], *, unit: Unit, k: int, corpus: Corpus
) -> tuple[str, ...]:
    """Documents (chunks) in the top k that carry one of the item's own texts under another id."""
    texts = set().union(*(texts_of(corpus, member, unit) for member in indexed))
    twins = [
        hit.doc if unit == "document" else hit.id
        for hit in _top(row.results, unit, k)
        if hit.text_hash and int(hit.text_hash, 16) in texts
    ]
    return tuple(dict.fromkeys(twin for twin in twins if twin not in item.members))[:MOST_RIVALS]


def _tags(row: QueryRow, item: Item, rank: int, *, found: int, unit: Unit, k: int) -> tuple[str, ...]:
    """Secondary circumstances, for people and for clustering."""
    tags = []
    if found:
        tags.append("other-relevant-found")
    if k < rank <= 2 * k:
        tags.append("close")
    if unit != "document" and rank > k:
        own = {hit.doc for hit in row.results if hit.id in item.members}
        if own & {hit.doc for hit in _top(row.results, unit, k)}:
            tags.append("right-document")
    if rank > k and _tied_at_cut(row, item, unit, k):
        tags.append("tied-at-k")
    return tuple(tags)


def _tied_at_cut(row: QueryRow, item: Item, unit: Unit, k: int) -> bool:
    """True when the item's best score equals the score of the last unit inside the cut."""

    def name(hit: Hit) -> str:
        return hit.doc if unit == "document" else hit.id

    best: dict[str, float] = {}
    for hit in row.results:
        best[name(hit)] = max(best.get(name(hit), hit.score), hit.score)
    last = unit_ids(row.results, unit)[k - 1]
    own = max(best[member] for member in item.members if member in best)
    return own == best[last]
