"""Reads a copy of a Chroma folder inside the child process, through chromadb itself.

Only chromadb knows what lies in its segments and what still waits in its queue; reading either alone is wrong. Older
versions unpickle a segment's metadata, so they are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.snapshots.importers.worker import About, Sink

PAGE = 1000


def read(path: Path, options: dict[str, str], sink: Sink) -> None:
    """Write one collection."""
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError:
        hint = 'Install it: pip install "rag-eval-action[chroma]".'
        raise ConfigError("config.missing-extra", "reading Chroma needs chromadb.", hint=hint) from None
    if int(chromadb.__version__.split(".")[0]) < 1:
        text = f"chromadb {chromadb.__version__} unpickles what it reads; 1.0 or newer is needed."
        raise ConfigError("config.unsafe-library", text)
    client = chromadb.PersistentClient(str(path), Settings(anonymized_telemetry=False, allow_reset=False))
    collection = _collection(client, options.get("collection", ""))
    sink.about = About(metric=_metric(collection))
    total = collection.count()
    for start in range(0, total, PAGE):
        page = collection.get(limit=PAGE, offset=start, include=["embeddings", "documents", "metadatas"])
        texts = page["documents"] or [None] * len(page["ids"])
        metadatas = page["metadatas"] or [None] * len(page["ids"])
        for name, text, metadata in zip(page["ids"], texts, metadatas, strict=True):
            sink.row(name, text or "", dict(metadata or {}))
        sink.vectors(np.asarray(page["embeddings"], dtype=np.float32))


def _collection(client: Any, wanted: str) -> Any:
    names = [entry if isinstance(entry, str) else entry.name for entry in client.list_collections()]
    if not wanted and len(names) == 1:
        wanted = names[0]
    if wanted not in names:
        text = f"it holds the collections {', '.join(sorted(names)) or '(none)'}."
        raise SnapshotError("snapshot.which-collection", text, hint="Name one with ?collection=")
    return client.get_collection(wanted, embedding_function=None)


def _metric(collection: Any) -> str:
    """The space of the collection's index: its configuration, else its older metadata, else Chroma's default."""
    configuration = getattr(collection, "configuration_json", None) or {}
    for part in ("hnsw", "spann"):
        space = (configuration.get(part) or {}).get("space")
        if space:
            return str(space)
    return str((collection.metadata or {}).get("hnsw:space", "l2"))
