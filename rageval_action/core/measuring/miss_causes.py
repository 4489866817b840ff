"""Why a relevant item is not where it should be: one primary cause each, and what else is worth knowing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from rageval_action.core.labels.judged_items import Item, best_rank, items_of, places_of, unit_name
from rageval_action.core.labels.linking import unit_of
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.record import Miss, QueryRow
from rageval_action.core.model.types import Hit, Unit

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


class Scene(Struct, frozen=True, kw_only=True):
    """One query's answer, laid out for questions.

    Attributes:
        unit: what is ranked for this query. k: the headline cutoff.
        ranked, scores: judged ids, best first, with the score of each.
        items, ranks: what should be found, and where each item is (0 = not in the ranking).
        visible: whether the query's principal may see a judged id (a document: any chunk of it).
    """

    row: QueryRow
    unit: Unit
    k: int
    lookup: Lookup
    ranked: Sequence[str]
    scores: Sequence[float]
    items: tuple[Item, ...]
    ranks: tuple[int, ...]
    visible: Callable[[str], bool]


def everything(_name: str) -> bool:
    """Nothing is hidden."""
    return True


def scene(
    row: QueryRow, unit: Unit, k: int, lookup: Lookup, visible: Callable[[str], bool] = everything
) -> Scene:
    """Lay out one query; `unit` is the golden set's."""
    own = unit_of(row.judgments, unit)
    ranked, scores = row.ranking(own)
    places, items = places_of(ranked), items_of(row.judgments)
    return Scene(
        row=row,
        unit=own,
        k=k,
        lookup=lookup,
        ranked=ranked,
        scores=scores,
        items=items,
        ranks=tuple(best_rank(places, item) for item in items),
        visible=visible,
    )


def diagnose(scene: Scene) -> tuple[Miss, ...]:
    """A miss for every relevant item outside the top k: those without any rank first, then best grade first."""
    missing = sorted(
        (found for found in zip(scene.items, scene.ranks, strict=True) if not 0 < found[1] <= scene.k),
        key=lambda found: (found[1] > 0, -found[0].grade, -found[1], found[0].label),
    )
    return tuple(miss_of(scene, item, rank) for item, rank in missing[:MOST_ITEMS])


def miss_of(scene: Scene, item: Item, rank: int) -> Miss:
    """Why `item` is not in the top k; `rank` is where it is, 0 when it is not in the ranking."""
    tags = _tags(scene, item, rank)
    if scene.row.error:
        return Miss(cause="retriever-error", item=item.label, tags=tags)
    indexed = [member for member in item.members if scene.lookup.holds(member, scene.unit)]
    if not indexed:
        return Miss(cause="not-indexed", item=item.label, tags=tags)
    if not any(scene.visible(member) for member in indexed):
        return Miss(cause="acl-filtered", item=item.label, tags=tags, rank=rank)
    twins = _twins(scene, item, indexed)
    if twins:
        return Miss(cause="duplicate", item=item.label, tags=tags, by=twins, rank=rank)
    cause = "outranked" if rank else "below-depth"
    return Miss(cause=cause, item=item.label, tags=tags, by=tuple(rivals(scene)[:MOST_RIVALS]), rank=rank)


def rivals(scene: Scene) -> list[str]:
    """What stands in the top k and is not relevant, best first."""
    relevant = {member for item in scene.items for member in item.members}
    return [name for name in scene.ranked[: scene.k] if name not in relevant]


def _top_hits(scene: Scene) -> list[Hit]:
    """The hits whose unit is among the first k units."""
    kept = set(scene.ranked[: scene.k])
    return [hit for hit in scene.row.results if unit_name(hit, scene.unit) in kept]


def _twins(scene: Scene, item: Item, indexed: Sequence[str]) -> tuple[str, ...]:
    """What is in the top k by one of the item's own texts, under another id.

    A document counts when the chunk that earned its rank has such a text, not when it only shares a footer.
    """
    texts = frozenset[str]().union(*(scene.lookup.texts(member, scene.unit) for member in indexed))
    worth = dict(zip(scene.ranked, scene.scores, strict=True))
    names = ((unit_name(hit, scene.unit), hit) for hit in _top_hits(scene) if hit.text_hash in texts)
    twins = [name for name, hit in names if hit.score == worth[name] and name not in item.members]
    return tuple(dict.fromkeys(twins))[:MOST_RIVALS]


def _tags(scene: Scene, item: Item, rank: int) -> tuple[str, ...]:
    """Secondary circumstances, for people and for clustering."""
    tags = []
    if any(0 < other <= scene.k for other in scene.ranks):
        tags.append("other-relevant-found")
    if scene.k < rank <= 2 * scene.k:
        tags.append("close")
    if rank > scene.k and _right_document(scene, item):
        tags.append("right-document")
    if rank > scene.k and scene.scores[rank - 1] == scene.scores[scene.k - 1]:
        tags.append("tied-at-k")
    return tuple(tags)


def _right_document(scene: Scene, item: Item) -> bool:
    """True when a chunk of the item's document is in the top k, but not the chunk that counts."""
    own = {hit.doc for hit in scene.row.results if hit.id in item.members}
    return scene.unit != "document" and any(hit.doc in own for hit in _top_hits(scene))
