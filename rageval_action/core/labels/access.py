"""Judging every hit for access, independently of the retriever that returned it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rageval_action.core.model.types import Chunk, Hit, Query, QueryAcl, Ranking, Run


def audit(run: Run, queries: Sequence[Query], chunks: Mapping[str, Chunk]) -> Run:
    """The run with `acl_allowed` on every hit of the queries that say who asks.

    A hit is left unjudged (None) when its query has no acl, or when the snapshot does not know it. Some retrievers
    return documents: such a hit may be seen when any chunk of the document may.

    Args:
        run: rankings of these queries; a ranking of any other query is left unjudged.
        queries: the golden set.
        chunks: the snapshot by chunk id.
    """
    asking = {query.id: query.acl for query in queries if query.acl is not None}
    documents: dict[str, list[Chunk]] = {}
    for chunk in chunks.values() if asking else ():
        documents.setdefault(chunk.doc, []).append(chunk)
    rankings = tuple(
        _audited(ranking, asking[ranking.query_id], chunks, documents)
        if ranking.query_id in asking
        else _unjudged(ranking)
        for ranking in run.rankings
    )
    return replace(run, rankings=rankings)


def _audited(
    ranking: Ranking, who: QueryAcl, chunks: Mapping[str, Chunk], documents: Mapping[str, Sequence[Chunk]]
) -> Ranking:
    def parts(hit: Hit) -> Sequence[Chunk]:
        return (chunks[hit.id],) if hit.id in chunks else documents.get(hit.id, ())

    return replace(ranking, hits=tuple(_judged(hit, who, parts(hit)) for hit in ranking.hits))


def _judged(hit: Hit, who: QueryAcl, parts: Sequence[Chunk]) -> Hit:
    if not parts:
        return replace(hit, acl_allowed=None)
    return replace(hit, acl_allowed=any(part.acl is None or part.acl.admits(who) for part in parts))


def _unjudged(ranking: Ranking) -> Ranking:
    """What the retriever itself said about access is not evidence."""
    if all(hit.acl_allowed is None for hit in ranking.hits):
        return ranking
    return replace(ranking, hits=tuple(replace(hit, acl_allowed=None) for hit in ranking.hits))
