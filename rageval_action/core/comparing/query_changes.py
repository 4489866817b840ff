"""Which queries changed at the headline cutoff: the part of a comparison that people act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core.comparing.exams import Corpora, ExamQuestion
from rageval_action.core.comparing.loss_causes import NOWHERE, cause_of_gain, cause_of_loss
from rageval_action.core.labels.judged_items import Item
from rageval_action.core.measuring.measures import headline_measure
from rageval_action.core.measuring.query_layout import QueryPair, lay_out
from rageval_action.core.model.record import Miss
from rageval_action.core.model.types import Unanswerable

Change = Literal["lost", "worse", "missed", "changed", "better", "gained"]

ORDER: tuple[Change, ...] = ("lost", "worse", "missed", "changed", "better", "gained")
"""Worst first. `lost`: the last relevant item left the top k. `gained`: the first one came in. `worse` and
`better`: some did. `missed`: nothing relevant in the top k on either side. `changed`: another query text."""

UPWARDS = ("better", "gained")


class QueryChange(Struct, frozen=True, kw_only=True):
    """One query that changed, or that misses everything.

    Attributes:
        measure: the headline measure it is judged by.
        cause: for a gained or better query, why it was missing before; empty when nothing explains it.
        item: the relevant item that moved most.
        baseline_rank, candidate_rank: of that item; None when it is not in that ranking.
        by: what pushed it out, best first. tags: secondary causes.
        baseline, candidate: the query's scores.
        exam: which exam asks it so. baseline_id: its id in the base's golden set, None where that is the same.
    """

    id: str
    baseline_id: str | None = None
    exam: Literal["base", "head", "both"] = "both"
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


def changes(
    base: Sequence[ExamQuestion], head: Sequence[ExamQuestion], sides: Corpora, k: int
) -> tuple[QueryChange, ...]:
    """Every query whose share of relevant items in the top k moved or is nothing, worst first.

    A question that both exams mark alike stands there once; one that they mark differently, once for each exam in which
    it changed. What an exam cannot mark is no change of it.

    Args:
        base: the base's exam.
        head: the head's exam.
        sides: the two corpora.
        k: the headline cutoff.
    """
    heads = {one.row.query_id: one for one in head if one.before is not None and not one.unknown}
    found: list[QueryChange] = []
    for one in base:
        if one.after is None or one.unknown:
            continue
        twin = heads.get(one.after.query_id) if one.after.asked_for != "base" else None
        alike = twin is not None and twin.labels_after == one.labels_after
        if alike:
            del heads[one.after.query_id]
        found += _marked(one, "both" if alike else "base", sides, k)
    for one in heads.values():
        found += _marked(one, "head", sides, k)
    return tuple(sorted(found, key=worst_first))


def _marked(
    one: ExamQuestion, exam: Literal["base", "head", "both"], sides: Corpora, k: int
) -> list[QueryChange]:
    labels = (one.labels_before.judgments, one.labels_after.judgments)
    if one.before is None or one.after is None or any(isinstance(own, Unanswerable) for own in labels):
        return []
    pair = QueryPair(
        after=lay_out(one.after, sides.new, k, labels=one.labels_after),
        before=lay_out(one.before, sides.old, k, labels=one.labels_before),
        moved=one.moved,
    )
    change = _change(pair)
    if change is None:
        return []
    other = one.before.query_id if one.before.query_id != change.id else None
    return [replace(change, exam=exam, baseline_id=other)]


def worst_first(change: QueryChange) -> tuple[int, float, int, str]:
    """Sort key: the worst change first, then by how far it moved."""
    moved = abs((change.candidate or 0.0) - (change.baseline or 0.0))
    return ORDER.index(change.change), -moved, change.baseline_rank or NOWHERE, change.id


def _change(pair: QueryPair) -> QueryChange | None:
    row, k, ranks = pair.after.row, pair.after.k, pair.ranks
    if not ranks:
        return None
    before = sum(0 < old <= k for old, _ in ranks.values()) / len(ranks)
    after = sum(0 < new <= k for _, new in ranks.values()) / len(ranks)
    kind = _kind(before, after)
    if kind is None:
        return None
    item = _moved_most(pair, kind)
    miss = cause_of_gain(pair, item) if kind in UPWARDS else cause_of_loss(pair, item)
    if kind == "missed":
        tags = (miss.cause, *miss.tags)
        miss = Miss(cause="no-relevant-retrieved-before", item=miss.item, tags=tags, by=miss.by)
    old_rank, new_rank = ranks[item.label]
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


def _moved_most(pair: QueryPair, kind: Change) -> Item:
    """The item that ranked best on the better side and left (came into) the top k."""
    k, ranks = pair.after.k, pair.ranks

    def key(item: Item) -> tuple[bool, int, int, str]:
        old, new = ranks[item.label]
        better, worse = (new, old) if kind in UPWARDS else (old, new)
        crossed = 0 < better <= k and not 0 < worse <= k
        return not crossed, better or NOWHERE, worse or NOWHERE, item.label

    return min(pair.after.items, key=key)
