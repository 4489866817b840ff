"""Deny probes and how their answers are judged."""

from __future__ import annotations

import pytest

from rageval_action.core.labels.deny_probes import STRANGER, Leak, deny_probes, report
from rageval_action.core.model.types import Chunk, ChunkAcl, Hit, Query, QueryAcl, Ranking, Run

GUARD = ChunkAcl(tenant="acme")
CHUNKS = (
    Chunk(id="d1#0", doc="d1", text="open"),
    Chunk(id="d1#1", doc="d1", text="guarded", acl=GUARD),
    Chunk(id="d2#0", doc="d2", text="guarded", acl=GUARD),
    Chunk(id="d3#0", doc="d3", text="for all", acl=ChunkAcl()),
)


@pytest.mark.parametrize(
    ("most", "asked"), [(1, "0"), (2, "05"), (3, "048"), (4, "0369"), (10, "0123456789"), (99, "0123456789")]
)
def test_probes_are_evenly_spaced_and_ask_as_a_stranger(most: int, asked: str) -> None:
    queries = [Query(id=str(at), text="?", acl=QueryAcl(tenant="acme")) for at in range(10)]
    probes = deny_probes(queries, most)
    assert "".join(probe.id for probe in probes) == asked
    assert {probe.acl for probe in probes} == {STRANGER}


def run(*rankings: Ranking) -> Run:
    return Run(rankings=rankings, retriever="dense", depth=10)


def hits(*names: str) -> tuple[Hit, ...]:
    return tuple(Hit(id=name, doc=name, rank=rank, score=-rank) for rank, name in enumerate(names, 1))


def test_guarded_chunks_and_wholly_guarded_documents_are_leaks() -> None:
    found = report(
        run(Ranking(query_id="q", hits=hits("d1#0", "d1#1", "d1", "d2", "d3", "d3#0", "?"))), CHUNKS
    )
    assert found.leaks == (Leak(query_id="q", id="d1#1", rank=2), Leak(query_id="q", id="d2", rank=4))
    assert (found.asked, found.failed, found.guarded) == (1, 0, 2)


def test_a_probe_that_failed_proves_nothing() -> None:
    found = report(run(Ranking(query_id="a", error="down"), Ranking(query_id="b")), CHUNKS)
    assert (found.asked, found.failed, found.leaks) == (1, 1, ())
