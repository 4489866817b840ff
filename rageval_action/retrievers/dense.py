"""The dense retriever: exact search over the snapshot's vectors, under the snapshot's own metric."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from rageval_action.core.model.record import TIMED_QUERIES
from rageval_action.core.model.types import Hit, Notice, Query, Ranking, Run
from rageval_action.errors import CannotMeasureError, ConfigError
from rageval_action.retrievers.hits import HitMaker
from rageval_action.retrievers.search import Corpus, Ranked, rank
from rageval_action.retrievers.vectors import from_snapshot
from rageval_action.retrievers.views import Views, group_documents, views_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rageval_action.retrievers.interface import OptionValue, RetrieverContext

OPTIONS = {"batch_size": 1024, "latency_queries": -1}
"""Option -> default; all are whole numbers. Neither changes a score."""

WARM_UP = 2
"""Single queries that are run before the clock starts."""

MOST_TIMED = 32
_TIMED_BYTES = 1 << 30
"""Of how many queries the latency is measured, and how many bytes of vectors that may read in all."""

_SCORE_MEANS = {
    "ip": "inner product",
    "cosine": "cosine",
    "l2": "negative squared Euclidean distance",
}


class DenseRetriever:
    """Exact nearest neighbours (no index, no approximation).

    Scores are inner products, cosines or negative squared distances, computed in double precision; see
    `retrievers.search` for how the order is made independent of storage order, threads and batch size. Chunks with a
    zero vector are never returned.

    Latency: all queries are ranked in batches, which says nothing about how long one query takes. So a few of them,
    evenly spaced, are run again alone, after a warm-up, and only those carry `latency_ms`: `embed` (when the model had
    to embed the text: a vector that came with the snapshot costs nothing and is not timed), `retrieve` and `total`.
    How many depends on the size of the snapshot, not on a clock; `latency_queries` sets the number.

    Options:
        batch_size: queries per search.
        latency_queries: queries to time; -1 = at most 32, fewer when the snapshot is large; 0 = none.
    """

    def __init__(self, context: RetrieverContext) -> None:
        """Take the snapshot and the options.

        Raises:
            ConfigError: `config.unknown-option` or `config.bad-option`.
            CannotMeasureError: `snapshot.no-vectors` for a snapshot without vectors.
        """
        snapshot = context.snapshot
        self._options = _checked(context.options)
        if not snapshot.shards:
            raise CannotMeasureError(
                "snapshot.no-vectors",
                "the snapshot holds no vectors, so there is nothing to search.",
                hint="Build it with --model or --embeddings, or choose a lexical retriever.",
                where=snapshot.path,
            )
        self._context = context
        self._corpus = Corpus(
            vectors=from_snapshot(snapshot),
            ids=[chunk.id for chunk in snapshot.chunks],
            documents=group_documents(snapshot.chunks),
        )
        self._maker = HitMaker(snapshot.chunks)

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Rank every query to `depth` distinct documents; see `search.rank` for what a ranking holds.

        Raises:
            CannotMeasureError: from the encoder, when query vectors can neither be found nor computed.
        """
        snapshot = self._context.snapshot
        views = views_of(
            queries,
            snapshot.chunks,
            self._corpus.documents,
            enforce=self._context.access == "enforce",
            never=snapshot.empty_rows,
        )
        with _threads(self._context.threads):
            vectors = self._encode(queries)
            rankings = self._rank(queries, vectors, views, depth)
            times = self._time(queries, vectors, views, depth)
        return Run(
            rankings=tuple(
                Ranking(
                    query_id=ranking.query_id,
                    hits=ranking.hits,
                    latency_ms=times.get(at, {}),
                    error=ranking.error,
                )
                for at, ranking in enumerate(rankings)
            ),
            retriever="dense",
            parameters=self._parameters(len(times)),
            depth=depth,
            warm_up=min(WARM_UP, len(times)),
            notices=_notices(rankings),
        )

    def _encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """Vectors of the queries; each text is embedded once."""
        texts = list(dict.fromkeys(query.text for query in queries))
        if not texts:
            return np.empty((0, self._corpus.vectors.dimension), dtype=np.float32)
        vectors = self._context.encode(texts)
        row = {text: number for number, text in enumerate(texts)}
        return np.ascontiguousarray(vectors[[row[query.text] for query in queries]], dtype=np.float32)

    def _rank(
        self, queries: Sequence[Query], vectors: NDArray[np.float32], views: Views, depth: int
    ) -> list[Ranking]:
        """Rankings of all queries, searched in batches; a vector that cannot be searched with fails alone."""
        found = [
            Ranking(query_id=query.id, error=self._fault(vectors[at])) for at, query in enumerate(queries)
        ]
        good = np.array([at for at, ranking in enumerate(found) if not ranking.error], dtype=np.int64)
        size = self._options["batch_size"]
        for start in range(0, len(good), size):
            part = good[start : start + size]
            ranked = rank(self._corpus, vectors[part], _part(views, part), depth)
            for number, at in enumerate(part.tolist()):
                found[at] = Ranking(query_id=queries[at].id, hits=self._hits(ranked, number))
        return found

    def _hits(self, ranked: Ranked, at: int) -> tuple[Hit, ...]:
        own = slice(ranked.starts[at], ranked.starts[at + 1])
        return self._maker.hits(ranked.rows[own].tolist(), ranked.scores[own].tolist())

    def _fault(self, vector: NDArray[np.float32]) -> str:
        """Why a query vector cannot be searched with, or nothing."""
        if not np.isfinite(vector).all():
            return "the query vector holds NaN or infinity"
        if self._corpus.vectors.metric == "cosine" and not vector.any():
            return "the query vector is zero, and a cosine with it has no value"
        return ""

    def _time(
        self, queries: Sequence[Query], vectors: NDArray[np.float32], views: Views, depth: int
    ) -> dict[int, dict[str, float]]:
        """Position of a query -> its stages in ms, each query run alone."""
        good = [at for at in range(len(queries)) if not self._fault(vectors[at])]
        chosen = _spaced(good, self._timed(len(good)))
        for at in chosen[:WARM_UP]:
            self._time_one(queries[at], vectors, views, depth, at)
        return {at: self._time_one(queries[at], vectors, views, depth, at) for at in chosen}

    def _timed(self, queries: int) -> int:
        asked = self._options["latency_queries"]
        if asked >= 0:
            return min(asked, queries)
        vectors = self._corpus.vectors
        return min(queries, MOST_TIMED, max(3, _TIMED_BYTES // (4 * vectors.rows * vectors.dimension)))

    def _time_one(
        self, query: Query, vectors: NDArray[np.float32], views: Views, depth: int, at: int
    ) -> dict[str, float]:
        fresh = getattr(self._context.encode, "fresh", None)
        began = time.perf_counter()
        embedded = fresh is not None and fresh(query.text) is not None
        searched = time.perf_counter()
        alone = np.array([at])
        self._hits(rank(self._corpus, vectors[alone], _part(views, alone), depth), 0)
        ended = time.perf_counter()
        stages = {"retrieve": (ended - searched) * 1e3}
        if embedded:
            stages = {"embed": (searched - began) * 1e3, **stages}
        return {**stages, "total": sum(stages.values())}

    def _parameters(self, timed: int) -> dict[str, str | int | float | bool]:
        """What the record keeps; nothing in it depends on the machine."""
        metric = self._corpus.vectors.metric
        return {
            "metric": metric,
            "score": _SCORE_MEANS[metric],
            "search": "exact",
            "query_vectors": str(getattr(self._context.encode, "origin", "given")),
            TIMED_QUERIES: timed,
        }


def _checked(options: Mapping[str, OptionValue]) -> dict[str, int]:
    """The options with their defaults.

    Raises:
        ConfigError: `config.unknown-option` or `config.bad-option`.
    """
    found = dict(OPTIONS)
    for name, value in options.items():
        if name not in OPTIONS:
            hint = f"It knows: {', '.join(OPTIONS)}."
            raise ConfigError(
                "config.unknown-option", f'the dense retriever has no option "{name}".', hint=hint
            )
        least = 1 if name == "batch_size" else -1
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            message = f"the option `{name}` of the dense retriever is a whole number from {least} up, not {value!r}."
            raise ConfigError("config.bad-option", message)
        found[name] = value
    return found


def _part(views: Views, chosen: NDArray[np.int64]) -> Views:
    return Views(masks=views.masks, of_query=views.of_query[chosen], documents=views.documents)


def _spaced(items: Sequence[int], count: int) -> list[int]:
    """`count` of the items, evenly spaced, the first among them."""
    return [items[at * len(items) // count] for at in range(count)]


def _notices(rankings: Sequence[Ranking]) -> tuple[Notice, ...]:
    failed = [ranking for ranking in rankings if ranking.error]
    if not failed:
        return ()
    text = f'{len(failed)} queries could not be searched: {failed[0].error} (query "{failed[0].query_id}").'
    return (Notice(code="retriever.query-failed", text=text),)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let FAISS use `count` threads for a while; 0 leaves it alone and does not even import it."""
    if not count:
        yield
        return
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
