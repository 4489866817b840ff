"""One ranking out of several: reciprocal rank fusion, or a weighted sum of normalised scores."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import msgspec

from rageval_action.core.model.types import Hit, Query, Ranking, Run
from rageval_action.retrievers.interface import Retriever, RetrieverContext, build
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.ranking import ordered

RRF_K = 60
CANDIDATES = 100


class HybridRetriever:
    """Fuses the rankings of any retrievers, chunk by chunk.

    Options: `of` (`dense,bm25`; `label=name` where one is used twice), `method` (rrf, weighted), `k` (of
    rrf), `weights` (one a part, in the order of `of`), `normalise` (of weighted: minmax, zscore, none),
    `candidates` (documents asked of each part, at least the depth); `LABEL.option` for a part's own options.

    The parts run one after the other, so `retrieve` is the sum of their times. A `bm25` part brings only chunks that
    share a word with the query, unless its `matches_only` says otherwise: the rest would be candidates by their ids.
    """

    def __init__(self, context: RetrieverContext) -> None:
        options = Options("hybrid", context.options, context.environ)
        self._parts = parts(options, context, options.names("of", "dense,bm25"))
        self._method = options.text("method", "rrf", choices=("rrf", "weighted"))
        self._k = options.integer("k", RRF_K, least=1)
        self._normalise = options.text("normalise", "minmax", choices=("minmax", "zscore", "none"))
        self._candidates = options.integer("candidates", CANDIDATES, least=1)
        self._weights = _weights(options, len(self._parts))
        options.finish()
        self._options = options

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Rank every query to `depth` distinct documents."""
        runs = {
            label: part.retrieve(queries, max(depth, self._candidates)) for label, part in self._parts.items()
        }
        rankings = [
            self._fused(query, {label: run.rankings[at] for label, run in runs.items()}, depth)
            for at, query in enumerate(queries)
        ]
        return Run(
            rankings=tuple(rankings),
            retriever="hybrid",
            parameters=self._options.recorded | inner_parameters(runs),
            depth=depth,
            warm_up=max(run.warm_up for run in runs.values()),
            cost=inner_costs(runs.values()),
            notices=tuple(notice for run in runs.values() for notice in run.notices),
            code=inner_code(runs.values()),
        )

    def _fused(self, query: Query, found: dict[str, Ranking], depth: int) -> Ranking:
        latency = inner_latency(found.values())
        broken = [f"{label}: {ranking.error}" for label, ranking in found.items() if ranking.error]
        if broken:
            return Ranking(query_id=query.id, latency_ms=latency, error="; ".join(broken))
        began = time.perf_counter()
        lists = [[(hit.id, hit.score) for hit in ranking.hits] for ranking in found.values()]
        if self._method == "rrf":
            scores = reciprocal_rank(lists, self._weights, self._k)
        else:
            scores = weighted_sum(lists, self._weights, self._normalise)
        hits = merged(found, scores, depth)
        spent = (time.perf_counter() - began) * 1000
        for stage in ("retrieve", "total") if latency else ():
            latency[stage] = latency.get(stage, 0.0) + spent
        return Ranking(query_id=query.id, hits=hits, latency_ms=latency)


def reciprocal_rank(
    lists: Sequence[Sequence[tuple[str, float]]], weights: Sequence[float], k: int
) -> dict[str, float]:
    """Sum of weight / (k + rank) over the lists with the id (Cormack, Clarke, Büttcher, SIGIR 2009).

    Equal scores of a list share their first rank, so that equal texts stay equal and no id is favoured.
    """
    scores: dict[str, float] = {}
    for entries, weight in zip(lists, weights, strict=True):
        shared, before = 0, None
        for rank, (name, score) in enumerate(entries, 1):
            shared = shared if score == before else rank
            before = score
            scores[name] = scores.get(name, 0.0) + weight / (k + shared)
    return scores


