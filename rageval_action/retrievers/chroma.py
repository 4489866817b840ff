"""A Chroma collection, in a folder or behind a server, searched by Chroma itself."""

from __future__ import annotations

import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rageval_action.retrievers.clients import ClientRetriever
from rageval_action.retrievers.files import refuse_pointers
from rageval_action.retrievers.interface import OptionValue
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.store_child import Ask, StoreError


class ChromaRetriever(ClientRetriever):
    """Asks a collection. Its index is approximate: what it misses is part of what is measured.

    Options: `path` (a folder, copied first, since Chroma writes when it opens) or `url` (a server), `collection`,
    `id` (a metadata field that holds the chunk's id; Chroma's own id by default). Scores are minus the distance; for
    cosine and inner product, one minus it.
    """

    name = "chroma"
    most = 100_000
    store = "ChromaStore"
    libraries = ("chromadb",)

    def settings(self, options: Options) -> None:
        """Read the options."""
        self._path = options.text("path", "")
        url = options.text("url", "")
        options.text("collection")
        options.text("id", "")
        if bool(self._path) == bool(url):
            raise options.wrong("path", "either a path or a url is needed")
        if self._path and not (Path(self._path) / "chroma.sqlite3").is_file():
            raise options.wrong("path", f"there is no chroma.sqlite3 in {self._path}")
        refuse_pointers(Path(self._path).rglob("*") if self._path else (), "a file of Chroma's")

    def told(self) -> dict[str, OptionValue]:
        """The options, with the folder's whole path."""
        return super().told() | {"path": str(Path(self._path).resolve()) if self._path else ""}


class ChromaStore:
    """A collection, in the process of its own, whose temporary folder holds the copy and goes with it."""

    def __init__(self, options: dict[str, Any]) -> None:
        """Copy the folder, or connect, and find the collection."""
        installed = version("chromadb")
        if int(installed.split(".")[0]) < 1:  # it would unpickle what it reads
            raise StoreError(f"chromadb {installed} is too old; 1.0 or newer is needed")
        self._id = options["id"]
        try:
            self._collection = _client(options).get_collection(options["collection"], embedding_function=None)
            space = ((self._collection.configuration_json or {}).get("hnsw") or {}).get("space")
            space = space or (self._collection.metadata or {}).get("hnsw:space", "l2")
        except Exception as error:  # noqa: BLE001 - chromadb raises its own, its server's and pyo3's
            raise _fault(error) from None
        self._least = 0.0 if space == "l2" else 1.0

    def search(self, asked: Ask) -> list[tuple[str, float]]:
        """The nearest entries that the index finds."""
        try:
            limit = min(asked.limit, max(1, self._collection.count()))
            found = self._collection.query(
                query_embeddings=[asked.numbers().tolist()],
                n_results=limit,
                include=["distances", "metadatas"],
            )
        except Exception as error:  # noqa: BLE001 - as above
            raise _fault(error) from None
        names, distances, metadatas = found["ids"][0], found["distances"][0], found["metadatas"][0]
        if self._id:
            names = [
                str((metadata or {}).get(self._id, name))
                for name, metadata in zip(names, metadatas, strict=True)
            ]
        return [(name, self._least - distance) for name, distance in zip(names, distances, strict=True)]


def _client(options: dict[str, Any]) -> Any:
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    if options["url"]:
        parts = urlsplit(options["url"])
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return chromadb.HttpClient(
            host=parts.hostname or "", port=port, ssl=parts.scheme == "https", settings=settings
        )
    target = Path(tempfile.mkdtemp()) / "db"
    shutil.copytree(options["path"], target, symlinks=True)
    return chromadb.PersistentClient(str(target), settings)


def _fault(error: Exception) -> StoreError:
    return StoreError(f"Chroma: {str(error)[:300] or type(error).__name__}")
