"""The one rule of order: score descending, then id descending, bytewise (trec_eval's).

Python compares strings by code point, which is the order of their UTF-8 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.core.model.types import Hit, Unit


def order(ids: Sequence[str], scores: Sequence[float]) -> list[int]:
    """Positions of `ids` by the rule, best first; scores are finite, equal pairs keep their order."""
    return sorted(range(len(ids)), key=lambda at: (scores[at], ids[at]), reverse=True)


def unit_scores(hits: Sequence[Hit], unit: Unit) -> tuple[list[str], list[float]]:
    """The ids that are judged and their scores: parallel lists, best first, each id once.

    For `chunk` and `evidence` these are chunk ids, for `document` document ids: a document's score is that
    of its best chunk, and ties between documents go by document id, whatever the order of their chunks.
    """
    names = [hit.doc for hit in hits] if unit == "document" else [hit.id for hit in hits]
    best: dict[str, float] = {}
    # Hits nearly always come in order, so the sort is one pass.
    for score, name in sorted(zip([hit.score for hit in hits], names, strict=True), reverse=True):
        best.setdefault(name, score)
    return list(best), list(best.values())
