"""How the contract suite builds retrievers that need more than a snapshot: a store, a server, a program, a file.

Every maker fills its store with the context's own chunks, so that all retrievers rank the same corpus.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import msgspec
import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.types import Chunk, Query, Run
from rageval_action.retrievers import rerank
from rageval_action.retrievers.dense import DenseRetriever
from rageval_action.retrievers.interface import OptionValue, Retriever, RetrieverContext, build
from rageval_action.retrievers.stores import literal
from tests.fakes import rerankers, search_servers
from tests.fakes.databases import fill_chroma, fill_lancedb, fill_postgres, fill_sqlite_vec
from tests.fakes.interpreter import FOLDER, interpreter
from tests.fakes.programs.words import Search, cosine, vector
from tests.fakes.server import FakeService, Handler, Reply, Request

Maker = Callable[[str, RetrieverContext], Retriever]

_FILLED: dict[tuple[str, bytes], dict[str, OptionValue]] = {}
"""Stores that are filled already, by kind and chunks."""

KEPT_OPEN: list[object] = []
"""What must live as long as the test run: folders, clients, servers."""

WORDS: list[str] = []
"""The words that vectors count; the suite sets them."""


def word_vector(text: str) -> NDArray[np.float32]:
    """How often each of the words occurs, and a little of everything."""
    return np.array([text.split().count(word) for word in WORDS], dtype=np.float32) + np.float32(0.001)


def _with(context: RetrieverContext, options: dict[str, OptionValue]) -> RetrieverContext:
    return msgspec.structs.replace(context, options={**options, **context.options})


def _folder() -> Path:
    made = tempfile.TemporaryDirectory(prefix="rageval-contract-")
    KEPT_OPEN.append(made)
    path = Path(made.name).resolve()
    path.chmod(0o755)
    return path


def _once(kind: str, fill: Callable[[Sequence[Chunk], NDArray[np.float32]], dict[str, OptionValue]]) -> Maker:
    """A maker that fills a store once for each corpus."""

    def make(name: str, context: RetrieverContext) -> Retriever:
        key = (kind, msgspec.json.encode(context.snapshot.chunks))
        if key not in _FILLED:
            _FILLED[key] = fill(context.snapshot.chunks, np.concatenate(context.snapshot.shards))
        return build(name, _with(context, _FILLED[key]))

    return make


def _served(
    start: Callable[[Sequence[Chunk], NDArray[np.float32]], FakeService], **options: OptionValue
) -> Maker:
    """A maker that starts a server once for each corpus."""

    def fill(chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> dict[str, OptionValue]:
        service = troubled(start(chunks, vectors))
        KEPT_OPEN.append(service.__enter__())
        return {"url": service.url, **options}

    return _once(repr((start, options)), fill)


def _postgres(chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> dict[str, OptionValue]:
    table = f"contract_{len(_FILLED)}"
    os.environ["RAGEVAL_CONTRACT_DATABASE"] = fill_postgres(table, chunks, vectors)
    return {"table": table, "dsn_env": "RAGEVAL_CONTRACT_DATABASE"}


def _sqlite(chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> dict[str, OptionValue]:
    path = fill_sqlite_vec(_folder() / "v.db", chunks, vectors)
    return {"file": str(path), "table": "vec", "texts": "chunks", "id": "chunk_id", "metric": "cosine"}


def _lancedb(chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> dict[str, OptionValue]:
    return {"path": str(fill_lancedb(_folder() / "db", chunks, vectors)), "table": "docs", "metric": "cosine"}


def _chroma(chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> dict[str, OptionValue]:
    folder = _folder() / "db"
    KEPT_OPEN.append(fill_chroma(folder, chunks, vectors))
    return {"path": str(folder), "collection": "docs"}


def _program(chunks: Sequence[Chunk], _: NDArray[np.float32]) -> Path:
    folder = _folder()
    shutil.copyfile(FOLDER / "words.py", folder / "words.py")
    held = {"words": WORDS, "chunks": [[chunk.id, chunk.text] for chunk in chunks]}
    (folder / "chunks.json").write_text(json.dumps(held), encoding="utf-8")
    return folder


def _command(chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> dict[str, OptionValue]:
    folder = _program(chunks, vectors)
    return {"command": f"{interpreter()} words.py chunks.json", "cwd": str(folder)}


def _python(chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> dict[str, OptionValue]:
    folder = str(_program(chunks, vectors))
    return {"function": "words:search", "path": folder, "cwd": folder, "python": interpreter()}


def _http(chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> FakeService:
    answer = Search(str(_program(chunks, vectors) / "chunks.json"))

    def search(request: Request, _: object) -> object:
        found = answer(msgspec.json.decode(request.body)["query"])
        return {"results": [{"id": name, "score": score} for name, score in found]}

    return FakeService({"POST ": search, "POST /": search})


@functools.cache
def _runs() -> Path:
    return _folder()


class _FromFile:
    """Writes what the dense retriever finds into a file, and reads it back as `run-file` does."""

    def __init__(self, name: str, context: RetrieverContext) -> None:
        self._name, self._context = name, context

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Rank, write, read."""
        audited = msgspec.structs.replace(self._context, access="audit")
        found = DenseRetriever(audited).retrieve(queries, 500)
        path = _runs() / f"{hashlib.sha256(msgspec.json.encode(audited.snapshot.chunks)).hexdigest()}.jsonl"
        path.write_text(
            "\n".join(msgspec.json.encode(one).decode() for one in found.rankings), encoding="utf-8"
        )
        return build(self._name, _with(self._context, {"file": str(path), "format": "jsonl"})).retrieve(
            queries, depth
        )


