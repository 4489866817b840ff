"""Vectors of a snapshot under its own metric: fast scores in single precision, exact ones in double precision.

Scores are "higher is better" everywhere: an inner product, a cosine, or the negative squared Euclidean distance.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rageval_action.core.model.snapshot import FloatMatrix, Metric, Snapshot

_BLOCK_BYTES = 1 << 24
"""Vectors that must be converted before they can be searched are copied in blocks of this size."""

_GATHER_ROWS = 512
"""Rows that are re-scored at a time: they fit into the cache of a core."""

_SMALL_NUMBERS = 1 << 21
"""A corpus of up to this many numbers (16 MB in double precision) is converted once, not query by query."""

_NEARLY_UNIT = 1e-4
"""Norms this near to 1 need no division before a cosine is searched for; the error bound allows for the rest."""

_QUERIES_PER_THREAD = 64
"""Fewer queries than this are not worth a thread of their own."""

_LARGE_NORM = 1e12
"""Above it, and below its inverse, squares and products are kept out of single precision."""

Top = tuple["NDArray[np.floating]", "NDArray[np.int64]"]
"""Scores and rows of the best rows of each query, best first, both of shape (queries, k)."""


class Small(Struct, frozen=True):
    """A small corpus as it is computed with: both precisions, shape (rows, dimension), and the norm of each row."""

    single: NDArray[np.float32]
    double: NDArray[np.float64]
    norms: NDArray[np.float64]


class Vectors(Struct, frozen=True, kw_only=True, dict=True):
    """What is searched.

    Attributes:
        shards: matrices of shape (rows, dimension), memory-mapped; never copied as a whole.
        starts: row of the first vector of each shard, and the number of rows at the end.
        smallest, largest: norms of the vectors that are not zero.
        inverse_norms: 1 / norm of each row (0 for a zero vector) where a cosine needs them, else empty.
    """

    shards: tuple[FloatMatrix, ...]
    starts: tuple[int, ...]
    metric: Metric
    smallest: float
    largest: float
    inverse_norms: NDArray[np.float64]

    @cached_property
    def small(self) -> Small | None:
        """The whole corpus converted, once, where it is small enough to be copied."""
        if self.rows * self.dimension > _SMALL_NUMBERS:
            return None
        single = np.concatenate([shard.astype(np.float32) for shard in self.shards])
        double = single.astype(np.float64)
        return Small(single, double, np.sqrt(_row_sums(double * double)))

    @property
    def rows(self) -> int:
        """Number of vectors."""
        return self.starts[-1]

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.shards[0].shape[1])

    @property
    def off_unit(self) -> float:
        """How far the norms are from 1."""
        return max(abs(self.largest - 1), abs(self.smallest - 1))

    @property
    def is_divided(self) -> bool:
        """True when a cosine must divide by the norms of the rows, which are not near enough to 1."""
        return len(self.inverse_norms) > 0


def from_snapshot(snapshot: Snapshot) -> Vectors:
    """The vectors of `snapshot`; their norms are measured here when its loader did not."""
    starts = [0]
    for shard in snapshot.shards:
        starts.append(starts[-1] + len(shard))
    smallest, largest = snapshot.norms
    norms = np.empty(0)
    off_unit = max(abs(largest - 1), abs(smallest - 1))
    if not largest or (snapshot.manifest.metric == "cosine" and off_unit > _NEARLY_UNIT):
        norms = np.concatenate([_row_norms(block) for _, block in _blocks(snapshot.shards)])
        found = norms[norms > 0]
        smallest, largest = (float(found.min()), float(found.max())) if len(found) else (0.0, 0.0)
    made = Vectors(
        shards=snapshot.shards,
        starts=tuple(starts),
        metric=snapshot.manifest.metric,
        smallest=smallest,
        largest=largest,
        inverse_norms=np.empty(0),
    )
    if made.metric == "cosine" and made.off_unit > _NEARLY_UNIT:
        made = replace(made, inverse_norms=np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0))
    return made


def _blocks(shards: Sequence[FloatMatrix]) -> Iterator[tuple[int, FloatMatrix]]:
    """First row and view of blocks that do not cross shards."""
    row = 0
    for shard in shards:
        step = max(1, _BLOCK_BYTES // (shard.shape[1] * 4))
        for start in range(0, len(shard), step):
            yield row + start, shard[start : start + step]
        row += len(shard)


def _converted(vectors: Vectors, dtype: type[np.floating]) -> Iterator[tuple[int, NDArray[np.floating]]]:
    """First row and vectors in `dtype`, block by block; a small corpus in one, which is kept."""
    if vectors.small is not None:
        yield 0, vectors.small.single if dtype is np.float32 else vectors.small.double
        return
    for first, block in _blocks(vectors.shards):
        yield first, block.astype(dtype, copy=False)


def _row_norms(block: NDArray[np.floating]) -> NDArray[np.float64]:
    wide = block.astype(np.float64)
    return cast("NDArray[np.float64]", np.sqrt(np.einsum("ij,ij->i", wide, wide)))


def error_bounds(
    vectors: Vectors, queries: NDArray[np.float32], dtype: type[np.floating]
) -> NDArray[np.float64]:
    """How far a score of each query, computed in `dtype`, can be from the exact one, in any order of summation.

    The bound for a sum of d products, d * u / (1 - d * u) times the product of the norms (Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd ed., section 3.1), with room for rounding the inputs and for underflow.
    """
    unit = float(np.finfo(np.float32 if vectors.metric == "cosine" else dtype).eps) / 2
    terms = (vectors.dimension + 32) * unit
    relative = terms / (1 - terms)
    lengths = _row_norms(queries)
    if vectors.metric == "ip":
        bounds: NDArray[np.float64] = relative * lengths * vectors.largest
    elif vectors.metric == "l2":
        bounds = 4 * relative * (lengths + vectors.largest) ** 2
    else:
        off = 0.0 if vectors.is_divided else vectors.off_unit
        bounds = np.full(len(queries), 4 * relative + off)
    return bounds + vectors.dimension * float(np.finfo(dtype).tiny)


def exact_scores(
    vectors: Vectors, query: NDArray[np.float32], rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Scores of `rows` for one query, the same bits whatever else is scored, by how many threads, in which batch.

    A product of two single-precision numbers is exact in double precision, and each row is summed on its own, along
    contiguous memory, pairwise: the order of summation depends on the dimension alone.
    """
    wide = query.astype(np.float64)
    small = vectors.small
    if small is not None and 2 * len(rows) > vectors.rows:  # cheaper than copying the rows
        with np.errstate(invalid="ignore"):  # zero vectors are scored with the rest and never asked for
            return _score_rows(vectors.metric, wide, small.double, small.norms)[rows]
    if small is not None:
        return _score_rows(vectors.metric, wide, small.double[rows], small.norms[rows])
    scores = np.empty(len(rows))
    for start in range(0, len(rows), _GATHER_ROWS):
        found = _gather(vectors, rows[start : start + _GATHER_ROWS])
        norms = np.sqrt(_row_sums(np.square(found, dtype=np.float64))) if vectors.metric == "cosine" else wide
        scores[start : start + len(found)] = _score_rows(vectors.metric, wide, found, norms)
    return scores


