"""Tables of plain text whose columns stand in line, whatever the script."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Sequence


def width(text: str) -> int:
    """Columns that `text` takes on a terminal: wide East Asian characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def in_line(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> Iterator[str]:
    """Each row as one line, its cells two blanks apart; columns whose number is in `right` end in line.

    All rows have as many cells, safe to be printed: a control character has no width.
    """
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for at, cell in enumerate(row):
            blanks = " " * (widths[at] - width(cell))
            cells.append(blanks + cell if at in right else cell + blanks)
        yield "  ".join(cells).rstrip()
