"""Which queries changed at the headline cutoff, and why: the part of a comparison that people act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from rageval_action.core.labels.judged_items import Item, best_rank, items_of, places_of, unit_name
from rageval_action.core.labels.label_transfer import Applied, Side
from rageval_action.core.measuring.measures import headline_measure
from rageval_action.core.measuring.miss_causes import MOST_RIVALS, Scene, miss_of, rivals, scene
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.record import Miss, QueryRow
from rageval_action.core.model.types import Unanswerable

Change = Literal["lost", "worse", "missed", "changed", "better", "gained"]

ORDER: tuple[Change, ...] = ("lost", "worse", "missed", "changed", "better", "gained")
"""Worst first. `lost`: the last relevant item left the top k. `gained`: the first one came in. `worse` and
`better`: some did. `missed`: nothing relevant in the top k on either side. `changed`: another query text."""

UPWARDS = ("better", "gained")

NOWHERE = 10**9
"""A rank below every rank there is."""


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


class Pair(Struct, frozen=True):
    """One query on both sides; `labels` are the candidate's judgments as fitted to the baseline's row."""

    before: QueryRow
    labels: Applied
    after: QueryRow


class _Moves(Struct, frozen=True):
    """One pair, laid out: rank of each of the candidate's items before and after (0 = not in that ranking).

    `had` are the items as the baseline's corpus holds them, by label: evidence has other chunks there.
    """

    before: QueryRow
    after: Scene
    had: Mapping[str, Item]
    old_places: Mapping[str, int]
    ranks: Mapping[str, tuple[int, int]]
    old: Lookup


def changes(
    pairs: Sequence[Pair], reworded: Sequence[QueryRow], old: Side, new: Side, k: int
) -> tuple[QueryChange, ...]:
    """Every paired query whose share of relevant items in the top k moved or is nothing, worst first.

    `reworded` are the candidate's rows whose text is not the baseline's.
    """
    found = [_reworded(row, k) for row in reworded]
    for pair in pairs:
        if isinstance(pair.after.judgments, Unanswerable) or isinstance(pair.labels.judgments, Unanswerable):
            continue
        change = _change(_laid_out(pair, old, new, k))
        if change is not None:
            found.append(change)
    return tuple(sorted(found, key=_worst_first))


def _worst_first(change: QueryChange) -> tuple[int, float, int, str]:
    moved = abs((change.candidate or 0.0) - (change.baseline or 0.0))
    return ORDER.index(change.change), -moved, change.baseline_rank or NOWHERE, change.id


def _reworded(row: QueryRow, k: int) -> QueryChange:
    return QueryChange(
        id=row.query_id,
        change="changed",
        measure=headline_measure(k),
        cause="query-changed",
        baseline_rank=None,
        candidate_rank=None,
        query=row.query,
        line=row.line,
    )


def _laid_out(pair: Pair, old: Side, new: Side, k: int) -> _Moves:
    after = scene(pair.after, new.unit, k, new.lookup)
    had = {item.label: item for item in items_of(pair.labels.judgments)}
    old_places = places_of(pair.before.ranking(pair.labels.unit)[0])
    ranks = {
        item.label: (best_rank(old_places, had.get(item.label, item)), rank)
        for item, rank in zip(after.items, after.ranks, strict=True)
    }
    return _Moves(pair.before, after, had, old_places, ranks, old.lookup)


def _change(moves: _Moves) -> QueryChange | None:
    items, k = moves.after.items, moves.after.k
    if not items:
        return None
    before = sum(0 < old <= k for old, _ in moves.ranks.values()) / len(moves.ranks)
    after = sum(0 < new <= k for _, new in moves.ranks.values()) / len(moves.ranks)
    kind = _kind(before, after)
    if kind is None:
        return None
    item = _story(moves, kind)
    miss = _why(moves, item, kind)
    old_rank, new_rank = moves.ranks[item.label]
    row = moves.after.row
    return QueryChange(
        id=row.query_id,
        change=kind,
        measure=headline_measure(k),
        cause=miss.cause,
        baseline_rank=old_rank or None,
        candidate_rank=new_rank or None,
        by=miss.by,
        item=item.label,
        tags=miss.tags,
        baseline=before,
        candidate=after,
        query=row.query,
        line=row.line,
    )


def _kind(before: float, after: float) -> Change | None:
    if before == after:
        return "missed" if after == 0.0 else None
    if after < before:
        return "lost" if after == 0.0 else "worse"
    return "gained" if before == 0.0 else "better"


def _story(moves: _Moves, kind: Change) -> Item:
    """The item that tells the story: the one that ranked best on the better side and left (came into) the top k."""
    k = moves.after.k

    def key(item: Item) -> tuple[bool, int, int, str]:
        old, new = moves.ranks[item.label]
        better, worse = (new, old) if kind in UPWARDS else (old, new)
        crossed = 0 < better <= k and not 0 < worse <= k
        return not crossed, better or NOWHERE, worse or NOWHERE, item.label

    return min(moves.after.items, key=key)


def _why(moves: _Moves, item: Item, kind: Change) -> Miss:
    if kind in UPWARDS:
        return _stored(moves.before, item) or Miss(cause="", item=item.label)
    miss = _cause(moves, item)
    if kind != "missed":
        return miss
    tags = (miss.cause, *miss.tags)
    return Miss(cause="no-relevant-retrieved-before", item=miss.item, tags=tags, by=miss.by)


def _stored(row: QueryRow, item: Item) -> Miss | None:
    return next((miss for miss in row.misses if miss.item == item.label), None)


def _cause(moves: _Moves, item: Item) -> Miss:
    """Why the candidate misses the item, knowing what the baseline had.

    The record's own diagnosis comes first: it knew who may see what.
    """
    new, old_rank = moves.after, moves.ranks[item.label][0]
    miss = _stored(new.row, item) or miss_of(new, item, moves.ranks[item.label][1])
    if miss.cause == "not-indexed":
        return _gone(moves, item, miss)
    if miss.cause not in ("outranked", "below-depth") or not old_rank:
        return miss
    risen = [name for name in rivals(new) if moves.old_places.get(name, NOWHERE) > old_rank]
    by = tuple(risen[:MOST_RIVALS]) or miss.by
    return Miss(cause=miss.cause, item=miss.item, tags=miss.tags, by=by, rank=miss.rank)


def _gone(moves: _Moves, item: Item, miss: Miss) -> Miss:
    """Not in the index any more: under another id when at least half of its texts are still there."""
    new, had = moves.after, moves.had.get(item.label, item)
    texts = frozenset[str]().union(*(moves.old.texts(name, new.unit) for name in had.members))
    kept = {text for text in texts if new.lookup.carries(text)}
    if not texts or 2 * len(kept) < len(texts):
        return miss
    carriers = [unit_name(hit, new.unit) for hit in new.row.results if hit.text_hash in kept]
    by = tuple(dict.fromkeys(carriers))[:MOST_RIVALS]
    return Miss(cause="re-identified", item=item.label, tags=miss.tags, by=by)
