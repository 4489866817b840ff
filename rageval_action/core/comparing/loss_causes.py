"""Why a query lost a relevant item, knowing what the baseline had: one primary cause.

Without a baseline, `core.measuring.miss_causes` decides alone.
"""

from __future__ import annotations

from rageval_action.core.labels.judged_items import Item, unit_name
from rageval_action.core.measuring.miss_causes import MOST_RIVALS, miss_of, rivals
from rageval_action.core.measuring.query_layout import QueryPair
from rageval_action.core.model.record import Miss, QueryRow

NOWHERE = 10**9
"""A rank below every rank there is."""


def cause_of_loss(pair: QueryPair, item: Item) -> Miss:
    """Why the candidate misses the item. The record's own diagnosis comes first: it knew who may see what."""
    old_rank, new_rank = pair.ranks[item.label]
    miss = _stored(pair.after.row, item) or miss_of(pair.after, item, new_rank)
    if miss.cause == "not-indexed":
        return _gone(pair, item, miss)
    if miss.cause not in ("outranked", "below-depth") or not old_rank:
        return miss
    places = pair.places_before
    risen = [name for name in rivals(pair.after) if places.get(name, NOWHERE) > old_rank]
    by = tuple(risen[:MOST_RIVALS]) or miss.by
    return Miss(cause=miss.cause, item=miss.item, tags=miss.tags, by=by, rank=miss.rank)


def cause_of_gain(pair: QueryPair, item: Item) -> Miss:
    """Why the baseline missed the item, as its record says; no cause where it does not."""
    stored = _stored(pair.before.row, item) if pair.before else None
    return stored or Miss(cause="", item=item.label)


def _stored(row: QueryRow, item: Item) -> Miss | None:
    return next((miss for miss in row.misses if miss.item == item.label), None)


def _gone(pair: QueryPair, item: Item, miss: Miss) -> Miss:
    """Not in the index any more: under another id when at least half of its texts are still there.

    Where the label follows the text and keeps its old name, the new one was not in the ranking.
    """
    new, texts = pair.after, pair.texts_before(item)
    if pair.moved.keys() & set(item.members):
        return Miss(cause="below-depth", item=item.label, tags=miss.tags, by=tuple(rivals(new)[:MOST_RIVALS]))
    kept = {text for text in texts if new.corpus.carries(text)}
    if not texts or 2 * len(kept) < len(texts):
        return miss
    carriers = [unit_name(hit, new.unit) for hit in new.row.results if hit.text_hash in kept]
    by = tuple(dict.fromkeys(carriers))[:MOST_RIVALS]
    return Miss(cause="re-identified", item=item.label, tags=miss.tags, by=by)