class _WordScorer:
    """A cross-encoder that counts words."""

    cost: dict[str, float] = {}  # noqa: RUF012 - nothing is paid for
    revision = ""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Cosine of word counts."""
        return [cosine(vector(query, WORDS), vector(text, WORDS)) for text in texts]


def _rerank(name: str, context: RetrieverContext) -> Retriever:
    with mock.patch.object(rerank, "scorer", return_value=_WordScorer()):
        return build(name, _with(context, {"top": 500}))


STUCK, BROKEN = "stuck", "broken"
"""Texts of queries at which the system behind a retriever hangs, and at which it fails."""

RELEASE, ASKED, WAITED_FOR = threading.Event(), threading.Event(), threading.Event()
"""Set by a test: a server that hangs goes on. Set by the server: it was asked what it hangs at; it gave up hanging,
since somebody waited for it."""


def troubled(service: FakeService) -> FakeService:
    """The server, which hangs at the query `STUCK` and fails at `BROKEN`, by its text or its vector."""

    def marks(text: str) -> tuple[bytes, ...]:
        return msgspec.json.encode(text), msgspec.json.encode(literal(word_vector(text)))

    def wrapped(handler: Handler) -> Handler:
        def handle(request: Request, match: re.Match[str]) -> object:
            if any(mark in request.body for mark in marks(STUCK)):
                ASKED.set()
                if not RELEASE.wait(60):
                    WAITED_FOR.set()
                return Reply(status=410)
            if any(mark in request.body for mark in marks(BROKEN)):
                return Reply(status=400, body=b"broken")
            return handler(request, match)

        return handle

    service.routes = {route: wrapped(handler) for route, handler in service.routes.items()}
    return service


def _hosted_rerank(name: str, context: RetrieverContext) -> Retriever:
    """A hosted reranker over the dense retriever."""
    service = troubled(rerankers.service("cohere"))
    KEPT_OPEN.append(service.__enter__())
    os.environ["RAGEVAL_CONTRACT_KEY"] = rerankers.KEY
    options: dict[str, OptionValue] = {
        "backend": "cohere",
        "model": "m",
        "api_key_env": "RAGEVAL_CONTRACT_KEY",
    }
    return build(name, _with(context, {**options, "url": service.url}))


def _hybrid_of_http(name: str, context: RetrieverContext) -> Retriever:
    """The dense retriever beside a service."""
    service = troubled(_http(context.snapshot.chunks, np.concatenate(context.snapshot.shards)))
    KEPT_OPEN.append(service.__enter__())
    own = {f"http.{option}": value for option, value in context.options.items()}
    return build(
        name, msgspec.structs.replace(context, options={"of": "dense,http", "http.url": service.url, **own})
    )


def _failed_in_file(name: str, context: RetrieverContext) -> Retriever:
    """A run file in which one query failed."""
    path = _folder() / "run.jsonl"
    rows: list[dict[str, object]] = [
        {"query_id": "q-one", "results": ["文件-1"]},
        {"query_id": "q-broken", "error": "no index"},
    ]
    rows += [{**rows[0], "query_id": "q-two"}, {"query_id": "q-nothing", "results": []}]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return build(name, _with(context, {"file": str(path)}))


MAKERS: dict[str, Maker] = {
    "bm25": build,
    "chroma": _once("chroma", _chroma),
    "command": _once("command", _command),
    "dense": build,
    "elasticsearch": _served(
        lambda c, v: search_servers.elasticsearch(search_servers.Index(c, v)), index="docs"
    ),
    "http": _served(_http),
    "hybrid": build,
    "lancedb": _once("lancedb", _lancedb),
    "meilisearch": _served(lambda c, v: search_servers.meilisearch(search_servers.Index(c, v)), index="docs"),
    "opensearch": _served(lambda c, v: search_servers.opensearch(search_servers.Index(c, v)), index="docs"),
    "pgvector": _once("pgvector", _postgres),
    "python": _once("python", _python),
    "qdrant": _served(search_servers.qdrant, collection="docs", id="payload.chunk_id"),
    "rerank": _rerank,
    "run-file": _FromFile,
    "sqlite-vec": _once("sqlite-vec", _sqlite),
}
"""Retriever -> how it is built over a context's chunks."""

