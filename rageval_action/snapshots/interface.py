"""Where snapshots come from: the registry of sources and the one function that opens one."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rageval_action.core.model.snapshot import Snapshot

SOURCES: dict[str, str] = {
    "folder": "rageval_action.snapshots.read:read_snapshot",
    "chroma": "rageval_action.snapshots.importers.chroma:load",
    "faiss": "rageval_action.snapshots.importers.faiss:load",
    "haystack": "rageval_action.snapshots.importers.documents:load_haystack",
    "hf": "rageval_action.snapshots.importers.arrow:load_hf",
    "lancedb": "rageval_action.snapshots.importers.arrow:load_lancedb",
    "langchain": "rageval_action.snapshots.importers.langchain:load",
    "llamaindex": "rageval_action.snapshots.importers.llamaindex:load",
    "meilisearch-export": "rageval_action.snapshots.importers.documents:load_meilisearch",
    "opensearch-export": "rageval_action.snapshots.importers.documents:load_opensearch",
    "parquet": "rageval_action.snapshots.importers.arrow:load_parquet",
    "pgvector": "rageval_action.snapshots.importers.servers:load_pgvector",
    "pgvector-csv": "rageval_action.snapshots.importers.servers:load_pgvector_csv",
    "qdrant": "rageval_action.snapshots.importers.servers:load_qdrant",
    "qdrant-export": "rageval_action.snapshots.importers.documents:load_qdrant",
    "sqlite-vec": "rageval_action.snapshots.importers.sqlite_vec:load",
    "vectors": "rageval_action.snapshots.importers.vectors:load",
}
"""Scheme -> `module:function` that takes what follows `scheme:` and returns the loaded snapshot."""


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
    module, _, attribute = SOURCES[scheme].partition(":")
    opened: Callable[[str], Snapshot] = getattr(importlib.import_module(module), attribute)
    return opened(place)
