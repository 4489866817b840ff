"""Exact search: which chunks come first, in trec_eval's order, whatever the storage order, threads or batch.

Single-precision scores differ in their last bits by code path, so they only *nominate*: every row whose exact score
could reach the ranking, by a bound on the error, is scored again in double precision (`vectors.exact_scores`), and only
those scores order and cut. A query whose nominees are not safely separated from the rest is searched deeper, then
against every row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rageval_action.retrievers.vectors import all_scores, error_bounds, exact_scores, top_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rageval_action.retrievers.vectors import Vectors
    from rageval_action.retrievers.views import Documents, Views

SLACK = 32
"""How much deeper than the depth the first search looks."""

_CHUNKS_PER_DEPTH = 4
"""How many times the depth a search looks at to find enough distinct documents."""

SMALL = 1 << 22
"""Up to this many scores (queries x chunks), every row is scored at once, which costs less than importing FAISS."""

_AT_ONCE = 1 << 23
"""Scores of an exhaustive search held in memory at a time."""

Pairs = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
"""Query index and row, side by side, grouped by query in ascending order."""


class Ranked(Struct, frozen=True, kw_only=True):
    """Rankings one after the other: query `i` owns `rows[starts[i]:starts[i + 1]]`, best first, and their scores."""

    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


class Corpus(Struct, frozen=True, kw_only=True):
    """What is searched: vectors, the ids and documents of their rows."""

    vectors: Vectors
    ids: Sequence[str]
    documents: Documents


def rank(corpus: Corpus, queries: NDArray[np.float32], views: Views, depth: int) -> Ranked:
    """Rank the chunks for every query.

    A ranking holds all chunks in order until `depth` distinct documents are in it (all of the documents, where the
    query sees fewer), and the ones that tie with the last. Past `depth` chunks only the best chunk of each further
    document is kept: at either unit the first `depth` are all there, and few long documents do not fill a record.

    Args:
        corpus: what is searched.
        queries: shape (queries, dimension), finite.
        views: of these queries.
        depth: distinct documents wanted, at least 1.
    """
    targets = np.minimum(views.documents[views.of_query], depth)
    at, rows = _nominate(corpus, queries, views, targets, depth)
    starts = np.searchsorted(at, np.arange(len(queries) + 1))
    scores = np.empty(len(rows))
    for number, query in enumerate(queries):
        own = slice(starts[number], starts[number + 1])
        scores[own] = exact_scores(corpus.vectors, query, rows[own])
    order = _in_order(at, rows, scores, corpus.ids)
    at, rows, scores = at[order], rows[order], scores[order]
    keep = _cut(at, rows, scores, corpus.documents, targets, depth)
    at, rows, scores = at[keep], rows[keep], scores[keep]
    return Ranked(starts=np.searchsorted(at, np.arange(len(queries) + 1)), rows=rows, scores=scores)


def _nominate(
    corpus: Corpus, queries: NDArray[np.float32], views: Views, targets: NDArray[np.int64], depth: int
) -> Pairs:
    """Every (query, row) that can be in the answer, by FAISS where that decides, else by scoring every row."""
    rows = corpus.vectors.rows
    if corpus.vectors.small is not None and rows < 2 * depth:  # most rows will be scored exactly in any case
        at, visible = np.nonzero(views.masks[views.of_query])
        return at, visible
    found: list[Pairs] = []
    left = np.arange(len(queries))
    few_documents = corpus.documents.count < depth
    if len(queries) * rows > SMALL and not few_documents:
        for k in _widths(rows, corpus.documents.count, depth):
            pairs, left = _by_faiss(corpus, queries, views, targets, k, left)
            found.append(pairs)
            if not len(left):
                break
    step = max(1, _AT_ONCE // rows)
    for start in range(0, len(left), step):
        part = left[start : start + step]
        found.append(_by_every_row(corpus, queries, views, targets, depth, part))
    at = np.concatenate([pair[0] for pair in found])
    order = np.argsort(at, kind="stable")
    return at[order], np.concatenate([pair[1] for pair in found])[order]


def _widths(rows: int, documents: int, depth: int) -> list[int]:
    """How many rows to ask FAISS for, first and for the queries that this does not settle."""
    limit = _CHUNKS_PER_DEPTH * depth
    first = depth if documents == rows else min(limit, depth * rows * 5 // (documents * 4))
    return sorted({min(rows, first + SLACK), min(rows, max(2 * limit, 1024))})


def _by_faiss(
    corpus: Corpus,
    queries: NDArray[np.float32],
    views: Views,
    targets: NDArray[np.int64],
    k: int,
    part: NDArray[np.int64],
) -> tuple[Pairs, NDArray[np.int64]]:
    """Nominees of the queries that the best `k` rows settle, and the queries that they do not."""
    scores, rows = top_rows(corpus.vectors, queries[part], k)
    seen = (rows >= 0) & views.masks[views.of_query[part][:, None], rows]
    end, reached = _end_of_prefix(rows, seen, corpus.documents, targets[part])
    bounds = error_bounds(corpus.vectors, queries[part], np.float32)
    with np.errstate(invalid="ignore"):
        least = np.take_along_axis(scores, end[:, None], axis=1)[:, 0] - 2 * bounds
        settled: NDArray[np.bool_] = np.logical_and(reached, scores[:, -1] < least)
        if k >= corpus.vectors.rows:
            settled = np.logical_and.reduce(np.isfinite(scores), axis=1)
            least[~reached] = -np.inf
        chosen = seen & (scores >= least[:, None]) & settled[:, None]
    at, column = np.nonzero(chosen)
    return (part[at], rows[at, column]), part[~settled]


def _end_of_prefix(
    rows: NDArray[np.int64], seen: NDArray[np.bool_], documents: Documents, targets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Column at which each query has met its number of distinct documents, and whether it has."""
    new = seen if documents.are_chunks else seen & _first_of_document(rows, seen, documents)
    enough = np.cumsum(new, axis=1) >= targets[:, None]
    reached: NDArray[np.bool_] = np.logical_or.reduce(enough, axis=1)
    return np.where(reached, enough.argmax(axis=1), rows.shape[1] - 1), reached


