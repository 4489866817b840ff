"""Reads a sqlite-vec table with plain SQLite inside the child process.

Ours because the Action's image cannot get the extension, which also runs a view that stands in for one of its tables.

A vec0 table keeps its rows in ordinary tables: `T_rowids` says where each row lies, `T_chunks.validity` which slots are
in use, `T_vector_chunksNN` holds the numbers of the vector column NN, `T_metadatachunksNN`, `T_auxiliary` and
`T_chunks.partitionNN` the rest (since 0.1.6).
"""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.arrays import MAX_DIMENSION
from rageval_action.snapshots.importers.location import files_of
from rageval_action.snapshots.importers.reader_process import Sink, copied
from rageval_action.snapshots.importers.sqlite_file import check_whole
from rageval_action.snapshots.importers.table import TEXT_FIELDS

KNOWN = (0, 1)
"""Tables of this version (major, minor) are known; newer ones may lie otherwise and are refused."""

COLUMNS = re.compile(r"\busing\s+vec0\s*\((.*)\)[\s;]*$", re.IGNORECASE | re.DOTALL)
VECTOR = re.compile(r"(\w+)\s+(float|f32|int8|i8|bit)\w*\s*\[\s*(\d+)\s*\]\s*(.*)", re.IGNORECASE | re.DOTALL)
DISTANCE = re.compile(r"distance_metric\s*=\s*(\w+)", re.IGNORECASE)
PRIMARY = re.compile(r"\w+\s+\w+\s+primary\s+key", re.IGNORECASE)
PARTITION = re.compile(r"(\w+)\s+\w+\s+partition\s+key", re.IGNORECASE)
AUXILIARY = re.compile(r"\+\s*(\w+)\s+\w+", re.IGNORECASE)
METADATA = re.compile(r"(\w+)\s+(text|int|float|double|f64|bool)\w*(\s+auxiliary)?", re.IGNORECASE)
OPTION = re.compile(r"\w+\s*=\s*\w+")
PLAIN = re.compile(r"CREATE TABLE\b")
INLINE = 12
"""Bytes of a metadata text that stand in its slot; a longer one has a row of its own."""


class Layout(Struct, kw_only=True):
    """A vec0 table as its statement describes it.

    Attributes:
        name: of the table.
        vector: number of the column of floats among the vector columns; -1 while there is none.
        partitions: names, as `auxiliary`.
        metadata: name and kind (`text`, `int`, `float` or `bool`) of each.
    """

    name: str
    vector: int = -1
    dimension: int = 0
    metric: str = "l2"
    partitions: list[str] = []
    metadata: list[tuple[str, str]] = []
    auxiliary: list[str] = []


class Slot(Struct, frozen=True, kw_only=True):
    """Where a row lies."""

    rowid: int
    name: str
    chunk: int
    offset: int


def read(path: Path, options: dict[str, str], sink: Sink) -> None:
    """Write one table.

    Raises:
        SnapshotError: `snapshot.not-sqlite`, `snapshot.which-table`, `snapshot.newer-format`, `snapshot.bad-array`,
            `snapshot.bad-metric`, `snapshot.truncated`, `snapshot.count-mismatch`, `snapshot.empty`.
    """
    check_whole(path)
    mode = "?mode=ro&immutable=1"
    if len(files_of(path)) > 1:  # SQLite joins the file and its log only where it may write
        path, mode = copied(path), "?mode=rw"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}{mode}", uri=True)) as base:
            base.execute("PRAGMA trusted_schema = OFF")
            base.execute("PRAGMA cell_size_check = ON")
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(1 << 20, path.stat().st_size))
            base.row_factory = sqlite3.Row
            _Reader(base, options, sink).write()
    except sqlite3.Error as error:
        raise SnapshotError("snapshot.not-sqlite", f"SQLite cannot read it: {error}.") from error


