"""Turns ranked rows into hits: what every retriever that searches the snapshot itself returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import Hit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.core.model.types import Chunk


class HitMaker:
    """Makes hits from rows of a snapshot; hashes each text once, and only of chunks that are returned."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._hashes: dict[int, str] = {}

    def hits(self, rows: Sequence[int], scores: Sequence[float]) -> tuple[Hit, ...]:
        """Hits of `rows`, which are in order, best first. Access is judged elsewhere (`core.labels.access`)."""
        chunks = [self._chunks[row] for row in rows]
        return tuple(
            Hit(
                id=chunk.id,
                doc=chunk.doc,
                rank=rank,
                score=score,
                start=chunk.start,
                end=chunk.end,
                text_hash=digest,
            )
            for rank, chunk, score, digest in zip(
                range(1, len(chunks) + 1), chunks, scores, self._digests(rows, chunks), strict=True
            )
        )

    def _digests(self, rows: Sequence[int], chunks: Sequence[Chunk]) -> list[str]:
        held = self._hashes
        for row, chunk in zip(rows, chunks, strict=True):
            if row not in held:
                held[row] = text_hash(chunk.text)
        return [held[row] for row in rows]
