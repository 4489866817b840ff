"""One query's answer laid out: what should be found, where each thing stands, and by what margin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from rageval_action.core.labels.judged_items import Item, best_rank, items_of, places_of, unit_name
from rageval_action.core.labels.label_transfer import Applied, Side, own
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import Unanswerable, Unit


def everything(_name: str) -> bool:
    """Nothing is hidden."""
    return True


class QueryLayout(Struct, frozen=True, kw_only=True):
    """One query's answer under some labels.

    Attributes:
        unit: what is ranked for these labels. corpus: what the run searched. k: the headline cutoff.
        ranked, scores: judged ids, best first, and the score of each.
        items, ranks: what should be found and where it stands (0 = not in the ranking).
        visible: whether the query's principal may see a judged id (a document: any chunk of it).
    """

    row: QueryRow
    unit: Unit
    corpus: Lookup
    k: int
    ranked: Sequence[str]
    scores: Sequence[float]
    items: tuple[Item, ...]
    ranks: tuple[int, ...]
    visible: Callable[[str], bool] = everything

    @property
    def relevant(self) -> frozenset[str]:
        """Every id that satisfies an item."""
        return frozenset(member for item in self.items for member in item.members)

    @property
    def denied(self) -> frozenset[str]:
        """Judged ids of which a hit may not be seen."""
        return frozenset(unit_name(hit, self.unit) for hit in self.row.results if hit.acl_allowed is False)

    @property
    def passages(self) -> Mapping[str, str]:
        """`text_hash` of the very chunk that each of `ranked` has its score from; empty where none is known."""
        hits = sorted(self.row.results, key=lambda hit: (hit.score, -hit.rank))
        return {unit_name(hit, self.unit): hit.text_hash for hit in hits}

    @property
    def first(self) -> int:
        """Rank of the best thing to be found; 0 when none is in the ranking."""
        return min((rank for rank in self.ranks if rank), default=0)

    @property
    def margin(self) -> float | None:
        """Score of the best relevant hit less that of the best other one; None when one of them is missing."""
        relevant = self.relevant
        best: list[float | None] = [None, None]
        for name, score in zip(self.ranked, self.scores, strict=True):
            side = name in relevant
            if best[side] is None:
                best[side] = score
            if best[not side] is not None:
                break
        wrong, right = best
        return None if right is None or wrong is None else right - wrong


def lay_out(
    row: QueryRow,
    side: Side,
    k: int,
    *,
    labels: Applied | None = None,
    visible: Callable[[str], bool] = everything,
) -> QueryLayout:
    """Lay out one answer of a run, under `labels` or under the row's own."""
    labels = labels or own(row, side)
    ranked, scores = row.ranking(labels.unit)
    places, items = places_of(ranked), items_of(labels.judgments)
    return QueryLayout(
        row=row,
        unit=labels.unit,
        corpus=side.lookup,
        k=k,
        ranked=ranked,
        scores=scores,
        items=items,
        ranks=tuple(best_rank(places, item) for item in items),
        visible=visible,
    )


class QueryPair(Struct, frozen=True, kw_only=True):
    """One query on both sides.

    Attributes:
        before: None when the baseline was not asked this.
        moved: id of the baseline's labels -> the id that carries its text on in the candidate's corpus.
    """

    after: QueryLayout
    before: QueryLayout | None = None
    moved: Mapping[str, str] = {}

    @property
    def places_before(self) -> Mapping[str, int]:
        """Judged id -> its rank in the baseline's answer."""
        return places_of(self.before.ranked) if self.before else {}

    @property
    def ranks(self) -> dict[str, tuple[int, int]]:
        """Label of each of the candidate's items -> its rank before and after (0 = not in that ranking)."""
        places, had = self.places_before, self.items_before
        return {
            item.label: (best_rank(places, had.get(item.label, item)), rank)
            for item, rank in zip(self.after.items, self.after.ranks, strict=True)
        }

    @property
    def items_before(self) -> Mapping[str, Item]:
        """The items as the baseline's corpus holds them, by label: evidence has other chunks there."""
        return {self._label_now(item): item for item in self.before.items} if self.before else {}

    def _label_now(self, item: Item) -> str:
        if not self.moved.keys() & set(item.members):
            return item.label
        return " | ".join(self.moved.get(name, name) for name in item.members)

    def texts_before(self, item: Item) -> frozenset[str]:
        """`text_hash` of every text that the item had in the baseline's corpus."""
        if self.before is None:
            return frozenset()
        members = self.items_before.get(item.label, item).members
        return frozenset[str]().union(*(self.before.corpus.texts(name, self.after.unit) for name in members))


def side_of(run: RunRecord) -> Side:
    """What labels are fitted to."""
    return Side(Lookup(run.corpus), run.record.golden.unit)


def recall_curve(layouts: Iterable[QueryLayout], deepest: int) -> list[float]:
    """Mean share of what should be found within the first k, for k from 1 to `deepest`; empty without queries."""
    gains, queries = np.zeros(deepest + 1), 0
    for one in layouts:
        if not one.items:
            continue
        queries += 1
        for rank in one.ranks:
            if 0 < rank <= deepest:
                gains[rank] += 1.0 / len(one.ranks)
    return (np.cumsum(gains)[1:] / queries).tolist() if queries else []


def answerable(row: QueryRow) -> bool:
    """True unless nothing should be found for the query."""
    return not isinstance(row.judgments, Unanswerable)