class _Reader:
    def __init__(self, base: sqlite3.Connection, options: dict[str, str], sink: Sink) -> None:
        self._base = base
        self._options = options
        self._sink = sink
        found = base.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        self._made = {str(row["name"]): str(row["sql"]) for row in found}

    def write(self) -> None:
        """Rows in the order of their rowids, a chunk of vectors at a time."""
        layout = self._layout()
        self._check_version(layout.name)
        valid = {row["chunk_id"]: row["validity"] for row in self._rows(f"{layout.name}_chunks")}
        slots = [slot for slot in self._slots(layout.name) if _in_use(valid, slot)]
        if not slots:
            raise SnapshotError("snapshot.empty", f"the table {layout.name} holds no rows.")
        vectors = self._vectors(layout, slots)
        beside = self._texts(slots)
        within = self._within(layout, slots)
        for slot in slots:
            row = {**within.get(slot.rowid, {}), **beside.get(slot.rowid, {})}
            field = self._options.get("text") or next((name for name in TEXT_FIELDS if name in row), "")
            text = row.pop(field, None) if field else None
            self._sink.row(slot.name, str(text or ""), row)
        self._sink.vectors(vectors)
        self._sink.metric = layout.metric

    def _rows(self, table: str) -> Iterator[sqlite3.Row]:
        """All rows of an ordinary table; a view or a virtual table under that name could be any program."""
        if not PLAIN.match(self._made.get(table, "")):
            raise SnapshotError("snapshot.truncated", f"there is no table {table}.")
        return iter(self._base.execute(f"SELECT * FROM {_quoted(table)}"))  # noqa: S608 - quoted

    def _layout(self) -> Layout:
        """The table that was named, or the only one."""
        tables = {name: found[1] for name, sql in self._made.items() if (found := COLUMNS.search(sql))}
        wanted = self._options.get("table") or (next(iter(tables)) if len(tables) == 1 else "")
        if wanted not in tables:
            text = f"it holds the vec0 tables {', '.join(sorted(tables)) or '(none)'}."
            raise SnapshotError("snapshot.which-table", text, hint="Name one with ?table=")
        return _layout(wanted, tables[wanted], self._options.get("vector", ""))

    def _check_version(self, table: str) -> None:
        """Since 0.1.5 a table says which version made it."""
        if f"{table}_info" not in self._made:
            return
        told = {row["key"]: row["value"] for row in self._rows(f"{table}_info")}
        version = (told.get("CREATE_VERSION_MAJOR", 0), told.get("CREATE_VERSION_MINOR", 1))
        if version != KNOWN:
            raise _newer(f"a sqlite-vec {version[0]}.{version[1]} made it; 0.1 is known")

    def _slots(self, table: str) -> list[Slot]:
        found = []
        for row in self._rows(f"{table}_rowids"):
            name = row["id"] if row["id"] is not None else row["rowid"]
            try:
                numbers = {key: int(row[key]) for key in ("rowid", "chunk_id", "chunk_offset")}
            except (TypeError, ValueError):
                raise SnapshotError("snapshot.truncated", f"row {name} lies nowhere.") from None
            place = {"chunk": numbers["chunk_id"], "offset": numbers["chunk_offset"]}
            found.append(Slot(rowid=numbers["rowid"], name=str(name), **place))
        return sorted(found, key=lambda slot: slot.rowid)

    def _vectors(self, layout: Layout, slots: list[Slot]) -> NDArray[np.float32]:
        """The vectors of these rows."""
        blocks: dict[int, NDArray[np.float32]] = {}
        for row in self._rows(f"{layout.name}_vector_chunks{layout.vector:02d}"):
            held = row["vectors"]
            if not isinstance(held, bytes) or len(held) % (4 * layout.dimension):
                raise SnapshotError("snapshot.truncated", "a block of vectors has a broken size.")
            blocks[row["rowid"]] = np.frombuffer(held, dtype="<f4").reshape(-1, layout.dimension)
        lost = [slot for slot in slots if slot.offset >= len(blocks.get(slot.chunk, ()))]
        if lost:
            raise _nowhere(lost[0])
        return np.stack([blocks[slot.chunk][slot.offset] for slot in slots])

    def _within(self, layout: Layout, slots: list[Slot]) -> dict[int, dict[str, Any]]:
        """What lies in the table itself beside the vectors, by rowid."""
        found: dict[int, dict[str, Any]] = {slot.rowid: {} for slot in slots}
        if layout.partitions:
            chunks = {row["chunk_id"]: row for row in self._rows(f"{layout.name}_chunks")}
            for slot in slots:
                row = chunks[slot.chunk]
                told = {name: row[f"partition{at:02d}"] for at, name in enumerate(layout.partitions)}
                found[slot.rowid].update(told)
        for at, (name, kind) in enumerate(layout.metadata):
            held = {row["rowid"]: row["data"] for row in self._rows(f"{layout.name}_metadatachunks{at:02d}")}
            long = f"{layout.name}_metadatatext{at:02d}"
            texts = {row["rowid"]: row["data"] for row in self._rows(long)} if kind == "text" else {}
            for slot in slots:
                found[slot.rowid][name] = _value(kind, held.get(slot.chunk, b""), slot, texts)
        if layout.auxiliary:
            lost = set(found)
            for row in self._rows(f"{layout.name}_auxiliary"):
                told = {name: row[f"value{at:02d}"] for at, name in enumerate(layout.auxiliary)}
                found.get(row["rowid"], {}).update(told)
                lost.discard(row["rowid"])
            if lost:
                raise SnapshotError("snapshot.truncated", f"row {min(lost)} lacks its auxiliary columns.")
        return found

    def _texts(self, slots: list[Slot]) -> dict[int, dict[str, Any]]:
        """The ordinary row that belongs to each rowid; nothing when no table was named."""
        table = self._options.get("texts", "")
        if not table:
            return {}
        if not PLAIN.match(self._made.get(table, "")):
            hint = "Copy a view or a virtual table into one: CREATE TABLE … AS SELECT …"
            raise SnapshotError("snapshot.which-table", f"there is no ordinary table {table}.", hint=hint)
        key = self._options.get("key") or "rowid"
        query = f"SELECT {_quoted(key)} AS rageval_key, * FROM {_quoted(table)}"  # noqa: S608 - quoted
        known = {
            row["rageval_key"]: dict(zip(row.keys()[1:], tuple(row)[1:], strict=True))
            for row in self._base.execute(query)
        }
        missing = [slot.rowid for slot in slots if slot.rowid not in known]
        if missing:
            text = f"the table {table} has no row for {len(missing)} vectors, e.g. {key} = {missing[0]}."
            raise SnapshotError("snapshot.count-mismatch", text)
        return known


