"""Corpora of random vectors, and the ranking that brute force gives them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.snapshot import Manifest, Metric, Snapshot
from rageval_action.core.model.types import Chunk, ChunkAcl, Query, Ranking, Run
from rageval_action.retrievers.dense import DenseRetriever
from rageval_action.retrievers.interface import Access, RetrieverContext


def snapshot(
    vectors: NDArray[np.floating],
    ids: Sequence[str],
    docs: Sequence[str],
    *,
    metric: Metric = "ip",
    shards: int = 1,
    acls: Sequence[ChunkAcl | None] | None = None,
) -> Snapshot:
    """A loaded snapshot of these rows."""
    chunks = tuple(
        Chunk(id=name, doc=doc, text=f"text of {name}", acl=acls[row] if acls else None)
        for row, (name, doc) in enumerate(zip(ids, docs, strict=True))
    )
    return Snapshot(
        path="made",
        manifest=Manifest(
            chunks=len(chunks),
            documents=len(set(docs)),
            dimension=vectors.shape[1],
            dtype=vectors.dtype.name,
            metric=metric,
            normalised=False,
        ),
        chunks=chunks,
        shards=tuple(np.array_split(vectors, shards)),
        empty_rows=tuple(np.flatnonzero(~vectors.any(axis=1)).tolist()),
    )


def queries(count: int) -> list[Query]:
    """Queries whose text is their number, so that an encoder can look them up."""
    return [Query(id=f"q{number}", text=str(number)) for number in range(count)]


def retrieve(
    made: Snapshot,
    vectors: NDArray[np.float32],
    depth: int,
    *,
    asked: Sequence[Query] | None = None,
    access: Access = "enforce",
    threads: int = 0,
    **options: int,
) -> Run:
    """What the dense retriever answers; query `n` has vector `n`."""
    context = RetrieverContext(
        snapshot=made,
        encode=lambda texts: vectors[[int(text) for text in texts]],
        options={"latency_queries": 0, **options},
        access=access,
        threads=threads,
    )
    return DenseRetriever(context).retrieve(asked or queries(len(vectors)), depth)


def pairs(ranking: Ranking) -> list[tuple[str, float]]:
    """Id and score of each hit."""
    return [(hit.id, hit.score) for hit in ranking.hits]


def score(metric: Metric, query: NDArray[np.float32], row: NDArray[np.floating]) -> float:
    """The score of one pair, on its own, in double precision."""
    wide, other = query.astype(np.float64), row.astype(np.float64)
    if metric == "l2":
        return 0.0 - float(np.add.reduce((other - wide) ** 2))
    dot = float(np.add.reduce(other * wide))
    if metric == "ip":
        return dot + 0.0
    return (
        dot / (float(np.sqrt(np.add.reduce(other * other))) * float(np.sqrt(np.add.reduce(wide * wide))))
        + 0.0
    )


def brute(made: Snapshot, query: NDArray[np.float32], depth: int) -> list[tuple[str, float]]:
    """Every row scored alone, sorted by the rule, cut as `search.rank` says."""
    rows = np.concatenate(made.shards)
    scored = [
        (score(made.manifest.metric, query, row), chunk.id, chunk.doc)
        for row, chunk in zip(rows, made.chunks, strict=True)
        if row.any()
    ]
    scored.sort(reverse=True)
    target = min(depth, len({doc for *_, doc in scored}))
    seen: set[str] = set()
    kept: list[tuple[str, float]] = []
    for position, (value, name, doc) in enumerate(scored):
        if len(seen) >= target and value != kept[-1][1]:
            break
        if position < depth or doc not in seen:
            kept.append((name, value))
        seen.add(doc)
    return kept
