"""Search servers by their own HTTP interfaces: Qdrant, OpenSearch, Elasticsearch, Meilisearch. No client library.

Requests have only fields that the vendors document; `filter` is theirs too, with `{acl.tenant}`, `{acl.principal}`,
`{acl.groups}` and `{query}` standing for values.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.types import Query
from rageval_action.retrievers.external import AnswerError
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.stores import StoreRetriever, literal
from rageval_action.retrievers.templates import at, fill_template, path, values_of
from rageval_action.transport import Client, TransportError, public


class ServerRetriever(StoreRetriever):
    """Common to all: `url`, `header.NAME` (with `${VARIABLE}` for a key), `timeout_s`, `retries`, `filter`, `id`.

    `id` is a dotted path to the chunk's id inside a hit; each server's own id by default.
    """

    own_id = "id"

    def configure(self, options: Options) -> None:
        """Read the options."""
        url = options.text("url", secret=True)
        self._client = Client(
            url,
            options.headers(),
            timeout_s=options.number("timeout_s", 30.0, least=0.01),
            retries=options.integer("retries", 2, most=20),
        )
        options.recorded["url"] = public(url)
        self._id = path(options.text("id", self.own_id))
        self._filter = _json(options, "filter")
        self.settings(options)

    @abstractmethod
    def settings(self, options: Options) -> None:
        """Read the server's own options."""

    @abstractmethod
    def request(self, query: Query, vector: NDArray[np.float32], limit: int) -> tuple[str, dict[str, Any]]:
        """Path and body of a search."""

    @abstractmethod
    def hits(self, answer: Any) -> list[tuple[Any, float]]:
        """Hits with their scores, out of an answer."""

    def filter_for(self, query: Query, limit: int) -> Any:
        """The filter with its placeholders filled, or None."""
        return None if self._filter is None else fill_template(self._filter, values_of(query, limit))

    def search(self, query: Query, vector: NDArray[np.float32], limit: int) -> list[tuple[str, float]]:
        """Ask the server."""
        target, body = self.request(query, vector, limit)
        try:
            found = self.hits(dict(self._client.request("POST", target, body)))
            named = [(at(hit, self._id), float(score)) for hit, score in found]
        except TransportError as error:
            raise AnswerError(error.message) from None
        except (KeyError, TypeError, ValueError):
            raise AnswerError(f"the answer is not one that {self.name} documents") from None
        if not all(isinstance(name, (str, int)) for name, _ in named):
            raise AnswerError(f"a hit has no id at {'.'.join(self._id)}")
        return [(str(name), score) for name, score in named]


QDRANT_SIGNS = {"cosine": 1.0, "dot": 1.0, "euclid": -1.0, "manhattan": -1.0}
"""Distance of a collection -> what turns its scores into ones of which the larger is better."""


class QdrantRetriever(ServerRetriever):
    """`POST /collections/NAME/points/query`.

    Options beside the common ones: `collection`, `using` (a named vector), `exact`, `hnsw_ef`, `distance` (cosine,
    dot, euclid, manhattan: of the last two a smaller score is better). Ids are numbers or UUIDs there: `id:
    payload.chunk_id` names the payload field that holds the chunk's own.
    """

    name = "qdrant"
    direction_cure = "Set `distance: euclid` or `distance: manhattan`, whichever the collection uses."

    def settings(self, options: Options) -> None:
        """Read Qdrant's own options."""
        self._collection = quote(options.text("collection"), safe="")
        self._using = options.text("using", "")
        self._exact = options.flag("exact", default=False)
        self._ef = options.integer("hnsw_ef", 0)
        distance = options.text("distance", "cosine", choices=tuple(QDRANT_SIGNS))
        self._sign = QDRANT_SIGNS[distance]

    def request(self, query: Query, vector: NDArray[np.float32], limit: int) -> tuple[str, dict[str, Any]]:
        """A nearest-neighbour query."""
        body: dict[str, Any] = {
            "query": literal(vector),
            "limit": limit,
            "with_payload": self._id[0] == "payload",
        }
        parameters: dict[str, object] = {"exact": True} if self._exact else {}
        if self._ef:
            parameters["hnsw_ef"] = self._ef
        body |= {"params": parameters} if parameters else {}
        body |= {"using": self._using} if self._using else {}
        wanted = self.filter_for(query, limit)
        body |= {"filter": wanted} if wanted is not None else {}
        return f"/collections/{self._collection}/points/query", body

    def hits(self, answer: Any) -> list[tuple[Any, float]]:
        """The points."""
        return [(point, self._sign * point["score"]) for point in answer["result"]["points"]]


