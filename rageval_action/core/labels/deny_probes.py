"""Deny probes: the golden set's queries asked by somebody who may see nothing that is guarded."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from rageval_action.core.model.types import Chunk, Query, QueryAcl, Run

STRANGER = QueryAcl(tenant="rageval-probe-nobody", principal="rageval-probe-nobody")
"""An identity that no access list names."""


class Leak(Struct, frozen=True, kw_only=True):
    """A guarded chunk (or a document of which every chunk is guarded) that a stranger was given."""

    query_id: str
    id: str
    rank: int


class ProbeReport(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """What the probes found.

    Attributes:
        asked: probes that were answered; failed: those that the retriever failed.
        guarded: chunks that the stranger may not see; with none of them a probe proves nothing.
    """

    schema_name: str = "rageval.probe/1"
    asked: int
    failed: int
    guarded: int
    leaks: tuple[Leak, ...]


def deny_probes(queries: Sequence[Query], most: int) -> tuple[Query, ...]:
    """At most `most` of the queries, evenly spaced, asked as `STRANGER`."""
    step = max(1, -(-len(queries) // most))
    return tuple(msgspec.structs.replace(query, acl=STRANGER) for query in queries[::step])


def report(run: Run, chunks: Sequence[Chunk]) -> ProbeReport:
    """Judge the answers to probes, hit by hit, whatever the retriever said about access."""
    guarded = {chunk.id for chunk in chunks if chunk.acl is not None and not chunk.acl.admits(STRANGER)}
    open_documents = {chunk.doc for chunk in chunks if chunk.id not in guarded}
    closed = {chunk.doc for chunk in chunks} - open_documents
    leaks = tuple(
        Leak(query_id=ranking.query_id, id=hit.id, rank=hit.rank)
        for ranking in run.rankings
        for hit in ranking.hits
        if hit.id in guarded or hit.id in closed
    )
    failed = sum(1 for ranking in run.rankings if ranking.error)
    return ProbeReport(asked=len(run.rankings) - failed, failed=failed, guarded=len(guarded), leaks=leaks)
