"""Where snapshots come from: the registry of sources and the one function that opens one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from rageval_action.core.model.snapshot import Snapshot


class Importer(Struct, frozen=True, kw_only=True):
    """How another store is read.

    Attributes:
        read: `module:function` of `snapshots.importers`; the function takes a `StoreLocation` and returns a `Table`.
        options: the options that only this store has.
        server: its content is known only after it was read, so the cache cannot know it before.
    """

    read: str
    options: tuple[str, ...] = ()
    server: bool = False


IN_CHILD = "reader_process:read_store"

IMPORTERS: dict[str, Importer] = {
    "chroma": Importer(read=IN_CHILD, options=("collection",)),
    "faiss": Importer(read="faiss:read", options=("chunks",)),
    "haystack": Importer(read="json_stores:read_haystack"),
    "hf": Importer(read=IN_CHILD),
    "lancedb": Importer(read=IN_CHILD, options=("table",)),
    "langchain": Importer(read="langchain:read", options=("name",)),
    "llamaindex": Importer(read="llamaindex:read", options=("collection",)),
    "meilisearch-export": Importer(read="json_stores:read_meilisearch", options=("embedder",)),
    "opensearch-export": Importer(read="json_stores:read_opensearch"),
    "parquet": Importer(read=IN_CHILD),
    "pgvector": Importer(read="servers:read_pgvector", options=("table", "dsn_env"), server=True),
    "pgvector-csv": Importer(read="servers:read_pgvector_csv"),
    "qdrant": Importer(
        read="servers:read_qdrant", options=("collection", "name", "api_key_env"), server=True
    ),
    "qdrant-export": Importer(read="json_stores:read_qdrant", options=("name",)),
    "sqlite-vec": Importer(read=IN_CHILD, options=("table", "texts", "key")),
    "vectors": Importer(read="vectors:read", options=("chunks", "array")),
}
"""The stores that can stand where a snapshot is asked for, by scheme."""

SOURCES = ("folder", *IMPORTERS)
"""The schemes of `open_snapshot`."""


def open_snapshot(location: str | Path) -> Snapshot:
    """Open a snapshot folder, or another store as `scheme:place` (`folder:index` is the same as `index`).

    Raises:
        ConfigError: `config.unknown-source` for a scheme that is not in `SOURCES`.
        SnapshotError: the snapshot cannot be used.
    """
    scheme, mark, place = str(location).partition(":")
    if isinstance(location, Path) or not mark or len(scheme) == 1 or Path(location).exists():
        scheme, place = "folder", str(location)
    if scheme not in SOURCES:
        raise ConfigError(
            "config.unknown-source",
            f'there is no snapshot source "{scheme}".',
            hint=f"Give a folder, or one of: {', '.join(f'{name}:…' for name in sorted(SOURCES))}.",
            where=str(location),
        )
    if scheme == "folder":
        from rageval_action.snapshots.read import read_snapshot

        return read_snapshot(place)
    from rageval_action.snapshots.importers.stores import open_store

    return open_store(scheme, place)
