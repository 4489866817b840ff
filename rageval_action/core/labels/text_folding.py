"""Text without its accidents: NFKC, and white space reduced to where it stands; every position leads back.

Case is kept. A folded text is searched without white space, and the places where white space stood are compared
afterwards: so a caller can say where it does not matter.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"\S+")


class Folded(Struct, frozen=True, kw_only=True):
    """A text in NFKC without white space.

    Attributes:
        text: what is left.
        gaps: positions in `text`, ascending, that had white space before them; never 0.
        starts: position in `text` of each piece, ascending. A piece is a word, or what must be folded together.
        spans: for each piece, start and end in the original text.
        whole: for each piece, True when it was folded as one and its characters have no places of their own.
    """

    text: str
    gaps: tuple[int, ...]
    starts: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    whole: tuple[bool, ...]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where text[start:end], not empty, stands in the original text."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        begin, finish = self.spans[first][0], self.spans[last][1]
        if not self.whole[first]:
            begin += start - self.starts[first]
        if not self.whole[last]:
            finish = self.spans[last][0] + end - self.starts[last]
        return begin, finish

    def gaps_within(self, start: int, end: int) -> tuple[int, ...]:
        """Distances from `start` of the gaps strictly inside text[start:end]."""
        inside = self.gaps[bisect_right(self.gaps, start) : bisect_left(self.gaps, end)]
        return tuple(gap - start for gap in inside)

    def occurrences(self, wanted: Folded) -> Iterator[int]:
        """Positions where `wanted` stands, white space aside; overlapping ones too."""
        at = self.text.find(wanted.text) if wanted.text else -1
        while at >= 0:
            yield at
            at = self.text.find(wanted.text, at + 1)


def fold(text: str) -> Folded:
    """Fold `text`; words that are in NFKC already, which is most of them, are taken as they are."""
    pieces: list[str] = []
    gaps: list[int] = []
    starts: list[int] = []
    spans: list[tuple[int, int]] = []
    whole: list[bool] = []
    length = 0

    def add(piece: str, start: int, end: int, *, as_one: bool) -> None:
        nonlocal length
        pieces.append(piece)
        starts.append(length)
        spans.append((start, end))
        whole.append(as_one)
        length += len(piece)

    plain = unicodedata.is_normalized("NFKC", text)
    for word in _WORD.finditer(text):
        gaps.append(length)
        if plain or unicodedata.is_normalized("NFKC", word[0]):
            add(word[0], word.start(), word.end(), as_one=False)
            continue
        for start, end in _clusters(word[0]):
            folded = unicodedata.normalize("NFKC", word[0][start:end])
            # Some signs decompose into a blank and a mark (U+00B4), or into several words (U+FDFA).
            for part in _WORD.finditer(folded):
                if part.start():
                    gaps.append(length)
                add(part[0], word.start() + start, word.start() + end, as_one=True)
    return Folded(
        text="".join(pieces),
        gaps=tuple(gap for gap in dict.fromkeys(gaps) if 0 < gap < length),
        starts=tuple(starts),
        spans=tuple(spans),
        whole=tuple(whole),
    )


def _clusters(word: str) -> Iterator[tuple[int, int]]:
    """Parts of `word` that normalise by themselves: no character joins the one before its part."""
    start = 0
    for at in range(1, len(word)):
        if not joins_previous(word[at]):
            yield start, at
            start = at
    yield start, len(word)


def joins_previous(character: str) -> bool:
    """True when normalisation may merge or reorder `character` with what stands before it.

    Marks do, and the vowels and final consonants of Hangul (Unicode Standard Annex 15: the characters whose
    NFC_Quick_Check is Maybe, and those with a combining class).
    """
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first).startswith("M") or "\u1160" <= first <= "\u11ff"
