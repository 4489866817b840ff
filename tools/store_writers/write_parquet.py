"""Parquet files by whichever library is there."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from corpus import Corpus, Row, case


def write(corpus: Corpus, out: Path) -> list[Row]:
    """One file a library, or a format version of pyarrow's."""
    columns: Row = {name: [row[name] for row in corpus.rows] for name in ("id", "text", "vector")}
    for name in corpus.rows[0]["metadata"]:
        columns[name] = [row["metadata"][name] for row in corpus.rows]
    cases = []
    for name in ("pyarrow", "polars", "duckdb", "fastparquet"):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        cases += globals()["_" + name](columns, out)
    return cases


def _told(name: str) -> Row:
    return case("parquet:{folder}/" + name + ".parquet?metric=ip", "ip")


def _pyarrow(columns: Row, out: Path) -> list[Row]:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({**columns, "vector": pa.array(columns["vector"], type=pa.list_(pa.float32()))})
    parquet.write_table(table, str(out / "v1.parquet"), version="1.0", row_group_size=3)
    parquet.write_table(
        table,
        str(out / "v2.parquet"),
        version="2.0" if pa.__version__.startswith("0.") else "2.6",
        data_page_version="2.0",
        compression="gzip",
        use_dictionary=False,
    )
    return [_told("v1"), _told("v2")]


def _polars(columns: Row, out: Path) -> list[Row]:
    import polars

    frame = polars.DataFrame(columns).with_columns(polars.col("vector").cast(polars.List(polars.Float32)))
    frame.write_parquet(out / "polars.parquet")
    fixed = frame.with_columns(polars.col("vector").cast(polars.Array(polars.Float32, 8)))
    fixed.write_parquet(out / "polars-fixed.parquet")
    return [_told("polars"), _told("polars-fixed")]


def _duckdb(columns: Row, out: Path) -> list[Row]:
    import duckdb

    base = duckdb.connect()
    base.execute(
        "CREATE TABLE t(id TEXT, text TEXT, vector FLOAT[8], source TEXT, lang TEXT, page BIGINT, weight DOUBLE)"
    )
    order = ("id", "text", "vector", "source", "lang", "page", "weight")
    for values in zip(*(columns[name] for name in order), strict=True):
        base.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    base.execute("COPY t TO '" + str(out / "duckdb.parquet") + "' (FORMAT parquet)")
    return [_told("duckdb")]


def _fastparquet(columns: Row, out: Path) -> list[Any]:
    """It writes lists as JSON text only: not a store of vectors."""
    del columns, out
    return []