def _first_of_document(
    rows: NDArray[np.int64], seen: NDArray[np.bool_], documents: Documents
) -> NDArray[np.bool_]:
    """True where a document appears for the first time in its line; rows that are not seen count as nobody's."""
    of_row = np.where(seen, documents.of_row[rows], documents.count + np.arange(rows.shape[1]))
    order = np.argsort(of_row, axis=1, kind="stable")
    ordered = np.take_along_axis(of_row, order, axis=1)
    new = np.ones(rows.shape, dtype=np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.empty_like(new)
    np.put_along_axis(first, order, new, axis=1)
    return first


def _by_every_row(
    corpus: Corpus,
    queries: NDArray[np.float32],
    views: Views,
    targets: NDArray[np.int64],
    depth: int,
    part: NDArray[np.int64],
) -> Pairs:
    """Nominees of some queries, from the scores of every row."""
    scores, dtype = all_scores(corpus.vectors, queries[part])
    bounds = error_bounds(corpus.vectors, queries[part], dtype)
    for view in sorted(set(views.of_query[part].tolist())):
        if not views.masks[view].all():
            lines = np.flatnonzero(views.of_query[part] == view)
            scores[lines[:, None], np.flatnonzero(~views.masks[view])] = -np.inf
    k = min(corpus.vectors.rows, _CHUNKS_PER_DEPTH * depth)
    top = _best(scores, k)
    best = np.take_along_axis(scores, top, axis=1)
    end, reached = _end_of_prefix(top, best > -np.inf, corpus.documents, targets[part])
    least = np.take_along_axis(best, end[:, None], axis=1)[:, 0] - 2 * bounds
    chosen = scores >= least[:, None]
    for number in np.flatnonzero(~reached).tolist():
        chosen[number] |= _best_of_documents(
            scores[number], corpus.documents, int(targets[part[number]]), 2 * float(bounds[number])
        )
    chosen &= scores > -np.inf
    at, rows = np.nonzero(chosen)
    return part[at], rows


def _best(scores: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    """Columns of the `k` best scores of each line, best first."""
    if k == scores.shape[1]:
        return np.argsort(-scores, axis=1)
    top = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1)
    return np.take_along_axis(top, order, axis=1)


def _best_of_documents(
    scores: NDArray[np.floating], documents: Documents, target: int, margin: float
) -> NDArray[np.bool_]:
    """Rows that can be the best chunk of one of the `target` best documents."""
    best = np.full(documents.count, -np.inf)
    np.maximum.at(best, documents.of_row, scores)
    least = float(np.partition(best, documents.count - target)[documents.count - target]) - margin
    of_row = best[documents.of_row]
    with np.errstate(invalid="ignore"):
        chosen: NDArray[np.bool_] = (of_row >= least) & (scores >= of_row - margin)
    return chosen


def _in_order(
    at: NDArray[np.int64], rows: NDArray[np.int64], scores: NDArray[np.float64], ids: Sequence[str]
) -> NDArray[np.int64]:
    """Order by query, score descending, id descending (bytewise: UTF-8 sorts as its code points do)."""
    order: NDArray[np.int64] = np.lexsort((-scores, at))
    tied = np.zeros(len(order), dtype=np.bool_)
    same = (at[order[1:]] == at[order[:-1]]) & (scores[order[1:]] == scores[order[:-1]])
    tied[1:] |= same
    tied[:-1] |= same
    if not tied.any():
        return order
    there = order[tied]
    among = np.array(sorted(set(rows[there].tolist())))
    names = [ids[row] for row in among.tolist()]
    places = np.empty(len(among), dtype=np.int64)
    places[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(among))
    place = places[np.searchsorted(among, rows[there])]
    order[tied] = there[np.lexsort((-place, -scores[there], at[there]))]  # equals stand together already
    return order


def _cut(
    at: NDArray[np.int64],
    rows: NDArray[np.int64],
    scores: NDArray[np.float64],
    documents: Documents,
    targets: NDArray[np.int64],
    limit: int,
) -> NDArray[np.bool_]:
    """What stays of ordered rankings; see `rank`."""
    starts = np.searchsorted(at, np.arange(len(targets) + 1))
    position = np.arange(len(at)) - starts[at]
    first = np.ones(len(at), dtype=np.bool_)
    if not documents.are_chunks:
        first[:] = False
        key = at * documents.count + documents.of_row[rows]
        first[np.unique(key, return_index=True)[1]] = True
    before: NDArray[np.int64] = np.cumsum(first, dtype=np.int64) - first
    before -= np.append(before, 0)[starts[at]]
    allowed: NDArray[np.bool_] = (position < limit) | first
    inside: NDArray[np.bool_] = allowed & (before < targets[at])
    last = np.full(len(targets), np.inf)
    np.minimum.at(last, at[inside], scores[inside])
    kept: NDArray[np.bool_] = inside | (allowed & (scores == last[at]))
    return kept
