"""A few chunks with vectors, and what every importer has to give back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.snapshots.interface import open_snapshot

IDS = ["a-1", "a-2", "ж-3", "d-4", "e-5", "f-6"]
TEXTS = ["first text", "second 文字", "third\nline", "fourth", "fifth 🙂", "sixth"]
DOCS = ["doc-a", "doc-a", "doc-ж", "doc-d", "doc-d", "doc-f"]


def vectors(*, unit: bool = True, count: int = 6, dimension: int = 8) -> NDArray[np.float32]:
    """Reproducible vectors."""
    made = np.random.default_rng(7).standard_normal((count, dimension))
    return (made / np.linalg.norm(made, axis=1, keepdims=True) if unit else made * 3).astype(np.float32)


def chunks_file(folder: Path, ids: list[str] = IDS) -> Path:
    """The chunks as JSON lines."""
    path = folder / "chunks.jsonl"
    rows = [{"id": i, "doc": d, "text": t} for i, d, t in zip(ids, DOCS, TEXTS, strict=True)]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def opened(location: str) -> Snapshot:
    """Open a store twice: the second time it comes out of the cache, and is the same."""
    first, again = open_snapshot(location), open_snapshot(location)
    assert first.manifest == again.manifest
    assert first.notices == again.notices
    assert first.chunks == again.chunks
    return first


def same(made: Snapshot, expected: NDArray[np.float32], *, atol: float = 1e-6, docs: bool = True) -> None:
    """Ids, texts, documents and vectors are those that went in, whatever the store's order."""
    assert sorted(chunk.id for chunk in made.chunks) == sorted(IDS)
    row = {chunk.id: at for at, chunk in enumerate(made.chunks)}
    chosen = [made.chunks[row[name]] for name in IDS]
    assert [chunk.text for chunk in chosen] == TEXTS
    if docs:
        assert [chunk.doc for chunk in chosen] == DOCS
    stored = np.concatenate([np.asarray(shard, dtype=np.float32) for shard in made.shards])
    np.testing.assert_allclose(stored[[row[name] for name in IDS]], expected, atol=atol)


def codes(made: Snapshot) -> set[str]:
    """Codes of the notices."""
    return {notice.code for notice in made.notices}
