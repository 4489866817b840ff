"""A second stage: the first n hits of any retriever, put in a new order by a cross-encoder."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from rageval_action.core.model.types import Hit, Query, Ranking, Run
from rageval_action.errors import RagevalError
from rageval_action.retrievers.cross_encoders import scorer
from rageval_action.retrievers.hybrid import inner_costs, inner_parameters, parts
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.progress import track
from rageval_action.retrievers.ranking import ordered

WARM_UP = 1
GIVE_UP = 10


class RerankRetriever:
    """Reranks the first `top` hits; the rest keep their order below them.

    Options: `of` (one retriever, `dense` by default, its own options behind its name), `top`, and those of
    `cross_encoders.scorer`. A hit below the reranked ones gets the least reranked score minus its distance
    from there, so that scores and order agree; `Hit.stages` keeps the first stage's score of every hit. After ten
    queries in a row that the reranker failed the remaining ones are not asked.
    """

    def __init__(self, context: RetrieverContext) -> None:
        options = Options("rerank", context.options, context.environ)
        named = options.names("of", "dense")
        if len(named) != 1:
            raise options.wrong("of", "exactly one retriever is reranked; fuse several with hybrid")
        self._first = parts(options, context, named)
        self._top = options.integer("top", 50, least=1, most=10_000)
        self._scorer = scorer(options, context.threads)
        options.finish()
        self._options = options
        self._texts = {chunk.id: chunk.text for chunk in context.snapshot.chunks}

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Rank every query to `depth` distinct documents."""
        ((label, first),) = self._first.items()
        run = first.retrieve(queries, max(depth, self._top))
        self._failures = 0
        warm_up = self._warm_up(queries, run)
        rankings = [
            self._reranked(query, ranking, depth, label)
            for query, ranking in track(list(zip(queries, run.rankings, strict=True)), "reranking")
        ]
        return Run(
            rankings=tuple(rankings),
            retriever="rerank",
            parameters=self._parameters(label, run),
            depth=depth,
            warm_up=max(run.warm_up, warm_up),
            cost=inner_costs([run]) | self._scorer.cost,
            notices=run.notices,
            code=run.code,
        )

    def _parameters(self, label: str, run: Run) -> dict[str, str | int | float | bool]:
        own = self._options.recorded
        revision = {"reranker_revision": self._scorer.revision} if self._scorer.revision else {}
        return own | {"reranker": own.get("model", "")} | revision | inner_parameters({label: run})

    def _warm_up(self, queries: Sequence[Query], run: Run) -> int:
        """Local models are slow the first time; hosted ones cost money, so they are not asked twice."""
        if self._scorer.cost or not queries or not run.rankings[0].hits:
            return 0
        self._scorer.score(queries[0].text, [self._texts.get(hit.id, "") for hit in run.rankings[0].hits[:2]])
        return WARM_UP

    def _reranked(self, query: Query, ranking: Ranking, depth: int, label: str) -> Ranking:
        if ranking.error or not ranking.hits:
            return ranking
        if self._failures >= GIVE_UP:
            return self._failed(ranking, f"not asked: {GIVE_UP} queries in a row failed")
        began = time.perf_counter()
        head, tail = ranking.hits[: self._top], ranking.hits[self._top :]
        try:
            scores = self._scorer.score(query.text, [self._texts.get(hit.id, "") for hit in head])
        except RagevalError as error:
            self._failures += 1
            return self._failed(ranking, error.message)
        self._failures = 0
        hits = _below(_ordered(head, scores), tail, label, depth)
        spent = (time.perf_counter() - began) * 1000
        latency = dict(ranking.latency_ms)
        if (
            "total" in latency
        ):  # where the first stage was not timed, the stages would be of different queries
            latency |= {"rerank": spent, "total": latency["total"] + spent}
        return msgspec.structs.replace(ranking, hits=hits, latency_ms=latency)

    def _failed(self, ranking: Ranking, why: str) -> Ranking:
        return Ranking(query_id=ranking.query_id, latency_ms=ranking.latency_ms, error=f"rerank: {why}")


def _ordered(hits: Sequence[Hit], scores: Sequence[float]) -> list[tuple[Hit, float]]:
    known = {hit.id: hit for hit in hits}
    pairs = [(hit.id, score) for hit, score in zip(hits, scores, strict=True)]
    return [(known[name], score) for name, score in ordered(pairs)]


def _below(head: Sequence[tuple[Hit, float]], tail: Sequence[Hit], label: str, depth: int) -> tuple[Hit, ...]:
    """Reranked hits, then the rest, until `depth` distinct documents."""
    least = head[-1][1]
    entries = [*head, *((hit, least - distance) for distance, hit in enumerate(tail, 1))]
    hits: list[Hit] = []
    documents: set[str] = set()
    for rank, (hit, score) in enumerate(entries, 1):
        documents.add(hit.doc)
        hits.append(
            msgspec.structs.replace(
                hit, rank=rank, score=score, stages={**(hit.stages or {}), label: hit.score}
            )
        )
        if len(documents) == depth:
            break
    return tuple(hits)
