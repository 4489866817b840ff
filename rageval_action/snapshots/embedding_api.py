"""Embedding models that a team rents or serves: OpenAI-compatible endpoints, Voyage, Cohere, behind one `Embedder`.

A model is named `openai:NAME`, `voyage:NAME` or `cohere:NAME`. Address and key come from the environment
(`OPENAI_BASE_URL`, `OPENAI_API_KEY`, …), never from a snapshot: a pull request may bring one.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.model.types import Notice
from rageval_action.errors import CannotMeasureError, ConfigError
from rageval_action.snapshots.prefixes import DOCUMENT_ROLE, QUERY_ROLE
from rageval_action.transport import Client, TransportError, credential, public
from rageval_action.world import REAL_ENVIRONMENT

PROBE = "A sentence that is embedded twice, to see how far apart the two vectors are."
STABLE = 0.999
"""Least cosine of two embeddings of one text. Rounding in hosted models moves it by 1e-6 to 1e-4; services that were
reported unusable for comparison gave 0.82 to 0.94."""

MAX_CHARACTERS = 200_000
"""Of one request, to stay under the vendors' token limits."""


class _Vendor(Struct, frozen=True):
    """What differs between the services (their API references).

    Attributes:
        request: model, texts and role -> body.
        vectors: answer -> vectors in the order of the texts.
        tokens: answer -> tokens that are paid for.
    """

    base: str
    path: str
    most: int
    request: Callable[[str, list[str], str], dict[str, Any]]
    vectors: Callable[[Any], list[list[float]]]
    tokens: Callable[[Any], float]


def _openai(model: str, texts: list[str], role: str) -> dict[str, Any]:
    del role
    return {"model": model, "input": texts, "encoding_format": "float"}


def _voyage(model: str, texts: list[str], role: str) -> dict[str, Any]:
    return {"model": model, "input": texts} | ({"input_type": role} if role else {})


def _cohere(model: str, texts: list[str], role: str) -> dict[str, Any]:
    kind = "search_query" if role == "query" else "search_document"
    return {"model": model, "texts": texts, "input_type": kind, "embedding_types": ["float"]}


def _by_index(answer: Any) -> list[list[float]]:
    data = sorted(answer["data"], key=lambda entry: int(entry["index"]))
    return [entry["embedding"] for entry in data]


def _total(answer: Any) -> float:
    return float(answer.get("usage", {}).get("total_tokens", 0))


VENDORS: dict[str, _Vendor] = {
    "openai": _Vendor("https://api.openai.com/v1", "/embeddings", 512, _openai, _by_index, _total),
    "voyage": _Vendor("https://api.voyageai.com/v1", "/embeddings", 128, _voyage, _by_index, _total),
    "cohere": _Vendor(
        "https://api.cohere.com/v2",
        "/embed",
        96,
        _cohere,
        lambda answer: answer["embeddings"]["float"],
        lambda answer: float(answer.get("meta", {}).get("billed_units", {}).get("input_tokens", 0)),
    ),
}


def is_api(model: str) -> bool:
    """True when the name is one of a service, `openai:text-embedding-3-small`."""
    return model.partition(":")[0] in VENDORS and ":" in model


