"""One query looked at closely: where each thing to be found stands, and by what margin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from rageval_action.core.labels.judged_items import Item, best_rank, items_of, places_of
from rageval_action.core.labels.label_transfer import Applied, Kept, Side, onto_baseline, own
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.ranking import unit_scores
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import Unanswerable


class Look(Struct, frozen=True, kw_only=True):
    """One query's answer under some labels.

    Attributes:
        ranked, scores: judged ids, best first, and the score of each.
        items, ranks: what should be found and where it stands (0 = not in the ranking).
        relevant: every id that satisfies an item. denied: ids of which a hit may not be seen.
        passages: `text_hash` of the very chunk that each of `ranked` has its score from; empty where none is known.
    """

    ranked: Sequence[str]
    scores: Sequence[float]
    items: tuple[Item, ...]
    ranks: tuple[int, ...]
    relevant: frozenset[str]
    denied: frozenset[str]
    passages: Mapping[str, str]

    @property
    def first(self) -> int:
        """Rank of the best thing to be found; 0 when none is in the ranking."""
        return min((rank for rank in self.ranks if rank), default=0)

    @property
    def margin(self) -> float | None:
        """Score of the best relevant hit less that of the best other one; None when one of them is missing."""
        best: list[float | None] = [None, None]
        for name, score in zip(self.ranked, self.scores, strict=True):
            side = name in self.relevant
            if best[side] is None:
                best[side] = score
            if best[not side] is not None:
                break
        wrong, right = best
        return None if right is None or wrong is None else right - wrong


def look(row: QueryRow, labels: Applied) -> Look:
    """Lay out one answer under `labels`."""
    ranked, scores = unit_scores(row.results, labels.unit)
    places, items = places_of(ranked), items_of(labels.judgments)
    name = "doc" if labels.unit == "document" else "id"
    return Look(
        ranked=ranked,
        scores=scores,
        items=items,
        ranks=tuple(best_rank(places, item) for item in items),
        relevant=frozenset(member for item in items for member in item.members),
        denied=frozenset(getattr(hit, name) for hit in row.results if hit.acl_allowed is False),
        passages={
            getattr(hit, name): hit.text_hash
            for hit in sorted(row.results, key=lambda hit: (hit.score, -hit.rank))
        },
    )


class Sight(Struct, frozen=True, kw_only=True):
    """One query on both sides; `before` is None when the baseline has no query of this id and text."""

    row: QueryRow
    after: Look
    before_row: QueryRow | None = None
    before: Look | None = None


def sights(candidate: RunRecord, baseline: RunRecord | None = None) -> list[Sight]:
    """Every query of the candidate, in its order, beside the baseline's answer under the candidate's labels.

    Where these cannot be applied to the old run, it keeps its own, as in the comparison.
    """
    new = _side(candidate)
    if baseline is None:
        return [Sight(row=row, after=look(row, own(row, new))) for row in candidate.queries]
    old, known = _side(baseline), {row.query_id: row for row in baseline.queries}
    return [_sight(row, known, old, new) for row in candidate.queries]


def _side(run: RunRecord) -> Side:
    return Side(Lookup(run.corpus), run.record.golden.unit)


def _sight(row: QueryRow, known: Mapping[str, QueryRow], old: Side, new: Side) -> Sight:
    after = look(row, own(row, new))
    before = known.get(row.query_id)
    if before is None or before.query_sha256 != row.query_sha256:
        return Sight(row=row, after=after)
    fitted = onto_baseline(row, before, old, new)
    labels = own(before, old) if isinstance(fitted, Kept) else fitted
    return Sight(row=row, after=after, before_row=before, before=look(before, labels))


def recall_curve(looks: Iterable[Look], deepest: int) -> list[float]:
    """Mean share of what should be found within the first k, for k from 1 to `deepest`; empty without queries."""
    gains, queries = np.zeros(deepest + 1), 0
    for one in looks:
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
