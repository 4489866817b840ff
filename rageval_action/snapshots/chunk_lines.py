"""Reads `chunks.jsonl` and says, line by line, what is wrong with it."""

from __future__ import annotations

import gc
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from rageval_action.core.model.types import Chunk
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.problems import Problems, refuse_pointer
from rageval_action.snapshots.row_checks import name_repeats

_Item = TypeVar("_Item")

BOM = b"\xef\xbb\xbf"


_DECODER = msgspec.json.Decoder(Chunk)
_PIECE_BYTES = 1 << 23


def read_chunks(path: Path, problems: Problems) -> tuple[Chunk, ...]:
    """The chunks of a file in its order; what is wrong goes to `problems` with its line.

    Args:
        path: `chunks.jsonl`.
        problems: gets `snapshot.lfs-pointer`, `snapshot.bad-chunk` and `snapshot.duplicate-id`.
    """
    where = str(path)
    lines: Sequence[int] = ()
    try:
        rows: Sequence[Chunk] = _decode_all(path)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        data = path.read_bytes().removeprefix(BOM)
        try:
            refuse_pointer(data, "the chunks", where)
        except SnapshotError as error:
            problems.add_error(error)
            return ()
        good = list(decode_each(data, _DECODER.decode, where, problems))
        lines, rows = [line for line, _ in good], [row for _, row in good]
    ids = [row.id for row in rows]
    if not all(map(str.isascii, ids)) or not all(row.doc.isascii() for row in rows):
        rows = [in_nfc(row) for row in rows]
        ids = [row.id for row in rows]
    blank = "" in ids or not all(row.doc for row in rows)
    if blank or len(set(ids)) != len(ids):
        lines = lines or [number for number, _ in numbered(path.read_bytes().removeprefix(BOM))]
        _name_blanks(rows, lines, where, problems)
        name_repeats(ids, lines, where, problems)
    return tuple(rows)


def _decode_all(path: Path) -> list[Chunk]:
    """Decode all lines, some megabytes at a time, with the cycle collector at rest.

    Rows hold no cycles, and looking for them takes as long as decoding. Between pieces another thread gets its turn.
    """
    rows: list[Chunk] = []
    was_on = gc.isenabled()
    gc.disable()
    try:
        with path.open("rb") as stream:
            while piece := stream.read(_PIECE_BYTES):
                piece += stream.readline()
                rows += _DECODER.decode_lines(piece if rows else piece.removeprefix(BOM))
    finally:
        if was_on:
            gc.enable()
    return rows


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
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            problems.add("snapshot.bad-chunk", f"{where}:{number}", explain(error))


def explain(error: Exception) -> str:
    """What a decoding error means to the person who wrote the line."""
    if isinstance(error, UnicodeDecodeError):
        return "the line is not UTF-8."
    text = str(error)
    if isinstance(error, msgspec.ValidationError):
        return f"{text[:1].lower()}{text[1:]}."
    return f"the line is not JSON ({text})."


def _name_blanks(rows: Sequence[Chunk], lines: Sequence[int], where: str, problems: Problems) -> None:
    for line, row in zip(lines, rows, strict=True):
        for field in ("id", "doc"):
            if not getattr(row, field):
                problems.add("snapshot.bad-chunk", f"{where}:{line}", f"`{field}` is empty.")


def in_nfc(row: Chunk) -> Chunk:
    """`row` with id and document in NFC, the form in which ids are compared."""
    name, doc = unicodedata.normalize("NFC", row.id), unicodedata.normalize("NFC", row.doc)
    if (name, doc) == (row.id, row.doc):
        return row
    return msgspec.structs.replace(row, id=name, doc=doc)
