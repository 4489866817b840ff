"""The one rule of order: score descending, then id descending, bytewise (trec_eval's).

Python compares strings by code point, which is the order of their UTF-8 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.core.types import Hit, Unit


def order(ids: Sequence[str], scores: Sequence[float]) -> list[int]:
    """Positions of `ids` by the rule, best first; scores are finite, equal pairs keep their order."""
    return sorted(range(len(ids)), key=lambda at: (scores[at], ids[at]), reverse=True)


def unit_ids(hits: Sequence[Hit], unit: Unit) -> list[str]:
    """The ids that are judged, best first, each once.

    For `chunk` and `evidence` these are chunk ids, for `document` document ids: a document's score is that
    of its best chunk, and ties between documents go by document id, whatever the order of their chunks.
    """
    return [name for _, name in _ranked(hits, unit)]


def unit_scores(hits: Sequence[Hit], unit: Unit) -> tuple[list[str], list[float]]:
    """`unit_ids` with their scores: parallel lists, best first."""
    ranked = _ranked(hits, unit)
    return [name for _, name in ranked], [score for score, _ in ranked]


def _ranked(hits: Sequence[Hit], unit: Unit) -> list[tuple[float, str]]:
    """Best score and id of every unit, by the rule. Hits nearly always come in order, so the sort is one pass."""
    best: dict[str, float] = {}
    for hit in hits:
        name = hit.doc if unit == "document" else hit.id
        score = hit.score
        if name not in best or score > best[name]:
            best[name] = score
    return sorted(((score, name) for name, score in best.items()), reverse=True)
