"""Search servers that rank real vectors and refuse any request field that their vendors do not document.

Qdrant's answers come from Qdrant's own engine in its embedded mode; the others score in numpy as their references say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.types import Chunk
from tests.fakes.server import FakeService, RefusedError, Request

Match = re.Match[str]


class KnnClause(msgspec.Struct, forbid_unknown_fields=True):
    """OpenSearch: query.knn.FIELD."""

    vector: list[float]
    k: int
    filter: dict[str, Any] | None = None
    method_parameters: dict[str, int] | None = None
    boost: float = 1.0


class OpensearchRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /INDEX/_search, the parts that a search like ours may have."""

    query: dict[str, Any]
    size: int = 10
    _source: bool | list[str] | str = True
    min_score: float | None = None
    timeout: str | None = None


class ElasticKnn(msgspec.Struct, forbid_unknown_fields=True):
    """Elasticsearch: the knn section."""

    field: str
    query_vector: list[float]
    k: int
    num_candidates: int
    filter: dict[str, Any] | list[Any] | None = None
    similarity: float | None = None


class ElasticRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /INDEX/_search."""

    knn: ElasticKnn | None = None
    query: dict[str, Any] | None = None
    size: int = 10
    _source: bool | list[str] | str = True


class MeiliHybrid(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Meilisearch: hybrid."""

    embedder: str
    semantic_ratio: float = 0.5


