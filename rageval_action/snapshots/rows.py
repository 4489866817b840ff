"""Reads `chunks.jsonl` and says, line by line, what is wrong with it."""

from __future__ import annotations

import gc
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from rageval_action.core.types import Chunk, ChunkAcl, Notice
from rageval_action.snapshots.problems import Problems, shown

_Item = TypeVar("_Item")

BOM = b"\xef\xbb\xbf"


class _Acl(ChunkAcl, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A misspelt field of an access rule must not open the chunk to everyone."""


class _Row(Chunk, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of `chunks.jsonl`; a field that is not in the contract is an error, not a silent loss."""

    acl: _Acl | None = None


_DECODER = msgspec.json.Decoder(_Row)


def parse_chunks(data: bytes, where: str, problems: Problems) -> tuple[Chunk, ...]:
    """The chunks in file order; what is wrong goes to `problems` with its line.

    Args:
        data: the bytes of the file.
        where: its path, for messages.
        problems: gets `snapshot.bad-chunk` and `snapshot.duplicate-id`.
    """
    data = data.removeprefix(BOM)
    try:
        rows: Sequence[Chunk] = _decode_all(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return tuple(row for _, row in decode_each(data, _DECODER.decode, where, problems))
    ids = [row.id for row in rows]
    if "" in ids or not all(row.doc for row in rows):
        _name_blanks(data, where, problems)
    if not all(map(str.isascii, ids)) or not all(row.doc.isascii() for row in rows):
        rows = [in_nfc(row) for row in rows]
        ids = [row.id for row in rows]
    if len(set(ids)) != len(ids):
        lines = [number for number, _ in numbered(data)]
        name_repeats(ids, lines, where, problems)
    return tuple(rows)


def _decode_all(data: bytes) -> Sequence[Chunk]:
    """Decode all lines with the cycle collector at rest: rows hold no cycles, and it takes half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return _DECODER.decode_lines(data)
    finally:
        if was_on:
            gc.enable()


def numbered(data: bytes) -> Iterator[tuple[int, bytes]]:
    """1-based number and bytes of every line that is not blank."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield number, line


def decode_each(
    data: bytes, decode: Callable[[bytes], _Item], where: str, problems: Problems
) -> Iterator[tuple[int, _Item]]:
    """Line number and value of every line that can be read; the others become problems."""
    for number, line in numbered(data):
        try:
            yield number, decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            problems.add("snapshot.bad-chunk", f"{where}:{number}", explain(error))


def explain(error: Exception) -> str:
    """What a decoding error means to the person who wrote the line."""
    if isinstance(error, UnicodeDecodeError):
        return "the line is not UTF-8."
    text = str(error)
    if isinstance(error, msgspec.ValidationError):
        return f"{text[:1].lower()}{text[1:]}."
    return f"the line is not JSON ({text})."


def _name_blanks(data: bytes, where: str, problems: Problems) -> None:
    for number, row in decode_each(data, _DECODER.decode, where, problems):
        for field in ("id", "doc"):
            if not getattr(row, field):
                problems.add("snapshot.bad-chunk", f"{where}:{number}", f"`{field}` is empty.")


def name_repeats(ids: Iterable[str], lines: Sequence[int], where: str, problems: Problems) -> None:
    """Note every line whose id an earlier line has."""
    first: dict[str, int] = {}
    for line, name in zip(lines, ids, strict=True):
        earlier = first.setdefault(name, line)
        if earlier != line:
            problems.add(
                "snapshot.duplicate-id", f"{where}:{line}", f'the id "{name}" is already on line {earlier}.'
            )


def in_nfc(row: Chunk) -> Chunk:
    """`row` with id and document in NFC, the form in which ids are compared."""
    name, doc = unicodedata.normalize("NFC", row.id), unicodedata.normalize("NFC", row.doc)
    if (name, doc) == (row.id, row.doc):
        return row
    return msgspec.structs.replace(row, id=name, doc=doc)


def is_blank(text: str) -> bool:
    """True for a text of blanks or nothing: there is nothing in it to be found."""
    return not text or text.isspace()


def text_notices(chunks: Sequence[Chunk], where: str) -> tuple[Notice, ...]:
    """Identical texts (which make ties and hide a document behind its twin) and empty ones."""
    found: list[Notice] = []
    empty = [chunk.id for chunk in chunks if is_blank(chunk.text)]
    if empty:
        text = f"{len(empty)} chunks have no text: {shown(empty)}."
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
        f"{shown([' = '.join(ids[:4]) for ids in twins], 3)}. Identical texts tie; their ids decide the order."
    )
    return [Notice(code="snapshot.identical-texts", text=text, where=where)]


Given = str | int | UnsetType
"""An id as people write it: text, or a number."""


class CorpusRow(msgspec.Struct, frozen=True, kw_only=True):
    """What `snapshot build` needs of a row; the rest of the row becomes metadata."""

    id: Given = UNSET
    beir_id: Given = msgspec.field(default=UNSET, name="_id")
    doc: Given = UNSET
    text: str
    start: int = -1
    end: int = -1
    acl: _Acl | None = None
    metadata: dict[str, object] = {}
