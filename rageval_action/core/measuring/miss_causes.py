"""Why a relevant item is not where it should be: one primary cause each, and what else is worth knowing."""

from __future__ import annotations

from collections.abc import Sequence

from rageval_action.core.labels.judged_items import Item, unit_name
from rageval_action.core.measuring.query_layout import QueryLayout
from rageval_action.core.model.record import Miss
from rageval_action.core.model.types import Hit

CAUSES = (
    "retriever-error",
    "not-indexed",
    "re-identified",
    "acl-filtered",
    "duplicate",
    "outranked",
    "below-depth",
    "query-changed",
    "no-relevant-retrieved-before",
)
"""Codes of primary causes, in the order in which they are tried; `re-identified` and the last two need a baseline."""

MOST_ITEMS = 20
"""Items diagnosed per query: with hundreds of relevant items, misses at a small k are no news."""

MOST_RIVALS = 5


def diagnose(query: QueryLayout) -> tuple[Miss, ...]:
    """A miss for every relevant item outside the top k: those without any rank first, then best grade first."""
    missing = sorted(
        (found for found in zip(query.items, query.ranks, strict=True) if not 0 < found[1] <= query.k),
        key=lambda found: (found[1] > 0, -found[0].grade, -found[1], found[0].label),
    )
    return tuple(miss_of(query, item, rank) for item, rank in missing[:MOST_ITEMS])


def miss_of(query: QueryLayout, item: Item, rank: int) -> Miss:
    """Why `item` is not in the top k; `rank` is where it is, 0 when it is not in the ranking."""
    tags = _tags(query, item, rank)
    if query.row.error:
        return Miss(cause="retriever-error", item=item.label, tags=tags)
    indexed = [member for member in item.members if query.corpus.holds(member, query.unit)]
    if not indexed:
        return Miss(cause="not-indexed", item=item.label, tags=tags)
    if not any(query.visible(member) for member in indexed):
        return Miss(cause="acl-filtered", item=item.label, tags=tags, rank=rank)
    twins = _twins(query, item, indexed)
    if twins:
        return Miss(cause="duplicate", item=item.label, tags=tags, by=twins, rank=rank)
    cause = "outranked" if rank else "below-depth"
    return Miss(cause=cause, item=item.label, tags=tags, by=tuple(rivals(query)[:MOST_RIVALS]), rank=rank)


def rivals(query: QueryLayout) -> list[str]:
    """What stands in the top k and is not relevant, best first."""
    relevant = query.relevant
    return [name for name in query.ranked[: query.k] if name not in relevant]


def _top_hits(query: QueryLayout) -> list[Hit]:
    """The hits whose unit is among the first k units."""
    kept = set(query.ranked[: query.k])
    return [hit for hit in query.row.results if unit_name(hit, query.unit) in kept]


def _twins(query: QueryLayout, item: Item, indexed: Sequence[str]) -> tuple[str, ...]:
    """What is in the top k by one of the item's own texts, under another id.

    A document counts when the chunk that earned its rank has such a text, not when it only shares a footer.
    """
    texts = frozenset[str]().union(*(query.corpus.texts(member, query.unit) for member in indexed))
    worth = dict(zip(query.ranked, query.scores, strict=True))
    names = ((unit_name(hit, query.unit), hit) for hit in _top_hits(query) if hit.text_hash in texts)
    twins = [name for name, hit in names if hit.score == worth[name] and name not in item.members]
    return tuple(dict.fromkeys(twins))[:MOST_RIVALS]


def _tags(query: QueryLayout, item: Item, rank: int) -> tuple[str, ...]:
    """Secondary circumstances, for people and for clustering."""
    tags = []
    if any(0 < other <= query.k for other in query.ranks):
        tags.append("other-relevant-found")
    if query.k < rank <= 2 * query.k:
        tags.append("close")
    if rank > query.k and _right_document(query, item):
        tags.append("right-document")
    if rank > query.k and query.scores[rank - 1] == query.scores[query.k - 1]:
        tags.append("tied-at-k")
    return tuple(tags)


def _right_document(query: QueryLayout, item: Item) -> bool:
    """True when a chunk of the item's document is in the top k, but not the chunk that counts."""
    own = {hit.doc for hit in query.row.results if hit.id in item.members}
    return query.unit != "document" and any(hit.doc in own for hit in _top_hits(query))
