"""Chroma folders: everything still in the queue; and an index on disk with the rest in the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chromadb
from corpus import Corpus, Row, case


def write(corpus: Corpus, out: Path) -> list[Row]:
    """Both folders."""
    if chromadb.__version__.startswith("0.3."):
        return _in_parquet(corpus, out)
    # Between 0.4.0 and 0.4.3 Chroma changed what its first tables look like, and opens the older ones no more.
    told = {"refused": "snapshot.old-format"} if chromadb.__version__ == "0.4.0" else {}
    cases = []
    for name, space, more in (
        ("queue", "l2", {}),
        ("index", "cosine", {"hnsw:batch_size": 3, "hnsw:sync_threshold": 4}),
    ):
        client = chromadb.PersistentClient(str(out / name))
        _fill(client.create_collection("docs", metadata={"hnsw:space": space, **more}), corpus)
        client.create_collection("empty", metadata={"hnsw:space": "ip"})
        # Under cosine the index keeps unit vectors and norms, and multiplies them again.
        precise = {"precision": 2.0**-22} if space == "cosine" else {}
        cases.append(case("chroma:{folder}/" + name + "?collection=docs", space, **precise, **told))
    return cases


def _in_parquet(corpus: Corpus, out: Path) -> list[Row]:
    """Before 0.4 Chroma kept DuckDB's Parquet files and pickles."""
    from chromadb.config import Settings

    settings = Settings(
        chroma_db_impl="duckdb+parquet", persist_directory=str(out / "old"), anonymized_telemetry=False
    )
    client = chromadb.Client(settings)
    collection = client.create_collection("docs")
    collection.add(ids=["a-1"], embeddings=[corpus.rows[0]["vector"]], documents=[corpus.rows[0]["text"]])
    client.persist()
    return [case("chroma:{folder}/old", "l2", refused="snapshot.old-format")]


def _fill(collection: Any, corpus: Corpus) -> None:
    for start in range(0, len(corpus.written), 3):
        rows = corpus.written[start : start + 3]
        collection.add(
            ids=[row["id"] for row in rows],
            embeddings=[row["vector"] for row in rows],
            documents=[row["text"] for row in rows],
            metadatas=[row["metadata"] for row in rows],
        )
    row = corpus.update
    collection.update(
        ids=[row["id"]], embeddings=[row["vector"]], documents=[row["text"]], metadatas=[row["metadata"]]
    )
    collection.delete(ids=[corpus.gone["id"]])
