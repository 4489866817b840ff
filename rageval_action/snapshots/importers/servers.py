"""Stores that run as servers: Qdrant by its scroll API, PostgreSQL with pgvector by a SELECT or a COPY file.

Read by psycopg, and over HTTP as Qdrant documents it; ours is the file of COPY, which no library reads.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.library_process import missing_library
from rageval_action.snapshots.importers.json_stores import points_table
from rageval_action.snapshots.importers.location import StoreLocation
from rageval_action.snapshots.importers.reader_process import TIMEOUT_S
from rageval_action.snapshots.importers.table import Row, Table, matrix
from rageval_action.transport import Client, credential

PAGE = 256
CONNECT_S = 30
"""How long a database may take to answer at all, unless its address says otherwise."""

DISTANCES = {"Cosine": "cosine", "Dot": "ip", "Euclid": "l2"}


def read_qdrant(location: StoreLocation) -> Table:
    """All points of a collection. Under cosine Qdrant keeps vectors normalised: those it gives are not what went in.

    Raises:
        TransportError: the server cannot be asked.
        SnapshotError: `snapshot.bad-metric` for a distance that is none of ours.
    """
    collection = location.need("collection", "a Qdrant server holds collections.")
    key = location.get("api_key_env")
    client = Client(location.where, {"api-key": credential(key, location.where)} if key else {})
    metric = _distance(client.request("GET", f"/collections/{collection}"), location)
    points: list[dict[str, Any]] = []
    offset: object = None
    while True:
        asked: dict[str, object] = {"limit": PAGE, "with_payload": True, "with_vector": True}
        asked |= {} if offset is None else {"offset": offset}
        answer = client.request("POST", f"/collections/{collection}/points/scroll", asked)["result"]
        points += answer["points"]
        offset = answer.get("next_page_offset")
        if offset is None:
            return points_table(
                [(f"{location} point {at}", point) for at, point in enumerate(points)], location, metric
            )


def _distance(answer: Any, location: StoreLocation) -> str:
    vectors = answer["result"]["config"]["params"]["vectors"]
    if "distance" not in vectors:
        vectors = vectors.get(location.get("name") or next(iter(vectors), ""), {})
    distance = str(vectors.get("distance", ""))
    if distance not in DISTANCES:
        raise SnapshotError(
            "snapshot.bad-metric", f'Qdrant\'s distance "{distance}" is not ours.', where=location.where
        )
    return DISTANCES[distance]


def read_pgvector(location: StoreLocation) -> Table:
    """All rows of a table, ordered by id. The address stands in a variable, so that no password is written down.

    Raises:
        ConfigError: `config.missing-extra`, `config.missing-variable`.
        SnapshotError: `snapshot.unreadable` when the database says no.
    """
    table = location.need("table", "a database holds many tables.")
    name = location.get("dsn_env", "DATABASE_URL")
    address = os.environ.get(name, "")
    if not address:
        raise ConfigError("config.missing-variable", f"the variable {name} is not set.", where="pgvector:")
    try:
        import psycopg
        from psycopg import sql
        from psycopg.rows import dict_row
    except ImportError:
        raise missing_library("psycopg", "pgvector") from None
    vector = location.get("vector", "embedding")
    query = sql.SQL("SELECT *, {}::text AS rageval_vector FROM {} ORDER BY {}").format(
        sql.Identifier(vector), sql.Identifier(*table.split(".")), sql.Identifier(location.get("id", "id"))
    )
    try:
        wait = psycopg.conninfo.conninfo_to_dict(address).get("connect_timeout", CONNECT_S)
        with psycopg.connect(address, row_factory=dict_row, connect_timeout=wait) as base:
            base.read_only = True
            base.execute(f"SET statement_timeout = '{TIMEOUT_S:.0f}s'")
            found = base.execute(query).fetchall()
    except psycopg.Error as error:
        text = f"PostgreSQL refused: {str(error).splitlines()[0] if str(error) else type(error).__name__}."
        raise SnapshotError("snapshot.unreadable", text, where=f"pgvector:{table}") from None
    return _database_table(found, location, vector)


def _database_table(found: list[dict[str, Any]], location: StoreLocation, vector: str) -> Table:
    rows, vectors = [], []
    for at, entry in enumerate(found):
        name = str(entry[location.get("id", "id")])
        at_row = f"{location.scheme}:{location.where} row {at}"
        vectors.append(_numbers(entry.pop("rageval_vector"), name, at_row))
        entry.pop(vector, None)
        text = str(entry.pop(location.get("text", "content" if "content" in entry else "text"), "") or "")
        plain = {key: v if isinstance(v, (str, int, float, bool, dict, list)) or v is None else str(v)
                 for key, v in entry.items()}  # fmt: skip
        rows.append(Row(id=name, text=text, metadata=plain))
    return Table(rows=rows, vectors=matrix(vectors, location.where or "pgvector", rows))


def read_pgvector_csv(location: StoreLocation) -> Table:
    """A COPY file with a header; vectors stand in it as text."""
    vector = location.get("vector", "embedding")
    found = [
        {**row, "rageval_vector": row[vector]} for row in _rows(location, (vector, location.get("id", "id")))
    ]
    return _database_table(found, location, vector)


def _rows(location: StoreLocation, needed: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of a CSV file that has these columns."""
    csv.field_size_limit(64 << 20)
    with location.file().open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream, strict=True)
        try:
            columns = reader.fieldnames or []
            for name in needed:
                if name not in columns:
                    text = f"there is no column {name}; there are {', '.join(columns)[:300] or 'none'}."
                    raise SnapshotError("snapshot.no-field", text, where=location.where)
            for row in reader:
                if None in row or None in row.values():
                    text = "the row has not as many columns as the header."
                    raise SnapshotError("snapshot.bad-csv", text, where=f"{location.where}:{reader.line_num}")
                yield row
        except (csv.Error, UnicodeDecodeError) as error:
            text = f"this is not CSV in UTF-8: {error}."
            raise SnapshotError(
                "snapshot.bad-csv", text, where=f"{location.where}:{reader.line_num}"
            ) from None


def _numbers(text: str | None, name: str, where: str) -> NDArray[np.float32]:
    """`[0.1,0.2]`, as vector and halfvec are written."""
    if not text:
        raise SnapshotError("snapshot.no-vector", f"`{name}` has no vector.", where=where)
    inside = text[1:-1] if (text[0], text[-1]) == ("[", "]") else "not a list"
    try:
        return np.array(inside.split(","), dtype=np.float32)
    except ValueError:
        raise SnapshotError(
            "snapshot.bad-array", f"the vector of `{name}` is not a list of numbers.", where=where
        ) from None
