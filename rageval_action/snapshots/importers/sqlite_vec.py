"""A sqlite-vec table read with plain SQLite: `sqlite-vec:db.sqlite?table=vec_chunks&texts=chunks`.

The extension is often missing where the gate runs, and running one from a file is no way to read it. A vec0 table
keeps its rows in ordinary tables: `T_rowids` says where each row lies, `T_chunks.validity` which slots are in use,
`T_vector_chunks00` holds the numbers.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.snapshot import Snapshot
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.importers.cache import through_cache
from rageval_action.snapshots.importers.place import Place, content_key
from rageval_action.snapshots.importers.table import Row, Table

OPTIONS = ("table", "texts", "key")
COLUMN = re.compile(r"(\w+)\s+float\[(\d+)\]([^,)]*)", re.IGNORECASE)


def load(place: str) -> Snapshot:
    """The snapshot of a table, from the cache where it is known."""
    at = Place("sqlite-vec", place, OPTIONS)
    at.file()
    return through_cache(at, read, content_key(at))


def read(place: Place) -> Table:
    """Vectors from the vec0 table; texts and metadata from an ordinary table joined by `key` (rowid by default).

    Raises:
        SnapshotError: `snapshot.not-sqlite`, `snapshot.which-table`, `snapshot.no-vector`, `snapshot.truncated`.
    """
    path = place.file()
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as base:
            base.execute("PRAGMA trusted_schema = OFF")
            base.row_factory = sqlite3.Row
            return _read(base, place)
    except sqlite3.Error as error:
        raise SnapshotError(
            "snapshot.not-sqlite", f"SQLite cannot read it: {error}.", where=place.where
        ) from error


def _read(base: sqlite3.Connection, place: Place) -> Table:
    table, dimension, metric = _choose(base, place)
    found = list(_vectors(base, table, dimension, place.where))
    if not found:
        raise SnapshotError("snapshot.empty", f"the table {table} holds no rows.", where=place.where)
    names = [name for name, _, _ in found]
    texts = _texts(base, place, [rowid for _, rowid, _ in found])
    field = place.get("text") or next(
        (name for name in ("text", "content", "body", "chunk") if name in texts[0]), ""
    )
    rows = [
        Row(
            id=name,
            text=str(row.get(field) or ""),
            metadata={key: v for key, v in row.items() if key != field},
        )
        for name, row in zip(names, texts, strict=True)
    ]
    return Table(rows=rows, vectors=np.stack([vector for _, _, vector in found]), metric=metric)


def _choose(base: sqlite3.Connection, place: Place) -> tuple[str, int, str]:
    """The table, the dimension of its first vector column and that column's metric."""
    found = base.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%vec0%'"
    ).fetchall()
    made = {str(row["name"]): str(row["sql"]) for row in found}
    wanted = place.get("table") or (next(iter(made)) if len(made) == 1 else "")
    if wanted not in made:
        text = f"it holds the vec0 tables {', '.join(sorted(made)) or '(none)'}."
        raise SnapshotError("snapshot.which-table", text, hint="Name one with ?table=", where=place.where)
    column = COLUMN.search(made[wanted])
    if column is None:
        text = f"the table {wanted} has no column of floats (int8 and bit vectors are not read)."
        raise SnapshotError("snapshot.bad-array", text, where=place.where)
    metric = re.search(r"distance_metric\s*=\s*(\w+)", column[3], re.IGNORECASE)
    named = metric[1].lower() if metric else "l2"
    if named not in {"l2", "cosine"}:
        raise SnapshotError("snapshot.bad-metric", f"its metric is {named}.", where=place.where)
    return wanted, int(column[2]), named


def _vectors(
    base: sqlite3.Connection, table: str, dimension: int, where: str
) -> Iterator[tuple[str, int, NDArray[np.float32]]]:
    """Id, rowid and vector of every row that is valid, in order of rowid."""
    quoted = table.replace('"', '""')
    valid = {
        row["chunk_id"]: row["validity"]
        for row in base.execute(f'SELECT chunk_id, validity FROM "{quoted}_chunks"')  # noqa: S608
    }
    blocks: dict[int, NDArray[np.float32]] = {}
    for row in base.execute(f'SELECT rowid, vectors FROM "{quoted}_vector_chunks00"'):  # noqa: S608
        if len(row["vectors"]) % (4 * dimension):
            raise SnapshotError("snapshot.truncated", "a block of vectors has a broken size.", where=where)
        blocks[row["rowid"]] = np.frombuffer(row["vectors"], dtype="<f4").reshape(-1, dimension)
    for row in base.execute(f'SELECT * FROM "{quoted}_rowids" ORDER BY rowid'):  # noqa: S608
        chunk, offset = row["chunk_id"], row["chunk_offset"]
        bits = valid.get(chunk)
        if bits is None or chunk not in blocks or not 0 <= offset < min(len(bits) * 8, len(blocks[chunk])):
            text = f"row {row['rowid']} points to a place that is not there."
            raise SnapshotError("snapshot.truncated", text, where=where)
        if bits[offset // 8] >> (offset % 8) & 1:
            name = row["id"] if row["id"] is not None else row["rowid"]
            yield str(name), int(row["rowid"]), blocks[chunk][offset]


def _texts(base: sqlite3.Connection, place: Place, rowids: list[int]) -> list[dict[str, Any]]:
    """The ordinary row that belongs to each rowid; nothing when no table was named."""
    table = place.get("texts").replace('"', '""')
    if not table:
        return [{} for _ in rowids]
    key = place.get("key", "rowid").replace('"', '""')
    query = f'SELECT "{key}" AS rageval_key, * FROM "{table}"'  # noqa: S608 - identifiers, quoted
    known = {
        row["rageval_key"]: dict(zip(row.keys()[1:], tuple(row)[1:], strict=True))
        for row in base.execute(query)
    }
    missing = [rowid for rowid in rowids if rowid not in known]
    if missing:
        text = f"the table {table} has no row for {len(missing)} vectors, e.g. {key} = {missing[0]}."
        raise SnapshotError("snapshot.count-mismatch", text, where=place.where)
    return [known[rowid] for rowid in rowids]