class ApiEmbedder:
    """`Embedder` over a service.

    Texts that start with `prefixes.QUERY_ROLE` or `DOCUMENT_ROLE` are sent without it, under that input type: so the
    role is part of the snapshot's prefixes and of every cache key.

    Attributes:
        revision: what the service calls the model that answered, where that is not the name asked for.
        cost: `embed_calls` and `embed_tokens` so far; what came from the cache cost nothing.
        notices: what the reader of a result must know: how stable the service is.

    Raises:
        ConfigError: no key, a bad address.
        CannotMeasureError: `embedding.unstable`, `embedding.service` when the service gives no usable answer.
    """

    def __init__(
        self,
        name: str,
        cache: Path,
        client: Client | None = None,
        environ: Mapping[str, str] = REAL_ENVIRONMENT,
    ) -> None:
        scheme, _, self._model = name.partition(":")
        if not self._model:
            raise ConfigError("config.bad-model", f'"{name}" names a service and no model.')
        self._vendor = VENDORS[scheme]
        self._client = client or _client(scheme, self._vendor, environ)
        self._scope = f"{name}\0{public(self._client.base)}"
        self._cache = _Cache(cache)
        self.revision = ""
        self.cost = {"embed_calls": 0.0, "embed_tokens": 0.0}
        self.notices: tuple[Notice, ...] = ()
        self._probed = False

    def count_cut(self, texts: Sequence[str]) -> int:
        """Nothing is known about how a service cuts texts; it refuses or cuts by its own rules."""
        del texts
        return 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension): from the cache by content, the rest asked for in batches."""
        unique = list(dict.fromkeys(texts))
        known = self._cache.get([self._key(text) for text in unique])
        vectors = {text: known[self._key(text)] for text in unique if self._key(text) in known}
        missing = [text for text in unique if text not in vectors]
        if missing:
            self._probe()
        for role, batch in self._batches(missing):
            made = self._ask([text.removeprefix(_MARKS[role]) for text in batch], role)
            self._cache.put({self._key(text): vector for text, vector in zip(batch, made, strict=True)})
            vectors |= dict(zip(batch, made, strict=True))
        found = [vectors[text] for text in texts]
        if len({len(vector) for vector in found}) > 1:
            raise _service("vectors of different dimensions came back for one model")
        return np.array(found, dtype=np.float32)

    def _probe(self) -> None:
        """Embed one text twice, in two requests: a service that answers twice differently cannot be compared by.

        What is in the cache came from a service that had passed.
        """
        if self._probed:
            return
        first, second = (np.asarray(self._ask([PROBE], "")[0], dtype=np.float64) for _ in range(2))
        cosine = float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second) or 1.0))
        if cosine < STABLE:
            raise CannotMeasureError(
                "embedding.unstable",
                f"{self._scope.split(chr(0))[0]} embedded one text twice and the cosine of the two is {cosine:.4f}.",
                hint="A gate on such vectors would pass and fail by chance: use cached query vectors or another model.",
            )
        text = f"one text embedded twice gave vectors {1 - cosine:.2g} apart (1 - cosine)"
        self.notices = (Notice(code="embedding.repeat", text=text),)
        self._probed = True

    def _batches(self, texts: Sequence[str]) -> list[tuple[str, list[str]]]:
        """Texts of one role each, within the service's limits."""
        batches: list[tuple[str, list[str]]] = []
        size = 0
        for text in texts:
            role = next((role for role, mark in _MARKS.items() if mark and text.startswith(mark)), "")
            full = batches and (len(batches[-1][1]) >= self._vendor.most or size + len(text) > MAX_CHARACTERS)
            if not batches or batches[-1][0] != role or full:
                batches.append((role, []))
                size = 0
            batches[-1][1].append(text)
            size += len(text)
        return batches

    def _ask(self, texts: list[str], role: str) -> list[list[float]]:
        try:
            answer = self._client.request(
                "POST", self._vendor.path, self._vendor.request(self._model, texts, role)
            )
            vectors = self._vendor.vectors(answer)
            numbers = np.array(vectors, dtype=np.float64)
            self.cost["embed_calls"] += 1
            self.cost["embed_tokens"] += self._vendor.tokens(answer)
        except TransportError as error:
            raise _service(error.message) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _service("the answer is not one that the service documents") from error
        if numbers.ndim != 2 or len(numbers) != len(texts) or not numbers.size:
            raise _service(f"{len(texts)} texts were sent and {len(vectors)} vectors came back")
        if not np.isfinite(numbers).all():
            raise _service("a vector holds something that is not a finite number")
        named = answer.get("model", "")
        self.revision = str(named) if named and named != self._model else self.revision
        return vectors

    def _key(self, text: str) -> str:
        return hashlib.sha256(f"{self._scope}\0{text}".encode()).hexdigest()


_MARKS = {"query": QUERY_ROLE, "document": DOCUMENT_ROLE, "": ""}


def _client(scheme: str, vendor: _Vendor, environ: Mapping[str, str]) -> Client:
    base = environ.get(f"{scheme.upper()}_BASE_URL") or vendor.base
    variable = f"{scheme.upper()}_API_KEY"
    if scheme == "openai" and base != vendor.base and not environ.get(variable):
        return Client(base, {})  # a server of one's own often wants none
    key = credential(variable, f"model {scheme}:", environ)
    return Client(base, {"Authorization": f"Bearer {key}"}, timeout_s=60.0)


def _service(why: str) -> CannotMeasureError:
    return CannotMeasureError("embedding.service", f"the embedding service failed: {why.rstrip('.')}.")


class _Cache:
    """Vectors by content, in one SQLite file; a file that cannot be used is a cache that knows nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, keys: Sequence[str]) -> dict[str, list[float]]:
        """The vectors that are known."""
        found: dict[str, list[float]] = {}
        try:
            with closing(self._open()) as base:
                for key in keys:
                    row = base.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
                    if row and len(row[0]) % 4 == 0:
                        found[key] = np.frombuffer(row[0], dtype="<f4").tolist()
        except (sqlite3.Error, OSError):
            return {}
        return found

    def put(self, vectors: dict[str, list[float]]) -> None:
        """Keep vectors, at once: what was paid for is not lost when the run stops."""
        rows = [(key, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items()]
        try:
            with closing(self._open()) as base, base:
                base.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError):
            return

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        base = sqlite3.connect(self._path, timeout=30.0)
        base.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)")
        return base