def _gather(vectors: Vectors, rows: NDArray[np.int64]) -> FloatMatrix:
    """A contiguous copy of some rows."""
    if len(vectors.shards) == 1:
        return cast("FloatMatrix", np.take(vectors.shards[0], rows, axis=0))
    found = np.empty((len(rows), vectors.dimension), dtype=vectors.shards[0].dtype)
    of_shard = np.searchsorted(np.array(vectors.starts[1:-1]), rows, side="right")
    for shard in np.unique(of_shard):
        here = of_shard == shard
        found[here] = vectors.shards[shard][rows[here] - vectors.starts[shard]]
    return cast("FloatMatrix", found)


def _score_rows(
    metric: Metric, query: NDArray[np.float64], rows: NDArray[np.floating], norms: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scores of gathered rows; `norms` are theirs, and only a cosine looks at them."""
    if metric == "l2":
        difference = rows - query
        return 0.0 - _row_sums(difference * difference)
    dots = _row_sums(rows * query)
    if metric == "ip":
        return dots + 0.0
    return dots / (norms * math.sqrt(float(_row_sums((query * query)[None, :])[0]))) + 0.0


def _row_sums(products: NDArray[np.float64]) -> NDArray[np.float64]:
    return cast("NDArray[np.float64]", np.add.reduce(products, axis=1))


def top_rows(vectors: Vectors, queries: NDArray[np.float32], k: int) -> Top:
    """The `k` best rows of each query by single-precision scores, by FAISS over the mapped shards.

    A shard that FAISS can read as it lies is not copied; float16 vectors, and vectors that must be divided by their
    norm, are converted block by block.
    """
    import faiss

    # From 1.14.2 on, FAISS leaves BLAS alone for small batches of queries and is ten times slower there.
    faiss.cvar.distance_compute_blas_threshold = 0
    kind = faiss.METRIC_L2 if vectors.metric == "l2" else faiss.METRIC_INNER_PRODUCT
    asked = _unit(queries) if vectors.metric == "cosine" else np.ascontiguousarray(queries)
    best: Top | None = None
    for first, block in _searchable(vectors):
        scores, rows = _knn(asked, block, min(k, len(block)), kind)
        if kind == faiss.METRIC_L2:
            np.negative(scores, out=scores)
        rows += first
        best = (scores, rows) if best is None else _merge(best, (scores, rows), k)
    return cast("Top", best)


def _knn(queries: NDArray[np.float32], block: NDArray[np.float32], k: int, kind: int) -> Top:
    """What `faiss.knn` returns, with the queries shared out among threads of our own.

    FAISS's threads meet after each small product and each update of the heaps; threads that own their queries never
    wait, which saves a tenth of the time with 1,000 queries and a third with 300 (`bench/search.py`).
    """
    from concurrent.futures import ThreadPoolExecutor

    import faiss

    workers = min(faiss.omp_get_max_threads(), len(queries) // _QUERIES_PER_THREAD)
    if workers < 2:
        return cast("Top", faiss.knn(queries, block, k, metric=kind))

    def search(part: NDArray[np.float32]) -> Top:
        faiss.omp_set_num_threads(1)  # of this thread only
        return cast("Top", faiss.knn(part, block, k, metric=kind))

    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(search, np.array_split(queries, workers)))
    return np.concatenate([scores for scores, _ in found]), np.concatenate([rows for _, rows in found])


def _searchable(vectors: Vectors) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """First row and matrix of what is handed to FAISS at a time."""
    if not vectors.is_divided and vectors.shards[0].dtype == np.float32:
        for first, shard in zip(vectors.starts, vectors.shards, strict=False):
            if len(shard):
                yield first, cast("NDArray[np.float32]", shard)
        return
    for first, block in _blocks(vectors.shards):
        scale = (
            vectors.inverse_norms[first : first + len(block), None] if vectors.is_divided else np.float32(1)
        )
        yield first, (block * scale).astype(np.float32)


def _unit(block: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows divided by their norm; zero rows stay zero."""
    norms = _row_norms(block)
    norms[norms == 0] = 1
    return cast("NDArray[np.float32]", (block / norms[:, None]).astype(np.float32))


def _merge(one: Top, other: Top, k: int) -> Top:
    scores = np.concatenate([one[0], other[0]], axis=1)
    rows = np.concatenate([one[1], other[1]], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


def all_scores(
    vectors: Vectors, queries: NDArray[np.float32]
) -> tuple[NDArray[np.floating], type[np.floating]]:
    """Scores of every row for every query, shape (queries, rows), and the precision they were computed in.

    Double precision where cancellation (L2) or size would eat the digits of single precision.
    """
    asked = _unit(queries) if vectors.metric == "cosine" else queries
    longest = float(_row_norms(asked).max(initial=0)) * vectors.largest
    sound = min(longest, vectors.smallest) > 1 / _LARGE_NORM and max(longest, vectors.largest) < _LARGE_NORM
    dtype: type[np.floating] = np.float32 if sound and vectors.metric != "l2" else np.float64
    asked = asked.astype(dtype)
    scores = np.empty((len(queries), vectors.rows), dtype=dtype)
    for first, block in _converted(vectors, dtype):
        here = scores[:, first : first + len(block)]
        np.matmul(asked, block.T, out=here)
        if vectors.is_divided:
            here *= vectors.inverse_norms[first : first + len(block)]
        if vectors.metric == "l2":
            here *= 2
            here -= np.einsum("ij,ij->i", block, block)
            here -= np.einsum("ij,ij->i", asked, asked)[:, None]
    return scores, dtype
