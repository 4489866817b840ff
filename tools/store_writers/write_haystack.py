"""Haystack's documents as JSON: the in-memory store of 2.x and newer, a list of documents from 1.x.

The in-memory store of 1.x cannot be saved, and needs torch to be imported.
"""

from __future__ import annotations

import json
from pathlib import Path

from corpus import Corpus, Row, case


def write(corpus: Corpus, out: Path) -> list[Row]:
    """One file a similarity."""
    try:
        from haystack.schema import Document
    except ImportError:
        return [_saved(corpus, out, metric) for metric in ("cosine", "dot_product")]
    import numpy as np

    kept = [
        Document(
            id=row["id"],
            content=row["text"],
            meta=row["metadata"],
            embedding=np.array(row["vector"], dtype=np.float32),
        )
        for row in corpus.rows
    ]
    lines = json.dumps([document.to_dict() for document in kept], default=lambda array: array.tolist())
    (out / "documents.json").write_text(lines, encoding="utf-8")
    return [case("haystack:{folder}/documents.json?metric=ip", "ip")]


def _saved(corpus: Corpus, out: Path, metric: str) -> Row:
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack.document_stores.types import DuplicatePolicy

    store = InMemoryDocumentStore(embedding_similarity_function=metric)

    def made(row: Row) -> Document:
        return Document(id=row["id"], content=row["text"], meta=row["metadata"], embedding=row["vector"])

    store.write_documents([made(row) for row in corpus.written])
    store.write_documents([made(corpus.update)], policy=DuplicatePolicy.OVERWRITE)
    store.delete_documents([corpus.gone["id"]])
    store.save_to_disk(str(out / (metric + ".json")))
    return case("haystack:{folder}/" + metric + ".json", "ip" if metric == "dot_product" else metric)
