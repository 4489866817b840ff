"""The canonical file as something to edit: rows that nobody touched keep their bytes, so that a diff shows the rest."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rageval_action.errors import GoldenError
from rageval_action.golden import input_files
from rageval_action.golden.canonical import read
from rageval_action.golden.format_detection import detect
from rageval_action.golden.reader_types import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rageval_action.core.model.types import GoldenSet, Query

RowDict = dict[str, Any]
"""A canonical row as it stands in the file, unknown keys included."""


class RowFile:
    """Rows of one canonical file, in order. Nothing is written before `save`."""

    def __init__(self, path: Path, lines: list[bytes]) -> None:
        self.path = path
        self._lines = lines
        self._rows: list[RowDict] = [msgspec.json.decode(line) for line in lines]
        self._places = {str(row["id"]): place for place, row in enumerate(self._rows)}

    @classmethod
    def open(cls, path: Path) -> RowFile:
        """Read and check a canonical file.

        Raises:
            GoldenError: the file cannot be used, or (`golden.not-canonical`) it is another format.
        """
        open_golden(path)
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        return cls(path, [line.rstrip(b"\r") for line in data.split(b"\n") if line.strip()])

    @classmethod
    def open_or_new(cls, path: Path) -> RowFile:
        """As `open`, or no rows where there is no such file yet."""
        if path.exists() and path.stat().st_size:
            return cls.open(path)
        return cls(path, [])

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[RowDict]:
        return iter(self._rows)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> RowDict:
        return self._rows[self._places[name]]

    def lines(self) -> list[bytes]:
        """The rows as they are written, without line ends."""
        return list(self._lines)

    def replace(self, name: str, row: RowDict) -> None:
        """Put `row` in the place of the row with this id; an equal row keeps its bytes."""
        place = self._places[name]
        if row == self._rows[place]:
            return
        self._rows[place] = row
        self._lines[place] = encode_row(row)
        if str(row["id"]) != name:
            del self._places[name]
            self._places[str(row["id"])] = place

    def append(self, row: RowDict) -> None:
        """Add a row at the end.

        Raises:
            GoldenError: `golden.duplicate-id`.
        """
        name = str(row["id"])
        if name in self._places:
            raise GoldenError("golden.duplicate-id", f'the id "{name}" is taken.', where=str(self.path))
        self._places[name] = len(self._rows)
        self._rows.append(row)
        self._lines.append(encode_row(row))

    def save(self) -> None:
        """Write all rows, by a new file that takes the old one's place: a crash leaves one of the two."""
        write_lines(self.path, self._lines)


def append_row(file: RowFile, row: RowDict) -> None:
    """Add a row and write it at once, at the end of the file: what is done is kept if we die next.

    Raises:
        GoldenError: `golden.duplicate-id`, `golden.not-written`.
    """
    file.append(row)
    try:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        with file.path.open("ab+") as handle:
            if handle.tell():
                handle.seek(-1, os.SEEK_END)
                if handle.read(1) != b"\n":
                    handle.write(b"\n")
            handle.write(encode_row(row) + b"\n")
            handle.flush()
            os.fsync(handle.fileno())
    except OSError as error:
        raise GoldenError("golden.not-written", f"{error.strerror}.", where=str(file.path)) from error


def open_golden(path: Path) -> GoldenSet:
    """A canonical file as a golden set.

    Raises:
        GoldenError: the file cannot be used, or (`golden.not-canonical`) it is another format.
    """
    parts = {"rows": input_files.load_rows(path)}
    with input_files.no_deeper_than_we_can(path):
        name = detect(parts)
        golden = read(parts, ReadOptions()) if name == "canonical" else None
        if golden is None or golden.format != "canonical":
            name = golden.format if golden else name
            raise GoldenError(
                "golden.not-canonical",
                f"this looks like {name}; only the canonical form can be edited.",
                hint="Import it first: rageval golden import FILE --out golden.jsonl.",
                where=str(path),
            )
        return golden


def encode_row(row: RowDict) -> bytes:
    """One line of the file, without its end: keys in their order, text as it reads."""
    return json.dumps(row, ensure_ascii=False).encode()


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines to `path` atomically.

    Raises:
        GoldenError: `golden.not-written`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(line + b"\n" for line in lines)
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            Path(name).chmod(mode)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise GoldenError("golden.not-written", f"{error.strerror}.", where=str(path)) from error


def row_of(query: Query) -> RowDict:
    """A query as a canonical row; what has its default value is left out."""
    row: RowDict = {"id": query.id, "query": query.text}
    if query.relevant:
        plain = all(grade == 1 for grade in query.relevant.values())
        row["relevant"] = list(query.relevant) if plain else dict(query.relevant)
    if query.any_of:
        row["any_of"] = [list(group) for group in query.any_of]
    if query.evidence:
        row["evidence"] = msgspec.to_builtins(query.evidence)
    if not query.answerable:
        row["answerable"] = False
    if query.tags:
        row["tags"] = list(query.tags)
    if query.acl is not None:
        row["acl"] = msgspec.to_builtins(query.acl)
    words = {"type": query.type, "lang": query.lang, "group": query.group}
    row |= {name: word for name, word in words.items() if word}
    return row | {"source": query.source, "review": query.review}
