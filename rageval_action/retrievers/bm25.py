"""BM25 over the chunks' texts, by bm25s (Lù 2024, arXiv:2407.03618): its Lucene variant by default."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.types import Query, Ranking, Run
from rageval_action.errors import SnapshotError
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.ranking import Corpus
from rageval_action.retrievers.text import Analyzer

METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")
WARM_UP = 3


class Bm25Retriever:
    """Lexical retrieval.

    Options: those of `Analyzer`; `method`, `k1`, `b`, `delta` (of bm25l and bm25+); `matches_only`: leave out
    chunks that share no term with the query (off: they follow with score 0, as in bm25s, ordered by id).
    """

    def __init__(self, context: RetrieverContext) -> None:
        options = Options("bm25", context.options, context.environ)
        self._analyzer = Analyzer(options)
        method = options.text("method", "lucene", choices=METHODS)
        k1 = options.number("k1", 1.5, most=100.0)
        b = options.number("b", 0.75, most=1.0)
        delta = options.number("delta", 0.5, most=100.0)
        self._matches_only = options.flag("matches_only", default=False)
        options.finish()
        self._parameters = options.recorded
        self._enforce = context.access == "enforce"
        self._corpus = Corpus(context.snapshot.chunks)
        self._index = self._build(method=method, k1=k1, b=b, delta=delta)

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Rank every query to `depth` distinct documents."""
        for query in queries[:WARM_UP]:
            self._rank(query, depth)
        return Run(
            rankings=tuple(self._rank(query, depth) for query in queries),
            retriever="bm25",
            parameters=self._parameters,
            depth=depth,
            warm_up=min(WARM_UP, len(queries)),
        )

    def _rank(self, query: Query, depth: int) -> Ranking:
        began = time.perf_counter()
        scores = self._scores(query.text)
        allowed = self._corpus.visible(query) if self._enforce else None
        if self._matches_only:
            allowed = scores > 0 if allowed is None else allowed & (scores > 0)
        hits = self._corpus.best(scores, depth, allowed)
        spent = (time.perf_counter() - began) * 1000
        return Ranking(query_id=query.id, hits=hits, latency_ms={"retrieve": spent, "total": spent})

    def _scores(self, text: str) -> NDArray[np.float32]:
        """(rows,) BM25 of every chunk."""
        known = self._index.get_tokens_ids(self._analyzer.terms(text))
        if not known:
            return np.zeros(len(self._corpus.chunks), dtype=np.float32)
        found: NDArray[np.float32] = self._index.get_scores_from_ids(known)
        return found

    def _build(self, *, method: str, k1: float, b: float, delta: float) -> _Index:
        import bm25s  # brings numba and scipy where they are installed

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets itself to DEBUG when imported
        vocabulary: dict[str, int] = {}
        rows = [
            [vocabulary.setdefault(term, len(vocabulary)) for term in self._analyzer.terms(chunk.text)]
            for chunk in self._corpus.chunks
        ]
        if not vocabulary:
            raise SnapshotError(
                "snapshot.no-terms",
                "no chunk has a text that gives an index term, so there is nothing to search by words.",
                hint="Check the chunks' texts and the option tokens.",
            )
        index = bm25s.BM25(method=method, k1=k1, b=b, delta=delta, backend="numpy")
        index.index((rows, vocabulary), show_progress=False)
        made: _Index = index
        return made


class _Index(Protocol):
    """The two calls of `bm25s.BM25` that are used."""

    def get_tokens_ids(self, query_tokens: list[str]) -> list[int]: ...

    def get_scores_from_ids(self, query_tokens_ids: list[int]) -> NDArray[np.float32]: ...
