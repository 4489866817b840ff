"""The importers by scheme, and the one function that writes a store as a snapshot folder."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.snapshot import Manifest
from rageval_action.core.model.types import Notice
from rageval_action.errors import ConfigError
from rageval_action.snapshots.importers.cache import write_table
from rageval_action.snapshots.importers.place import Place
from rageval_action.snapshots.importers.table import Table

IMPORTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "chroma": ("chroma:read", ("collection",)),
    "faiss": ("faiss:read", ("chunks",)),
    "haystack": ("documents:read_haystack", ()),
    "hf": ("arrow:read_hf", ()),
    "lancedb": ("arrow:read_lancedb", ("table",)),
    "langchain": ("langchain:read", ("name",)),
    "llamaindex": ("llamaindex:read", ("collection",)),
    "meilisearch-export": ("documents:read_meilisearch", ("embedder",)),
    "opensearch-export": ("documents:read_opensearch", ()),
    "parquet": ("arrow:read_parquet", ()),
    "pgvector": ("servers:read_pgvector", ("table", "dsn_env")),
    "pgvector-csv": ("servers:read_pgvector_csv", ()),
    "qdrant": ("servers:read_qdrant", ("collection", "name", "api_key_env")),
    "qdrant-export": ("documents:read_qdrant", ("name",)),
    "sqlite-vec": ("sqlite_vec:read", ("table", "texts", "key")),
    "vectors": ("vectors:read", ("chunks", "array")),
}
"""Scheme -> `module:function` in this package, and the options that only it has."""


def import_store(
    location: str, out: Path, asked: Mapping[str, NDArray[np.float32]] | None = None
) -> tuple[Manifest, tuple[Notice, ...]]:
    """Write the store at `scheme:place?options` as a snapshot into the new or empty folder `out`.

    `asked` are query texts with their vectors, to be kept beside the chunks, so that no model is needed later.

    Raises:
        ConfigError: `config.unknown-source`, `config.unknown-option`, `config.missing-option`.
        SnapshotError: the store cannot be read or is not fit to be a snapshot.
    """
    scheme, mark, rest = location.partition(":")
    if not mark or scheme not in IMPORTERS:
        hint = f"Write scheme:place with one of: {', '.join(sorted(IMPORTERS))}."
        named = f'"{scheme}:" names no store' if mark else f'"{location}" is no scheme:place'
        raise ConfigError("config.unknown-source", f"{named}.", hint=hint)  # a place may hold a password
    target, options = IMPORTERS[scheme]
    module, _, name = target.partition(":")
    read: Callable[[Place], Table] = getattr(
        importlib.import_module(f"rageval_action.snapshots.importers.{module}"), name
    )
    place = Place(scheme, rest, options)
    return write_table(read(place), place, out, asked or {})