def _layout(name: str, columns: str, wanted: str) -> Layout:
    """What the arguments of `vec0(…)` say, each known or the whole refused."""
    made = Layout(name=name, partitions=[], metadata=[], auxiliary=[])
    vectors: list[str] = []
    for argument in (part.strip() for part in columns.split(",")):
        if vector := VECTOR.fullmatch(argument):
            vectors.append(vector[1])
            if made.vector < 0 and vector[2].lower() in {"float", "f32"} and wanted in {"", vector[1]}:
                made.vector, made.dimension = len(vectors) - 1, int(vector[3])
                made.metric = _metric(vector[4])
        elif partition := PARTITION.fullmatch(argument):
            made.partitions.append(partition[1])
        elif auxiliary := AUXILIARY.fullmatch(argument):
            made.auxiliary.append(auxiliary[1])
        elif metadata := METADATA.fullmatch(argument):
            kind = metadata[2].lower()
            made.metadata.append((metadata[1], "float" if kind in {"double", "f64"} else kind))
        elif not PRIMARY.fullmatch(argument) and not OPTION.fullmatch(argument):
            raise _newer(f'"{argument[:80]}" is nothing that sqlite-vec 0.1 knows')
    if made.vector < 0 or not 1 <= made.dimension <= MAX_DIMENSION:
        told = f"a column {wanted} of floats" if wanted else "a column of floats"
        text = f"the table {name} has not {told} (int8 and bit vectors are not read)."
        raise SnapshotError("snapshot.bad-array", text)
    return made


def _metric(text: str) -> str:
    """The metric that stands after a vector column."""
    if not text:
        return "l2"
    found = DISTANCE.fullmatch(text.strip())
    if not found:
        raise _newer(f'"{text[:80]}" is nothing that sqlite-vec 0.1 knows')
    if found[1].lower() not in {"l2", "cosine"}:
        raise SnapshotError("snapshot.bad-metric", f"its metric is {found[1]}.")
    return found[1].lower()


def _in_use(valid: dict[int, bytes], slot: Slot) -> bool:
    """Deleted rows leave their slots behind."""
    bits = valid.get(slot.chunk)
    if not isinstance(bits, bytes) or not 0 <= slot.offset < len(bits) * 8:
        raise _nowhere(slot)
    return bool(bits[slot.offset // 8] >> (slot.offset % 8) & 1)


def _value(kind: str, held: bytes, slot: Slot, texts: dict[int, str]) -> Any:
    """One metadata value out of its chunk's block."""
    try:
        if kind == "bool":
            return bool(held[slot.offset // 8] >> (slot.offset % 8) & 1)
        if kind != "text":
            return struct.unpack_from("<q" if kind == "int" else "<d", held, 8 * slot.offset)[0]
        start = 16 * slot.offset
        (length,) = struct.unpack_from("<i", held, start)
        if length > INLINE:
            return texts[slot.rowid]
        return held[start + 4 : start + 4 + length].decode()
    except (struct.error, IndexError, KeyError, UnicodeDecodeError):
        raise _nowhere(slot) from None


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _nowhere(slot: Slot) -> SnapshotError:
    return SnapshotError("snapshot.truncated", f"row {slot.rowid} points to a place that is not there.")


def _newer(text: str) -> SnapshotError:
    hint = "Export the rows as JSON lines and vectors, or use a newer rageval."
    return SnapshotError("snapshot.newer-format", f"{text}.", hint=hint)
