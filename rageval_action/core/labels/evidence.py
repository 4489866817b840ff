"""Finding evidence: which chunks of a document contain a quote, or overlap its span.

A quote that a chunk border cuts in two is found as well: the chunks of a document are joined, what neighbouring
chunks share is laid one on the other, and at a border without overlap it does not matter whether white space
stood there, since splitters drop it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.core.labels.text_folding import Folded, fold
from rageval_action.core.model.types import Evidence, EvidenceItem, EvidenceItems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rageval_action.core.model.types import Chunk


def resolve(evidence: Sequence[Evidence], chunks_of: Mapping[str, Sequence[Chunk]]) -> EvidenceItems:
    """Evidence with the ids of the chunks that contain each quote or overlap its span; none when it is gone.

    Where an offset is given and the chunks have spans, the span decides; text is searched otherwise, and when the
    span meets no chunk.

    Args:
        evidence: in any order; many quotes of one document cost little more than one.
        chunks_of: document id in NFC -> its chunks, in row order.
    """
    found: dict[int, EvidenceItem] = {}
    by_document: dict[str, list[int]] = {}
    for position, item in enumerate(evidence):
        by_document.setdefault(unicodedata.normalize("NFC", item.doc), []).append(position)
    for doc, positions in by_document.items():
        document = _Document(chunks_of.get(doc, ()))
        for position in positions:
            item = evidence[position]
            found[position] = EvidenceItem(
                doc=doc, quote=item.quote, start=item.start, chunks=tuple(sorted(document.holders(item)))
            )
    return EvidenceItems(tuple(found[position] for position in range(len(evidence))))


def unresolved(judged: EvidenceItems) -> tuple[EvidenceItem, ...]:
    """The items that are nowhere in the corpus."""
    return tuple(item for item in judged.items if not item.chunks)


def locate(quote: str, text: str) -> list[tuple[int, int]]:
    """Every place where `text` has `quote`, as (start, end) in `text`: NFKC, white-space runs alike, case kept."""
    return list(_search(fold(quote), fold(text), frozenset()))


def _search(quote: Folded, text: Folded, borders: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Places of `quote` in the original of `text`; at `borders` (positions there) white space is free."""
    length = len(quote.text)
    for at in text.occurrences(quote):
        differing = set(quote.gaps) ^ set(text.gaps_within(at, at + length))
        if all(_at_border(text, at + gap, borders) for gap in differing):
            yield text.origin(at, at + length)


def _at_border(text: Folded, position: int, borders: frozenset[int]) -> bool:
    """True when a border lies between the character before `position` and the one there."""
    before, after = text.origin(position - 1, position)[1], text.origin(position, position + 1)[0]
    return any(place in borders for place in range(before, after + 1))


class _Joined(Struct, frozen=True):
    """Chunks of one document as one text.

    Attributes:
        starts, ends: place of each chunk in `text`, both ascending.
        borders: places where white space may have been lost.
    """

    text: str
    folded: Folded
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    borders: frozenset[int]

    def sharing(self, start: int, end: int) -> Iterator[int]:
        """Numbers of the chunks that hold a character of text[start:end] that is not white space."""
        for number in range(bisect_right(self.ends, start), bisect_left(self.starts, end)):
            if self.text[max(self.starts[number], start) : min(self.ends[number], end)].strip():
                yield number


class _Document:
    """The chunks of one document, joined when the first text is searched."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        located = all(_has_span(chunk) for chunk in chunks)
        self._chunks = sorted(chunks, key=lambda chunk: (chunk.start, chunk.end)) if located else list(chunks)
        self._joined: tuple[_Joined, ...] | None = None

    def holders(self, item: Evidence) -> set[str]:
        """Ids of the chunks that contain the quote or overlap its span."""
        end = item.start + len(item.quote)
        spanned = {
            chunk.id
            for chunk in self._chunks
            if item.start >= 0 and _has_span(chunk) and chunk.start < end and item.start < chunk.end
        }
        return spanned or self._containing(item.quote)

    def _containing(self, quote: str) -> set[str]:
        wanted = fold(quote)
        if self._joined is None:
            self._joined = _join(self._chunks)
        return {
            self._chunks[number].id
            for joined in self._joined
            for start, end in _search(wanted, joined.folded, joined.borders)
            for number in joined.sharing(start, end)
        }


def _has_span(chunk: Chunk) -> bool:
    return 0 <= chunk.start < chunk.end


def _join(chunks: Sequence[Chunk]) -> tuple[_Joined, ...]:
    """The document, with overlaps laid on each other; where these were guessed from the text, also without."""
    overlaps = [0]
    guessed = False
    for before, after in pairwise(chunks):
        if _is_slice(before) and _is_slice(after):
            overlaps.append(_overlap_by_span(before, after))
        else:
            overlaps.append(_overlap_by_text(before.text, after.text))
            guessed = guessed or overlaps[-1] > 0
    joined = _lay(chunks, overlaps)
    # A guess can be wrong: "glass" and "sand" share an s by chance.
    return (joined, _lay(chunks, [0] * len(chunks))) if guessed else (joined,)


def _lay(chunks: Sequence[Chunk], overlaps: Sequence[int]) -> _Joined:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    borders: set[int] = set()
    length = 0
    for chunk, overlap in zip(chunks, overlaps, strict=False):
        if not overlap:
            borders.add(length)
        pieces.append(chunk.text[overlap:])
        starts.append(length - overlap)
        length += len(chunk.text) - overlap
        ends.append(length)
    text = "".join(pieces)
    return _Joined(text, fold(text), tuple(starts), tuple(ends), frozenset(borders))


def _is_slice(chunk: Chunk) -> bool:
    """True when the chunk's text is as long as its span: nothing was trimmed or put before it."""
    return _has_span(chunk) and len(chunk.text) == chunk.end - chunk.start


def _overlap_by_span(before: Chunk, after: Chunk) -> int:
    """Characters that both chunks hold by their spans, where their texts agree; else 0."""
    shared = before.end - after.start
    if 0 < shared <= len(after.text) and before.text.endswith(after.text[:shared]):
        return shared
    return 0


def _overlap_by_text(before: str, after: str) -> int:
    """Length of the longest end of `before` that `after` starts with."""
    if not after:
        return 0
    at = before.find(after[0], max(len(before) - len(after), 0))
    while at >= 0 and not after.startswith(before[at:]):
        at = before.find(after[0], at + 1)
    return len(before) - at if at >= 0 else 0
