"""Retrievers that say what a test wants them to say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rageval_action.core.model.types import Query, Ranking, Run
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.ranking import Corpus


class ExactRetriever:
    """Inner products in float64 over the whole corpus; `broken` names a query that fails."""

    def __init__(self, context: RetrieverContext) -> None:
        self._context = context
        self._corpus = Corpus(context.snapshot.chunks)
        self._vectors = np.concatenate(context.snapshot.shards).astype(np.float64)

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Rank every query."""
        vectors = self._context.encode([query.text for query in queries]).astype(np.float64)
        return Run(
            rankings=tuple(self._ranking(q, v, depth) for q, v in zip(queries, vectors, strict=True)),
            retriever="exact",
            depth=depth,
        )

    def _ranking(self, query: Query, vector: np.ndarray, depth: int) -> Ranking:
        if query.id == self._context.options.get("broken"):
            return Ranking(query_id=query.id, error="no answer")
        allowed = self._corpus.visible(query) if self._context.access == "enforce" else None
        hits = self._corpus.best(np.round(self._vectors @ vector, 12), depth, allowed)
        return Ranking(query_id=query.id, hits=hits, latency_ms={"embed": 1.0, "retrieve": 2.0, "total": 3.0})