class MeiliRequest(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """POST /indexes/UID/search."""

    q: str = ""
    limit: int = 20
    offset: int = 0
    filter: str | list[Any] | None = None
    attributes_to_retrieve: list[str] | None = None
    show_ranking_score: bool = False
    hybrid: MeiliHybrid | None = None
    vector: list[float] | None = None
    retrieve_vectors: bool = False


class QdrantRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /collections/NAME/points/query."""

    query: list[float]
    limit: int = 10
    offset: int = 0
    using: str | None = None
    filter: dict[str, Any] | None = None
    params: dict[str, Any] | None = None
    with_payload: bool | list[str] = False
    with_vector: bool = False
    score_threshold: float | None = None


class ScrollRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /collections/NAME/points/scroll."""

    limit: int = 10
    offset: int | str | None = None
    with_payload: bool = True
    with_vector: bool = False
    filter: dict[str, Any] | None = None


class Index:
    """Chunks with vectors, scored by cosine."""

    def __init__(self, chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> None:
        self.chunks = chunks
        wide = vectors.astype(np.float64)
        self.vectors = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-30)

    def nearest(self, vector: list[float], count: int, wanted: Any = None) -> list[tuple[Chunk, float]]:
        """The best by cosine, computed one by one so that equal vectors tie."""
        if len(vector) != self.vectors.shape[1]:
            raise RefusedError(400, f"expected {self.vectors.shape[1]} dimensions, got {len(vector)}")
        asked = np.array(vector)
        asked /= max(float(np.linalg.norm(asked)), 1e-30)
        scores = np.einsum("ij,j->i", self.vectors, asked)
        order = np.argsort(-scores, kind="stable")
        kept = [(self.chunks[at], float(scores[at])) for at in order if self._passes(self.chunks[at], wanted)]
        return kept[:count]

    def _passes(self, chunk: Chunk, wanted: Any) -> bool:
        """Filters as the tests write them: {"term": {"doc": …}} and doc = "…"."""
        if wanted is None:
            return True
        if isinstance(wanted, str):
            return chunk.doc == wanted.split('"')[1]
        return bool(wanted["term"]["doc"] == chunk.doc)

    def matching(self, text: str, count: int) -> list[tuple[Chunk, float]]:
        """The best by shared words."""
        words = set(text.split())
        scored = [(chunk, float(len(words & set(chunk.text.split())))) for chunk in self.chunks]
        return sorted(scored, key=lambda pair: -pair[1])[:count]


def _elastic_answer(found: list[tuple[Chunk, float]], source: Any) -> dict[str, Any]:
    fields = source if isinstance(source, list) else []
    hits = []
    for chunk, score in found:
        held = {"chunk_id": chunk.id, "doc": chunk.doc, "text": chunk.text}
        hit: dict[str, Any] = {"_index": "docs", "_id": chunk.id, "_score": score}
        if source is not False:
            hit["_source"] = {name: held[name] for name in fields} if fields else held
        hits.append(hit)
    total = {"value": len(hits), "relation": "eq"}
    return {"took": 1, "timed_out": False, "_shards": {}, "hits": {"total": total, "hits": hits}}


def opensearch(index: Index) -> FakeService:
    """OpenSearch with one index, `docs`. A cosine becomes (1 + cosine) / 2, as its reference says."""

    def search(request: Request, _: Match) -> object:
        asked = _with_source(request, OpensearchRequest)
        kind, clause = next(iter(asked[0].query.items()))
        if kind == "knn":
            field, inner = next(iter(clause.items()))
            knn = msgspec.convert(inner, KnnClause)
            if field != "embedding" or not 1 <= knn.k <= 10_000 or asked[0].size > 10_000:
                raise RefusedError(400, "illegal_argument_exception")
            found = [
                (c, (1 + s) / 2) for c, s in index.nearest(knn.vector, min(knn.k, asked[0].size), knn.filter)
            ]
        elif kind == "match":
            found = index.matching(clause["text"]["query"], asked[0].size)
        else:
            raise RefusedError(400, "parsing_exception")
        return _elastic_answer(found, asked[1])

    return FakeService({"POST /docs/_search": search})


def elasticsearch(index: Index) -> FakeService:
    """Elasticsearch with one index, `docs`."""

    def search(request: Request, _: Match) -> object:
        asked, source = _with_source(request, ElasticRequest)
        if asked.knn is None or asked.knn.k > asked.knn.num_candidates or asked.knn.num_candidates > 10_000:
            raise RefusedError(400, "[num_candidates] cannot be less than [k]")
        found = index.nearest(asked.knn.query_vector, min(asked.knn.k, asked.size), asked.knn.filter)
        return _elastic_answer([(chunk, (1 + score) / 2) for chunk, score in found], source)

    return FakeService({"POST /docs/_search": search})


def _with_source(request: Request, shape: Any) -> tuple[Any, Any]:
    """The body in its shape, and `_source`, whose name no field of a class can have."""
    body = msgspec.json.decode(request.body)
    source = body.pop("_source", True)
    if not isinstance(source, (bool, list, str)):
        raise RefusedError(400, "_source")
    try:
        return msgspec.convert(body, shape), source
    except msgspec.ValidationError as error:
        raise RefusedError(400, str(error)) from error


def meilisearch(index: Index, key: str = "") -> FakeService:
    """Meilisearch with one index, `docs`; at most 1,000 hits."""

    def search(request: Request, _: Match) -> object:
        if key:
            request.bearer(key)
        asked = request.read(MeiliRequest)
        if asked.hybrid is not None and asked.vector is not None:
            found = index.nearest(asked.vector, min(asked.limit, 1000), asked.filter)
            found = [(chunk, (1 + score) / 2) for chunk, score in found]
        else:
            found = index.matching(asked.q, min(asked.limit, 1000))
        fields = asked.attributes_to_retrieve
        hits = []
        for chunk, score in found:
            held = {"id": chunk.id, "doc": chunk.doc, "text": chunk.text}
            hit: dict[str, Any] = {name: held[name] for name in fields or held}
            hits.append({**hit, "_rankingScore": score} if asked.show_ranking_score else hit)
        return {"hits": hits, "query": asked.q, "processingTimeMs": 1, "limit": asked.limit, "offset": 0}

    return FakeService({"POST /indexes/docs/search": search})


def qdrant(chunks: Sequence[Chunk], vectors: NDArray[np.float32], distance: str = "Cosine") -> FakeService:
    """Qdrant with one collection, `docs`, answered by Qdrant's embedded engine. Ids are numbers; ours in the payload."""
    import threading

    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    client.create_collection(
        "docs", vectors_config=models.VectorParams(size=vectors.shape[1], distance=models.Distance(distance))
    )
    payloads = [{"chunk_id": chunk.id, "doc": chunk.doc, "text": chunk.text} for chunk in chunks]
    client.upload_collection("docs", vectors=vectors, payload=payloads, ids=list(range(1, len(chunks) + 1)))
    lock = threading.Lock()
    seen: dict[tuple[tuple[float, ...], object], float] = {}  # numpy's last digits move; the server's do not

    def query(request: Request, _: Match) -> object:
        asked = request.read(QdrantRequest)
        with lock:
            found = client.query_points(
                "docs",
                query=asked.query,
                limit=asked.limit,
                with_payload=asked.with_payload,
                query_filter=models.Filter.model_validate(asked.filter) if asked.filter else None,
            ).points
            for point in found:
                point.score = seen.setdefault((tuple(asked.query), point.id), point.score)
        return {"result": {"points": [_plain(point) for point in found]}, "status": "ok", "time": 0.001}

    def scroll(request: Request, _: Match) -> object:
        asked = request.read(ScrollRequest)
        with lock:
            found, after = client.scroll(
                "docs",
                limit=asked.limit,
                offset=asked.offset,
                with_payload=True,
                with_vectors=asked.with_vector,
            )
        points = [_plain(point) for point in found]
        return {"result": {"points": points, "next_page_offset": after}, "status": "ok", "time": 0.001}

    def about(request: Request, _: Match) -> object:
        parameters = {"vectors": {"size": vectors.shape[1], "distance": distance}}
        return {
            "result": {"status": "green", "config": {"params": parameters}},
            "status": "ok",
            "time": 0.001,
        }

    return FakeService(
        {
            "POST /collections/docs/points/query": query,
            "POST /collections/docs/points/scroll": scroll,
            "GET /collections/docs": about,
        }
    )


def _plain(point: Any) -> Any:
    return point.model_dump(mode="json", exclude_none=True)
