"""Reads a sqlite-vec table inside the child process.

Read by the extension, in a SQLite of apsw's that can load it. Ours are the checks that it lacks: it runs a view that
stands in for one of its tables, and does not look at the version that made them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_action.errors import SnapshotError
from rageval_action.library_process import missing_library
from rageval_action.snapshots.importers.location import files_of
from rageval_action.snapshots.importers.reader_process import DAMAGED, Sink, copied
from rageval_action.snapshots.importers.sqlite_file import check_whole
from rageval_action.snapshots.importers.table import TEXT_FIELDS

KNOWN = (0, 1)
"""Tables of this version (major, minor) are known; newer ones may lie otherwise and are refused."""

COLUMNS = re.compile(r"\busing\s+vec0\s*\((.*)\)[\s;]*$", re.IGNORECASE | re.DOTALL)
FLOATS = re.compile(r"(\w+)\s+(?:float|f32)\w*\s*\[\s*\d+\s*\]\s*(.*)", re.IGNORECASE | re.DOTALL)
DISTANCE = re.compile(r"distance_metric\s*=\s*(\w+)", re.IGNORECASE)
SHADOW = re.compile(
    r"_(info|chunks|rowids|auxiliary|vector_chunks\d+|metadatachunks\d+|metadatatext\d+)", re.IGNORECASE
)
"""How the ordinary tables are called in which a vec0 table keeps its rows, after its own name."""

PLAIN = re.compile(r"CREATE TABLE\b")
BATCH = 1024


def read(path: Path, options: dict[str, str], sink: Sink) -> None:
    """Write one table, with the columns that lie in it and, with `texts`, in an ordinary table.

    Raises:
        ConfigError: `config.missing-extra`.
        SnapshotError: `snapshot.not-sqlite`, `snapshot.which-table`, `snapshot.newer-format`, `snapshot.bad-array`,
            `snapshot.bad-metric`, `snapshot.truncated`, `snapshot.count-mismatch`.
    """
    try:
        import apsw
        import sqlite_vec
    except ImportError:
        raise missing_library("sqlite-vec and apsw", "sqlite-vec") from None
    check_whole(path)
    mode = "mode=ro&immutable=1"
    if len(files_of(path)) > 1:  # SQLite joins the file and its log only where it may write
        path, mode = copied(path), "mode=rw"
    try:
        flags = apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READWRITE
        with closing(apsw.Connection(f"{path.as_uri()}?{mode}", flags=flags)) as base:
            base.enable_load_extension(True)  # noqa: FBT003 - the library's own signature
            base.load_extension(sqlite_vec.loadable_path())
            base.enable_load_extension(False)  # noqa: FBT003
            base.execute("PRAGMA trusted_schema = OFF")
            base.execute("PRAGMA cell_size_check = ON")
            base.limit(apsw.SQLITE_LIMIT_LENGTH, max(1 << 20, path.stat().st_size))
            _Reader(base, options, sink).write()
    except apsw.SQLError as error:
        raise _refusal(str(error)) from None
    except apsw.Error as error:
        raise SnapshotError("snapshot.not-sqlite", f"SQLite cannot read it: {error}.") from None


class _Reader:
    def __init__(self, base: Any, options: dict[str, str], sink: Sink) -> None:
        self._base = base
        self._options = options
        self._sink = sink
        self._made = {
            str(name): str(sql) for name, sql in base.execute("SELECT name, sql FROM sqlite_master")
        }

    def write(self) -> None:
        """Rows as the extension gives them, and their vectors in blocks."""
        table, columns = self._table()
        self._check(table)
        vector, self._sink.metric = _vector(table, columns, self._options.get("vector", ""))
        beside = self._texts()
        vectors: list[NDArray[np.float32]] = []
        for key, row in self._rows(table):
            vectors.append(np.frombuffer(row.pop(vector), dtype="<f4"))
            if beside is not None and key not in beside:
                text = f"the table {self._options['texts']} has no row for the vector {key}."
                raise SnapshotError("snapshot.count-mismatch", text)
            row.update(beside[key] if beside is not None else {})
            field = self._options.get("text") or next((name for name in TEXT_FIELDS if name in row), "")
            self._sink.row(str(key), str(row.pop(field, None) or ""), row)
            if len(vectors) == BATCH:
                self._sink.vectors(np.stack(vectors))
                vectors.clear()
        if vectors:
            self._sink.vectors(np.stack(vectors))

    def _table(self) -> tuple[str, str]:
        """The table that was named, or the only one, and the arguments that it was made with."""
        tables = {name: found[1] for name, sql in self._made.items() if (found := COLUMNS.search(sql))}
        wanted = self._options.get("table") or (next(iter(tables)) if len(tables) == 1 else "")
        if wanted not in tables:
            text = f"it holds the vec0 tables {', '.join(sorted(tables)) or '(none)'}."
            raise SnapshotError("snapshot.which-table", text, hint="Name one with ?table=")
        return wanted, tables[wanted]

    def _check(self, table: str) -> None:
        """That what the extension will look into are ordinary tables, of a version that it knows (told since 0.1.5)."""
        for name, sql in self._made.items():
            if name.startswith(table) and SHADOW.fullmatch(name[len(table) :]) and not PLAIN.match(sql):
                raise SnapshotError("snapshot.bad-table", f"{name} is no ordinary table.", hint=DAMAGED)
        if f"{table}_info" in self._made:
            stated = dict(self._base.execute(f"SELECT key, value FROM {_quoted(f'{table}_info')}"))  # noqa: S608
            version = (stated.get("CREATE_VERSION_MAJOR", 0), stated.get("CREATE_VERSION_MINOR", 1))
            if version != KNOWN:
                raise _newer(f"a sqlite-vec {version[0]}.{version[1]} made it; 0.1 is known")

    def _rows(self, table: str, first: str = "") -> Iterator[tuple[Any, dict[str, Any]]]:
        """The value of the first column of each row, and the other columns by name."""
        found = self._base.execute(f"SELECT {first}* FROM {_quoted(table)}")  # noqa: S608 - quoted
        for key, *values in found:
            yield key, dict(zip([column[0] for column in found.getdescription()[1:]], values, strict=True))

    def _texts(self) -> dict[Any, dict[str, Any]] | None:
        """The rows of an ordinary table by the key that the vectors have; None when no table was named."""
        table = self._options.get("texts", "")
        if not table:
            return None
        if not PLAIN.match(self._made.get(table, "")):
            hint = "Copy a view or a virtual table into one: CREATE TABLE … AS SELECT …"
            raise SnapshotError("snapshot.which-table", f"there is no ordinary table {table}.", hint=hint)
        return dict(self._rows(table, f"{_quoted(self._options.get('key') or 'rowid')}, "))


def _vector(table: str, columns: str, wanted: str) -> tuple[str, str]:
    """The column of floats that was named, or the first, and its metric."""
    found = [match for part in columns.split(",") if (match := FLOATS.fullmatch(part.strip()))]
    chosen = next((match for match in found if wanted in {"", match[1]}), None)
    if chosen is None:
        what = f"a column {wanted} of floats" if wanted else "a column of floats"
        text = f"the table {table} has not {what} (int8 and bit vectors are not read)."
        raise SnapshotError("snapshot.bad-array", text)
    metric = DISTANCE.fullmatch(chosen[2].strip())
    if metric and metric[1].lower() not in {"l2", "cosine"}:
        raise SnapshotError("snapshot.bad-metric", f"its metric is {metric[1]}.")
    return chosen[1], metric[1].lower() if metric else "l2"


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _refusal(said: str) -> SnapshotError:
    """What the extension says of a table that it does not know, or whose rows lie nowhere."""
    if "vec0 constructor" in said:
        return _newer(said.rstrip("."))
    return SnapshotError("snapshot.truncated", f"a part of the table is missing: {said}.", hint=DAMAGED)


def _newer(text: str) -> SnapshotError:
    hint = "Export the rows as JSON lines and vectors, or install a newer sqlite-vec or rageval."
    return SnapshotError("snapshot.newer-format", f"{text}.", hint=hint)
