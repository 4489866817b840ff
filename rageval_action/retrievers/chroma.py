"""A Chroma collection, in a folder or behind a server, searched by Chroma itself."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.types import Query
from rageval_action.retrievers.external import AnswerError
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.stores import StoreRetriever, missing


class ChromaRetriever(StoreRetriever):
    """Asks a collection. Its index is approximate: what it misses is part of what is measured.

    Options: `path` (a folder, copied first, since Chroma writes when it opens) or `url` (a server), `collection`,
    `id` (a metadata field that holds the chunk's id; Chroma's own id by default). Scores are minus the distance; for
    cosine and inner product, one minus it.
    """

    name = "chroma"
    most = 100_000

    def configure(self, options: Options) -> None:
        """Read the options."""
        self._path = options.text("path", "")
        self._url = options.text("url", "")
        self._name = options.text("collection")
        self._id = options.text("id", "")
        if bool(self._path) == bool(self._url):
            raise options.wrong("path", "either a path or a url is needed")
        if self._path and not (Path(self._path) / "chroma.sqlite3").is_file():
            raise options.wrong("path", f"there is no chroma.sqlite3 in {self._path}")
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._collection: Any = None
        self._base = 0.0
        try:
            import chromadb
            from chromadb.config import Settings
        except ImportError:
            raise missing("chromadb", "chroma") from None
        if int(chromadb.__version__.split(".")[0]) < 1:  # it would unpickle what it reads
            raise options.wrong("path", f"chromadb {chromadb.__version__} is too old; 1.0 or newer is needed")
        self._library: Any = chromadb
        self._settings = Settings(anonymized_telemetry=False)

    def open(self) -> None:
        """Copy the folder, or connect, and find the collection."""
        try:
            client = self._client()
            self._collection = client.get_collection(self._name, embedding_function=None)
            space = ((self._collection.configuration_json or {}).get("hnsw") or {}).get("space")
            space = space or (self._collection.metadata or {}).get("hnsw:space", "l2")
        except Exception as error:  # noqa: BLE001 - chromadb raises its own, its server's and pyo3's
            raise AnswerError(f"Chroma: {str(error)[:300] or type(error).__name__}") from None
        self._base = 0.0 if space == "l2" else 1.0

    def _client(self) -> Any:
        if self._url:
            parts = urlsplit(self._url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            return self._library.HttpClient(
                host=parts.hostname or "", port=port, ssl=parts.scheme == "https", settings=self._settings
            )
        self._copy = tempfile.TemporaryDirectory(prefix="rageval-chroma-")
        target = Path(self._copy.name) / "db"
        shutil.copytree(self._path, target, symlinks=True)
        return self._library.PersistentClient(str(target), self._settings)

    def close(self) -> None:
        """Let go of the collection and the copy."""
        self._collection = None
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def search(self, query: Query, vector: NDArray[np.float32], limit: int) -> list[tuple[str, float]]:
        """The nearest entries that the index finds."""
        del query
        if self._collection is None:
            self.open()
        try:
            asked = min(limit, max(1, self._collection.count()))
            found = self._collection.query(
                query_embeddings=[vector.tolist()], n_results=asked, include=["distances", "metadatas"]
            )
        except Exception as error:  # noqa: BLE001 - as above
            raise AnswerError(f"Chroma: {str(error)[:300] or type(error).__name__}") from None
        names, distances, metadatas = found["ids"][0], found["distances"][0], found["metadatas"][0]
        if self._id:
            names = [
                str((metadata or {}).get(self._id, name))
                for name, metadata in zip(names, metadatas, strict=True)
            ]
        return [(name, self._base - distance) for name, distance in zip(names, distances, strict=True)]
