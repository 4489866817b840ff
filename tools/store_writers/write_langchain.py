"""LangChain's FAISS store: squared distances, and what it calls cosine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corpus import Corpus, Row, case

try:
    from langchain_community.vectorstores import FAISS
except ImportError:
    from langchain.vectorstores import FAISS
try:
    from langchain_core.embeddings import Embeddings
except ImportError:
    from langchain.embeddings.base import Embeddings


class Known(Embeddings):
    """Gives each text of the corpus its vector."""

    def __init__(self, corpus: Corpus) -> None:
        self._vectors = {row["text"]: row["vector"] for row in [*corpus.written, corpus.update]}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of texts."""
        return [self._vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Vector of one text."""
        return self._vectors[text]


def write(corpus: Corpus, out: Path) -> list[Row]:
    """One folder a distance strategy; before there were deletions and ids, only the finished rows."""
    made = [_folder(corpus, out, "l2", {})]
    try:
        from langchain_community.vectorstores.utils import DistanceStrategy
    except ImportError:
        return made
    return [*made, _folder(corpus, out, "dot", {"distance_strategy": DistanceStrategy.MAX_INNER_PRODUCT})]


def _folder(corpus: Corpus, out: Path, name: str, options: Row) -> Row:
    changes = hasattr(FAISS, "delete")
    rows = corpus.written if changes else corpus.rows
    more: dict[str, Any] = {"ids": [row["id"] for row in rows]} if changes else {}
    texts, metadatas = [row["text"] for row in rows], [row["metadata"] for row in rows]
    store = FAISS.from_texts(texts, Known(corpus), metadatas=metadatas, **more, **options)
    if changes:
        update = corpus.update
        store.delete([corpus.gone["id"], update["id"]])
        store.add_texts([update["text"]], metadatas=[update["metadata"]], ids=[update["id"]])
    store.save_local(str(out / name))
    told = {} if changes else {"names": []}
    return case("langchain:{folder}/" + name, "ip" if options else "l2", **told)
