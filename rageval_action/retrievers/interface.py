"""What every retriever is, and the registry that names them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from rageval_action.core.model.snapshot import Encode, Snapshot
from rageval_action.core.model.types import Query, Run
from rageval_action.errors import ConfigError
from rageval_action.world import REAL_ENVIRONMENT

Access: TypeAlias = Literal["enforce", "audit"]
"""`enforce`: search only what the query may see. `audit`: return everything; what came back is judged afterwards."""

OptionValue: TypeAlias = str | int | float | bool


class RetrieverContext(Struct, frozen=True, kw_only=True):
    """What a retriever is built from.

    Attributes:
        snapshot: the loaded snapshot; retrievers that ask another system use it only to fill in `doc` and spans.
        encode: query texts -> vectors, from cached query vectors or the model. It may offer `fresh(text)`, which embeds
            one text anew so that it can be timed (None when its vector came with the snapshot), and `origin`, a word
            for where the vectors came from.
        options: the retriever's own options as configured.
        access: see `Access`.
        threads: for native libraries; 0 = their default.
        environ: variables that options may name.
    """

    snapshot: Snapshot
    encode: Encode
    options: Mapping[str, OptionValue] = {}
    access: Access = "enforce"
    threads: int = 0
    environ: Mapping[str, str] = REAL_ENVIRONMENT


class Retriever(Protocol):
    """Ranks chunks for queries.

    `retrieve` returns one ranking per query, in the order given. Hits are ordered by score descending, then chunk id
    descending (bytewise), each id once, and hold at least `depth` distinct documents where the corpus has so many that
    the query may see. A query that fails gets `error` and no hits; it never stops the others. Scores are finite.
    """

    def __init__(self, context: RetrieverContext) -> None: ...

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Rank every query to `depth` distinct documents."""
        ...


RETRIEVERS: dict[str, str] = {
    "bm25": "rageval_action.retrievers.bm25:Bm25Retriever",
    "dense": "rageval_action.retrievers.dense:DenseRetriever",
    "hybrid": "rageval_action.retrievers.hybrid:HybridRetriever",
    "command": "rageval_action.retrievers.command:CommandRetriever",
    "http": "rageval_action.retrievers.http:HttpRetriever",
    "python": "rageval_action.retrievers.python:PythonRetriever",
    "chroma": "rageval_action.retrievers.chroma:ChromaRetriever",
    "elasticsearch": "rageval_action.retrievers.search_servers:ElasticsearchRetriever",
    "lancedb": "rageval_action.retrievers.lancedb:LancedbRetriever",
    "meilisearch": "rageval_action.retrievers.search_servers:MeilisearchRetriever",
    "opensearch": "rageval_action.retrievers.search_servers:OpensearchRetriever",
    "pgvector": "rageval_action.retrievers.pgvector:PgvectorRetriever",
    "qdrant": "rageval_action.retrievers.search_servers:QdrantRetriever",
    "rerank": "rageval_action.retrievers.rerank:RerankRetriever",
    "run-file": "rageval_action.retrievers.run_file:RunFileRetriever",
    "sqlite-vec": "rageval_action.retrievers.sqlite_vec:SqliteVecRetriever",
}

EXTERNAL: frozenset[str] = frozenset(RETRIEVERS) - {"bm25", "dense", "hybrid", "rerank"}
"""Retrievers whose answers come from systems that are not ours: `audit` is their access mode unless one is set."""


def build(name: str, context: RetrieverContext) -> Retriever:
    """The retriever registered as `name`.

    Raises:
        ConfigError: `config.unknown-retriever` for a name that is not in `RETRIEVERS`.
    """
    if name not in RETRIEVERS:
        raise ConfigError(
            "config.unknown-retriever",
            f'there is no retriever "{name}".',
            hint=f"Choose one of: {', '.join(sorted(RETRIEVERS))}.",
        )
    module, _, attribute = RETRIEVERS[name].partition(":")
    made: Retriever = getattr(importlib.import_module(module), attribute)(context)
    return made
