"""Who may see what: one mask over the chunks for each distinct asker, and how many documents it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rageval_action.core.model.types import Chunk, ChunkAcl, Query, QueryAcl


class Documents(Struct, frozen=True, kw_only=True):
    """Chunks grouped by document: `of_row` is each chunk's document as a number below `count`."""

    of_row: NDArray[np.int64]
    count: int

    @property
    def are_chunks(self) -> bool:
        """True when every chunk is a document of its own."""
        return self.count == len(self.of_row)


class Views(Struct, frozen=True, kw_only=True):
    """What each query may be answered with.

    Attributes:
        masks: shape (views, chunks), True where a chunk may be returned.
        of_query: index into `masks` for each query.
        documents: number of documents with a returnable chunk, for each view.
    """

    masks: NDArray[np.bool_]
    of_query: NDArray[np.int64]
    documents: NDArray[np.int64]


def group_documents(chunks: Sequence[Chunk]) -> Documents:
    """Number the documents in order of appearance."""
    numbers: dict[str, int] = {}
    of_row = np.fromiter(
        (numbers.setdefault(chunk.doc, len(numbers)) for chunk in chunks), np.int64, len(chunks)
    )
    return Documents(of_row=of_row, count=len(numbers))


def views_of(
    queries: Sequence[Query],
    chunks: Sequence[Chunk],
    documents: Documents,
    *,
    enforce: bool,
    never: Sequence[int] = (),
) -> Views:
    """The views of `queries`.

    Args:
        queries: a query without `acl` sees every chunk.
        chunks: in row order.
        documents: of `chunks`.
        enforce: False gives every query the view of one without `acl`.
        never: rows that nobody is answered with (zero vectors).
    """
    rules = {chunk.acl for chunk in chunks} - {None} if enforce else set()
    base = np.ones(len(chunks), dtype=np.bool_)
    base[list(never)] = False
    masks = [base]
    index: dict[QueryAcl | None, int] = {None: 0}
    rule_of_row, numbered = _number_rules(chunks) if rules else (None, [])
    of_query = np.zeros(len(queries), dtype=np.int64)
    for at, query in enumerate(queries):
        who = query.acl if rule_of_row is not None else None
        if who not in index:
            index[who] = len(masks)
            allowed = np.array([rule is None or rule.admits(who) for rule in numbered])  # type: ignore[arg-type]
            masks.append(base & allowed[rule_of_row])
        of_query[at] = index[who]
    return Views(
        masks=np.array(masks),
        of_query=of_query,
        documents=np.array([_count(mask, documents) for mask in masks], dtype=np.int64),
    )


def _number_rules(chunks: Sequence[Chunk]) -> tuple[NDArray[np.int64], list[ChunkAcl | None]]:
    """Rule of each row as a number, and the rules by number: far fewer than chunks."""
    numbers: dict[ChunkAcl | None, int] = {}
    of_row = np.fromiter(
        (numbers.setdefault(chunk.acl, len(numbers)) for chunk in chunks), np.int64, len(chunks)
    )
    return of_row, list(numbers)


def _count(mask: NDArray[np.bool_], documents: Documents) -> int:
    seen = np.zeros(documents.count, dtype=np.bool_)
    seen[documents.of_row[mask]] = True
    return int(seen.sum())