def weighted_sum(
    lists: Sequence[Sequence[tuple[str, float]]], weights: Sequence[float], normalise: str
) -> dict[str, float]:
    """Weighted sum of each list's scores after normalising them within the list.

    `minmax` maps a list to [0, 1] and an id that it lacks counts 0, its minimum (Bruch, Gai and Ingber,
    TOIS 2023);
    `zscore` subtracts the mean and divides by the deviation, and an absent id counts as the list's least;
    `none` adds scores as they are, absent ids 0.
    """
    normal = [_normalised([score for _, score in entries], normalise) for entries in lists]
    absent = [min(values, default=0.0) if normalise != "none" else 0.0 for values in normal]
    tables = [
        {name: value for (name, _), value in zip(entries, values, strict=True)}
        for entries, values in zip(lists, normal, strict=True)
    ]
    names = {name for table in tables for name in table}
    return {
        name: sum(
            weight * table.get(name, least)
            for table, weight, least in zip(tables, weights, absent, strict=True)
        )
        for name in names
    }


def _normalised(values: Sequence[float], how: str) -> list[float]:
    if how == "none" or not values:
        return list(values)
    if how == "minmax":
        low, high = min(values), max(values)
        return [(value - low) / (high - low) if high > low else 1.0 for value in values]
    mean = sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    return [(value - mean) / deviation if deviation > 0 else 0.0 for value in values]


def merged(found: dict[str, Ranking], scores: dict[str, float], depth: int) -> tuple[Hit, ...]:
    """Hits in the order of `scores` until `depth` distinct documents, each with what its parts gave it."""
    known: dict[str, Hit] = {}
    stages: dict[str, dict[str, float]] = {}
    for label, ranking in found.items():
        for hit in ranking.hits:
            known.setdefault(hit.id, hit)
            stages.setdefault(hit.id, {})[label] = hit.score
    hits: list[Hit] = []
    documents: set[str] = set()
    for rank, (name, score) in enumerate(ordered(list(scores.items())), 1):
        documents.add(known[name].doc)
        hits.append(msgspec.structs.replace(known[name], rank=rank, score=score, stages=stages[name]))
        if len(documents) == depth:
            break
    return tuple(hits)


def parts(options: Options, context: RetrieverContext, names: Sequence[str]) -> dict[str, Retriever]:
    """The retrievers that `of` names, by label, each with its own options."""
    found: dict[str, Retriever] = {}
    for entry in names:
        label, _, name = entry.rpartition("=")
        label = label or name
        if label in found:
            raise options.wrong("of", f'"{label}" is named twice; write one of them as label={name}')
        own = options.part(label)
        if name == "bm25" and len(names) > 1:
            own.setdefault("matches_only", True)
        found[label] = build(name, msgspec.structs.replace(context, options=own))
    if not found:
        raise options.wrong("of", "no retriever is named")
    return found


def inner_parameters(runs: dict[str, Run]) -> dict[str, str | int | float | bool]:
    """What the parts were built with, each name behind its part's label."""
    return {
        f"{label}.{name}": value
        for label, run in runs.items()
        for name, value in ({"retriever": run.retriever} | run.parameters).items()
    }


def inner_code(runs: Iterable[Run]) -> dict[str, str]:
    """The code of all parts."""
    return {path: digest for run in runs for path, digest in run.code.items()}


def inner_costs(runs: Iterable[Run]) -> dict[str, float]:
    """The parts' costs, added up by name."""
    total: dict[str, float] = {}
    for run in runs:
        for name, amount in run.cost.items():
            total[name] = total.get(name, 0.0) + amount
    return total


def inner_latency(rankings: Iterable[Ranking]) -> dict[str, float]:
    """The parts' times, added up by stage: they ran one after the other.

    Nothing where a part was not timed for this query (the dense retriever times a sample): a sum that lacks a part
    would look fast.
    """
    found = list(rankings)
    total: dict[str, float] = {}
    if not all("total" in ranking.latency_ms for ranking in found):
        return total
    for ranking in found:
        for stage, spent in ranking.latency_ms.items():
            total[stage] = total.get(stage, 0.0) + spent
    return total


def _weights(options: Options, count: int) -> list[float]:
    given = options.names("weights", ",".join(["1"] * count))
    try:
        weights = [float(value) for value in given]
    except ValueError:
        raise options.wrong("weights", "a weight is not a number") from None
    if len(weights) != count or not all(0 <= weight < float("inf") for weight in weights) or not any(weights):
        raise options.wrong("weights", f"{count} numbers are needed, none negative and not all 0")
    return weights