TROUBLED: dict[str, Maker] = {
    **MAKERS,
    "hybrid": _hybrid_of_http,
    "rerank": _hosted_rerank,
    "run-file": _failed_in_file,
}
"""Retriever -> how it is built so that `STUCK` hangs and `BROKEN` fails; see `IN_PROCESS` for stores."""

IN_PROCESS = frozenset({"chroma", "lancedb", "pgvector", "sqlite-vec"})
"""Stores whose client library has a process of its own: the suite freezes or kills that."""

NO_TIME_LIMIT: dict[str, str] = {
    "bm25": "it computes in our own process and waits for nobody",
    "dense": "it computes in our own process and waits for nobody",
    "run-file": "it reads a regular file, once, and refuses anything else",
}
"""Retriever -> why no time-out applies to it."""

RETRIED = frozenset({"elasticsearch", "http", "hybrid", "meilisearch", "opensearch", "qdrant", "rerank"})
"""Retrievers whose requests are tried again, unless told otherwise."""

FINDS_NOTHING: dict[str, dict[str, OptionValue]] = {
    "bm25": {"matches_only": True},
    "command": {},
    "elasticsearch": {"filter": '{"term": {"doc": "none"}}'},
    "http": {},
    "lancedb": {"where": "doc = 'none'"},
    "meilisearch": {"filter": '"doc = \\"none\\""'},
    "opensearch": {"filter": '{"term": {"doc": "none"}}'},
    "pgvector": {"where": "doc = 'none'"},
    "python": {},
    "qdrant": {"filter": '{"must": [{"key": "doc", "match": {"value": "none"}}]}'},
    "run-file": {},
    "sqlite-vec": {"where": "t.doc = 'none'"},
}
"""Retriever -> options under which it finds nothing for the query `nothing`. The others always find something that
may be seen."""