class OpensearchRetriever(ServerRetriever):
    """`POST /INDEX/_search` with a k-NN query, a text query, or a body of your own.

    Options beside the common ones: `index`, `mode` (vector, text, body), `vector` and `text` (fields),
    `body` (JSON with `{query}`, `{vector}`, `{depth}` and the access placeholders), for `mode: body`.
    """

    name = "opensearch"
    own_id = "_id"

    def settings(self, options: Options) -> None:
        """Read the options of an index."""
        self._index = quote(options.text("index"), safe=",*")
        self._mode = options.text("mode", "vector", choices=("vector", "text", "body"))
        self._vector = options.text("vector", "embedding")
        self._text = options.text("text", "text")
        self._body = _json(options, "body")
        if (self._mode == "body") != isinstance(self._body, dict):
            raise options.wrong("body", "a body goes with mode: body, and that mode needs one")
        self.needs_vectors = self._mode == "vector" or "{vector}" in str(self._body)

    def request(self, query: Query, vector: NDArray[np.float32], limit: int) -> tuple[str, dict[str, Any]]:
        """A search."""
        if self._mode == "body":
            values = values_of(query, limit) | {"{vector}": literal(vector)}
            return f"/{self._index}/_search", dict(fill_template(self._body, values))
        body = (
            self.vector_query(query, vector, limit)
            if self._mode == "vector"
            else self._text_query(query, limit)
        )
        source = [".".join(self._id[1:])] if self._id[0] == "_source" else False
        return f"/{self._index}/_search", {"size": limit, "_source": source, **body}

    def vector_query(self, query: Query, vector: NDArray[np.float32], limit: int) -> dict[str, Any]:
        """OpenSearch's k-NN query."""
        asked: dict[str, Any] = {"vector": literal(vector), "k": limit}
        wanted = self.filter_for(query, limit)
        asked |= {"filter": wanted} if wanted is not None else {}
        return {"query": {"knn": {self._vector: asked}}}

    def _text_query(self, query: Query, limit: int) -> dict[str, Any]:
        matched: dict[str, Any] = {"match": {self._text: {"query": query.text}}}
        wanted = self.filter_for(query, limit)
        return {"query": matched if wanted is None else {"bool": {"must": [matched], "filter": [wanted]}}}

    def hits(self, answer: Any) -> list[tuple[Any, float]]:
        """The hits; an answer that the server cut short for time is none."""
        if answer.get("timed_out"):
            raise AnswerError("the server ran out of time")
        return [(hit, hit["_score"]) for hit in answer["hits"]["hits"]]


class ElasticsearchRetriever(OpensearchRetriever):
    """As `opensearch`, with Elasticsearch's `knn` section and its option `num_candidates` (at least the limit)."""

    name = "elasticsearch"

    def settings(self, options: Options) -> None:
        """Read the options of an index."""
        super().settings(options)
        self._candidates = options.integer("num_candidates", 0, most=10_000)

    def vector_query(self, query: Query, vector: NDArray[np.float32], limit: int) -> dict[str, Any]:
        """Elasticsearch's k-NN section."""
        asked: dict[str, Any] = {
            "field": self._vector,
            "query_vector": literal(vector),
            "k": limit,
            "num_candidates": min(10_000, max(limit, self._candidates)),
        }
        wanted = self.filter_for(query, limit)
        asked |= {"filter": wanted} if wanted is not None else {}
        return {"knn": asked}


class MeilisearchRetriever(ServerRetriever):
    """`POST /indexes/UID/search`, by words, by vector, or both.

    Options beside the common ones: `index`, `embedder`, `semantic_ratio` (1 = vectors only, 0 = words only). Scores are
    Meilisearch's ranking scores. An index gives at most its `maxTotalHits` (1,000 unless set) results.
    """

    name = "meilisearch"
    most = 1000

    def settings(self, options: Options) -> None:
        """Read Meilisearch's own options."""
        self._index = quote(options.text("index"), safe="")
        self._ratio = options.number("semantic_ratio", 1.0, most=1.0)
        self.needs_vectors = self._ratio > 0
        self._embedder = options.text("embedder", "default")

    def request(self, query: Query, vector: NDArray[np.float32], limit: int) -> tuple[str, dict[str, Any]]:
        """A search; a `filter` is a string or a list there."""
        body: dict[str, Any] = {
            "q": query.text,
            "limit": limit,
            "showRankingScore": True,
            "attributesToRetrieve": [self._id[0]],
        }
        if self._ratio > 0:
            body |= {
                "hybrid": {"embedder": self._embedder, "semanticRatio": self._ratio},
                "vector": literal(vector),
            }
        wanted = self.filter_for(query, limit)
        body |= {"filter": wanted} if wanted is not None else {}
        return f"/indexes/{self._index}/search", body

    def hits(self, answer: Any) -> list[tuple[Any, float]]:
        """The documents."""
        return [(hit, hit["_rankingScore"]) for hit in answer["hits"]]


def _json(options: Options, name: str) -> object:
    """An option that is JSON, or None."""
    text = options.text(name, "")
    if not text:
        return None
    try:
        decoded: object = msgspec.json.decode(text.encode())
    except msgspec.DecodeError as error:
        raise options.wrong(name, f"it is not JSON: {error}") from None
    return decoded
