"""Small snapshots made on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.hashing import query_key
from rageval_action.core.model.snapshot import BuildSettings
from rageval_action.core.model.types import Chunk
from rageval_action.snapshots.write import Contents, write_snapshot

SETTINGS = BuildSettings(
    metric="ip", model="toy/model", revision="r1", query_prefix="q: ", document_prefix="d: "
)


def chunks(count: int, **changed: object) -> list[Chunk]:
    """`count` chunks, two to a document; `changed` is set on the first."""
    made = [
        Chunk(id=f"c{number}", doc=f"d{number // 2}", text=f"text {number}", start=0, end=6)
        for number in range(count)
    ]
    if changed:
        made[0] = Chunk(
            **{**{field: getattr(made[0], field) for field in Chunk.__struct_fields__}, **changed}
        )
    return made


def unit_vectors(rows: int, dimension: int = 4, seed: int = 0) -> NDArray[np.float32]:
    """Rows of norm 1."""
    vectors = np.random.default_rng(seed).standard_normal((rows, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def cached(
    texts: list[str], dimension: int = 4, settings: BuildSettings = SETTINGS
) -> dict[str, NDArray[np.float32]]:
    """Query vectors under the keys that the encoder looks for."""
    keys = [
        query_key(model=settings.model, revision=settings.revision, prefix=settings.query_prefix, text=text)
        for text in texts
    ]
    return dict(zip(keys, unit_vectors(len(texts), dimension, seed=7), strict=True))


def write(
    out: Path,
    rows: int = 10,
    *,
    vectors: NDArray[np.floating] | None = None,
    made: list[Chunk] | None = None,
    queries: Mapping[str, NDArray[np.float32]] | None = None,
    shard_rows: int = 0,
    settings: BuildSettings = SETTINGS,
) -> Path:
    """Write a snapshot and return its folder."""
    contents = Contents(
        chunks=made or chunks(rows),
        vectors=unit_vectors(rows) if vectors is None else vectors,
        query_vectors=cached(["one", "two"]) if queries is None else queries,
    )
    write_snapshot(out, contents, settings, shard_rows=shard_rows)
    return out
