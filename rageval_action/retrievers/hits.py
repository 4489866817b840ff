"""Turns ranked rows into hits: what every retriever that searches the snapshot itself returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_action.core.hashing import text_hash
from rageval_action.core.types import Hit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.core.types import Chunk


class HitMaker:
    """Makes hits from rows of a snapshot; hashes each text once, and only of chunks that are returned."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._hashes: dict[int, str] = {}

    def hits(self, rows: Sequence[int], scores: Sequence[float]) -> tuple[Hit, ...]:
        """Hits of `rows`, which are in order, best first. Access is judged elsewhere (`core.access`)."""
        return tuple(
            self._hit(row, score, rank) for rank, (row, score) in enumerate(zip(rows, scores, strict=True), 1)
        )

    def _hit(self, row: int, score: float, rank: int) -> Hit:
        chunk = self._chunks[row]
        digest = self._hashes.get(row)
        if digest is None:
            digest = self._hashes[row] = text_hash(chunk.text)
        return Hit(
            id=chunk.id,
            doc=chunk.doc,
            rank=rank,
            score=score,
            start=chunk.start,
            end=chunk.end,
            text_hash=digest,
        )
