"""From scores to ranked hits by trec_eval's order: score descending, then chunk id descending."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import Chunk, Hit, Query

MARGIN = 32
"""Candidates taken beyond the depth at first, so that repeated documents rarely need a second look."""


class Corpus:
    """What ranking needs to know about the chunks, computed once.

    Attributes:
        chunks: in row order.
        row_of: chunk id -> row.
        documents: the document ids there are.
        id_order: (rows,) position of each row in descending order of ids (code points sort as UTF-8 does).
        document_of: (rows,) an integer for each row's document.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        self.row_of = {chunk.id: row for row, chunk in enumerate(chunks)}
        order = sorted(range(len(chunks)), key=lambda row: chunks[row].id, reverse=True)
        self.id_order: NDArray[np.int64] = np.empty(len(chunks), dtype=np.int64)
        self.id_order[order] = np.arange(len(chunks))
        numbers: dict[str, int] = {}
        self.document_of: NDArray[np.int64] = np.array(
            [numbers.setdefault(chunk.doc, len(numbers)) for chunk in chunks], dtype=np.int64
        )
        self.documents = frozenset(numbers)
        self._acls: dict[object, int] = {}
        self._acl_of: NDArray[np.int64] = np.array(
            [self._acls.setdefault(chunk.acl, len(self._acls)) for chunk in chunks], dtype=np.int64
        )
        self._hashes: dict[int, str] = {}
        self._rows: dict[str, list[int]] = {}

    def visible(self, query: Query) -> NDArray[np.bool_] | None:
        """(rows,) True where the query may see the chunk; None when it may see all or is not judged."""
        if query.acl is None or set(self._acls) <= {None}:
            return None
        admitted = [acl is None or acl.admits(query.acl) for acl in self._acls]  # type: ignore[attr-defined]
        return np.array(admitted, dtype=np.bool_)[self._acl_of]

    def rows_of(self, document: str) -> list[int]:
        """The rows of a document's chunks; empty when there is no such document."""
        if not self._rows:
            for row, chunk in enumerate(self.chunks):
                self._rows.setdefault(chunk.doc, []).append(row)
        return self._rows.get(document, [])

    def sees(self, query: Query, row: int) -> bool:
        """True when the query may see the chunk in `row`, or is not judged for access."""
        acl = self.chunks[row].acl
        return query.acl is None or acl is None or acl.admits(query.acl)

    def hit(self, row: int, rank: int, score: float) -> Hit:
        """The hit for the chunk in `row`."""
        chunk = self.chunks[row]
        if row not in self._hashes:
            self._hashes[row] = text_hash(chunk.text)
        return Hit(
            id=chunk.id,
            doc=chunk.doc,
            rank=rank,
            score=score,
            start=chunk.start,
            end=chunk.end,
            text_hash=self._hashes[row],
        )

    def best(
        self, scores: NDArray[np.floating], depth: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[Hit, ...]:
        """The best chunks until `depth` distinct documents are reached.

        Args:
            scores: (rows,) one score a chunk; larger is better.
            depth: distinct documents wanted.
            allowed: (rows,) rows that may be returned; None for all.
        """
        rows = np.arange(len(scores)) if allowed is None else np.flatnonzero(allowed)
        wanted = depth + MARGIN
        while True:
            top = self._top(scores, rows, wanted)
            cut = _reach(self.document_of[top], depth)
            if cut or len(top) == len(rows):
                kept = top[: cut or len(top)]
                return tuple(self.hit(int(row), rank, float(scores[row])) for rank, row in enumerate(kept, 1))
            wanted *= 4

    def _top(self, scores: NDArray[np.floating], rows: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
        """The `wanted` first of `rows` in order; ties at the cut are settled by the order as well."""
        values = scores[rows]
        if wanted < len(rows):
            kth = np.partition(values, len(values) - wanted)[len(values) - wanted]
            above, level = rows[values > kth], rows[values == kth]
            room = wanted - len(above)
            if room < len(level):
                level = level[np.argpartition(self.id_order[level], room - 1)[:room]]
            rows = np.concatenate([above, level])
        return rows[np.lexsort((self.id_order[rows], -scores[rows].astype(np.float64)))]


def _reach(documents: NDArray[np.int64], depth: int) -> int:
    """How many entries it takes to meet `depth` distinct values; 0 when there are not so many."""
    _, first = np.unique(documents, return_index=True)
    if len(first) < depth:
        return 0
    return int(np.partition(first, depth - 1)[depth - 1]) + 1


def ordered(scored: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Ids with scores in trec_eval's order (`core.model.ranking`)."""
    return sorted(
        sorted(scored, key=lambda pair: pair[0], reverse=True), key=lambda pair: pair[1], reverse=True
    )
