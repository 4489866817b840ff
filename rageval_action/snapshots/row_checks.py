"""What is wrong, or worth knowing, about the rows of a snapshot: ids that repeat, vectors that failed, texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rageval_action.core.model.types import Chunk, Notice
from rageval_action.core.wording.lists import listed

if TYPE_CHECKING:
    from rageval_action.snapshots.arrays import Measured
    from rageval_action.snapshots.problems import Problems

_MOST_ZERO_SHARE = 0.01
_MOST_ZERO_ROWS = 2


def name_repeats(ids: Iterable[str], lines: Sequence[int], where: str, problems: Problems) -> None:
    """Note every line whose id an earlier line has."""
    first: dict[str, int] = {}
    for line, name in zip(lines, ids, strict=True):
        earlier = first.setdefault(name, line)
        if earlier != line:
            problems.add(
                "snapshot.duplicate-id", f"{where}:{line}", f'the id "{name}" is already on line {earlier}.'
            )


def check_vectors(
    chunks: Sequence[Chunk], measured: Measured, place: Callable[[int], str], problems: Problems
) -> None:
    """Name the rows that are not finite, and the zero vectors when they are more than an accident.

    Zero vectors are an accident as long as they are at most 2, or at most 1 % of the chunks with text.

    Args:
        chunks: in row order; fewer than the vectors when a line could not be read.
        measured: of all vectors.
        place: where a row stands, for messages.
        problems: gets `snapshot.not-finite` and `snapshot.zero-vector`.
    """
    for row in measured.bad_rows:
        name = chunks[row].id if row < len(chunks) else "?"
        text = f'the vector of chunk "{name}" holds NaN or infinity. Embed it again.'
        problems.add("snapshot.not-finite", place(row), text)
    failed = [row for row in measured.zero_rows if row < len(chunks) and not is_blank(chunks[row].text)]
    if len(failed) > max(_MOST_ZERO_ROWS, _MOST_ZERO_SHARE * len(chunks)):
        text = (
            f"{len(failed):,} of {len(chunks):,} vectors are zero although their chunks have text, the first that of "
            f'"{chunks[failed[0]].id}": the embedding failed. Embed them again.'
        )
        problems.add("snapshot.zero-vector", place(failed[0]), text)


def is_blank(text: str) -> bool:
    """True for a text of blanks or nothing: there is nothing in it to be found."""
    return not text or text.isspace()


def text_notices(chunks: Sequence[Chunk], where: str) -> tuple[Notice, ...]:
    """Identical texts (which make ties and hide a document behind its twin) and empty ones."""
    found: list[Notice] = []
    empty = [chunk.id for chunk in chunks if is_blank(chunk.text)]
    if empty:
        text = f"{len(empty)} chunks have no text: {listed(empty, 5)}."
        found.append(Notice(code="snapshot.empty-text", text=text, where=where))
    if len({chunk.text for chunk in chunks}) < len(chunks):
        found += _identical(chunks, where)
    return tuple(found)


def _identical(chunks: Sequence[Chunk], where: str) -> list[Notice]:
    groups: dict[str, list[str]] = defaultdict(list)
    for chunk in chunks:
        groups[chunk.text].append(chunk.id)
    twins = [ids for text, ids in groups.items() if len(ids) > 1 and not is_blank(text)]
    if not twins:
        return []
    count = sum(map(len, twins))
    text = (
        f"{count} chunks share their text with another ({len(twins)} groups): "
        f"{listed([' = '.join(ids[:4]) for ids in twins], 3)}. Identical texts tie; their ids decide the order."
    )
    return [Notice(code="snapshot.identical-texts", text=text, where=where)]
