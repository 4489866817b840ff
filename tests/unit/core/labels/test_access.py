"""Every hit is judged by the snapshot's rule, whatever the retriever claims."""

from __future__ import annotations

import pytest

from rageval_action.core.labels.access import audit
from rageval_action.core.model.types import Chunk, ChunkAcl, Hit, Query, QueryAcl, Ranking, Run

CHUNKS = {
    chunk.id: chunk
    for chunk in (
        Chunk(id="open", doc="d", text=""),
        Chunk(id="acme", doc="d", text="", acl=ChunkAcl(tenant="acme")),
        Chunk(id="ops", doc="d", text="", acl=ChunkAcl(tenant="acme", groups=("ops",))),
        Chunk(id="ana", doc="d", text="", acl=ChunkAcl(principals=("ana",), groups=("hr",))),
    )
}


def _run(*ids: str, query: str = "q", allowed: bool | None = None) -> Run:
    hits = tuple(
        Hit(id=name, doc="d", rank=i, score=1.0 / i, acl_allowed=allowed) for i, name in enumerate(ids, 1)
    )
    return Run(rankings=(Ranking(query_id=query, hits=hits),), retriever="fake", depth=10)


def _allowed(run: Run) -> list[bool | None]:
    return [hit.acl_allowed for ranking in run.rankings for hit in ranking.hits]


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (QueryAcl(), [True, False, False, False]),
        (QueryAcl(tenant="acme"), [True, True, False, False]),
        (QueryAcl(tenant="acme", groups=("dev", "ops")), [True, True, True, False]),
        (QueryAcl(tenant="other", groups=("ops",)), [True, False, False, False]),
        (QueryAcl(principal="ana"), [True, False, False, True]),
        (QueryAcl(tenant="acme", principal="bob", groups=("hr",)), [True, True, False, True]),
    ],
)
def test_hits_are_judged_by_tenant_principal_and_groups(who: QueryAcl, expected: list[bool]) -> None:
    audited = audit(_run(*CHUNKS), [Query(id="q", text="", acl=who)], CHUNKS)
    assert _allowed(audited) == expected


def test_the_retrievers_own_word_is_replaced() -> None:
    asking = [Query(id="q", text="", acl=QueryAcl(tenant="other"))]
    assert _allowed(audit(_run("acme", allowed=True), asking, CHUNKS)) == [False]


def test_a_query_without_acl_is_not_judged() -> None:
    assert _allowed(audit(_run(*CHUNKS, allowed=True), [Query(id="q", text="")], CHUNKS)) == [None] * 4
    untouched = _run(*CHUNKS)
    assert audit(untouched, [Query(id="q", text="")], CHUNKS) == untouched


def test_an_unknown_chunk_is_not_judged() -> None:
    asking = [Query(id="q", text="", acl=QueryAcl(tenant="acme"))]
    assert _allowed(audit(_run("gone", "open", allowed=True), asking, CHUNKS)) == [None, True]


def test_a_returned_document_may_be_seen_when_any_of_its_chunks_may() -> None:
    secret = ChunkAcl(tenant="acme")
    chunks = {
        "a#0": Chunk(id="a#0", doc="a", text="x", acl=secret),
        "a#1": Chunk(id="a#1", doc="a", text="y"),
        "b#0": Chunk(id="b#0", doc="b", text="z", acl=secret),
    }
    stranger = [Query(id="q", text="", acl=QueryAcl(tenant="other"))]
    assert _allowed(audit(_run("a", "b", "nowhere"), stranger, chunks)) == [True, False, None]
