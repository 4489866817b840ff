"""Folders that LlamaIndex persisted: with its own vectors, with FAISS's inside (two kinds), with Chroma's inside."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tiktoken
from corpus import Corpus, Row, case

tiktoken.get_encoding = lambda _: SimpleNamespace(encode=list)  # 0.8 fetches it while it is imported

try:
    import llama_index.core as library
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    MODERN = True
except ImportError:
    import llama_index as library
    from llama_index.schema import NodeRelationship, RelatedNodeInfo, TextNode

    MODERN = False


def write(corpus: Corpus, out: Path) -> list[Row]:
    """Every kind that this version and its sister packages have."""
    makers = (_own, _faiss, _faiss_map, _chroma)
    return [made for make in makers for made in make(corpus, out)]


def _nodes(rows: list[Row]) -> list[Any]:
    return [
        TextNode(
            id_=row["id"],
            text=row["text"],
            embedding=row["vector"],
            metadata=row["metadata"],
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=row["doc"])},
        )
        for row in rows
    ]


def _index(rows: list[Row], store: Any = None) -> Any:
    context = library.StorageContext.from_defaults(vector_store=store)
    if MODERN:
        return library.VectorStoreIndex(
            _nodes(rows), storage_context=context, embed_model=library.MockEmbedding(8)
        )
    service = library.ServiceContext.from_defaults(llm=None, embed_model=library.MockEmbedding(8))
    return library.VectorStoreIndex(_nodes(rows), storage_context=context, service_context=service)


def _change(index: Any, corpus: Corpus) -> None:
    for row in (corpus.gone, corpus.update):
        index.delete_ref_doc(row["doc"], delete_from_docstore=True)
    index.insert_nodes(_nodes([corpus.update]))


def _own(corpus: Corpus, out: Path) -> list[Row]:
    index = _index(corpus.written)
    _change(index, corpus)
    index.storage_context.persist(str(out / "own"))
    return [case("llamaindex:{folder}/own", "cosine")]


def _faiss(corpus: Corpus, out: Path) -> list[Row]:
    """This store cannot delete: the finished rows only."""
    import faiss

    try:
        from llama_index.vector_stores.faiss import FaissVectorStore
    except ImportError:
        from llama_index.vector_stores import FaissVectorStore
    index = _index(corpus.rows, FaissVectorStore(faiss_index=faiss.IndexFlatIP(8)))
    index.storage_context.persist(str(out / "faiss"))
    return [case("llamaindex:{folder}/faiss", "ip")]


def _faiss_map(corpus: Corpus, out: Path) -> list[Row]:
    """A newer store with ids; it gives numbers out again after a deletion, so the last row is the one deleted."""
    import faiss

    try:
        from llama_index.vector_stores.faiss import FaissMapVectorStore
    except ImportError:
        return []
    store = FaissMapVectorStore(faiss_index=faiss.IndexIDMap2(faiss.IndexFlatL2(8)))
    index = _index([*corpus.rows, corpus.gone], store)
    index.delete_nodes([corpus.gone["id"]], delete_from_docstore=True)
    index.storage_context.persist(str(out / "faiss-map"))
    return [case("llamaindex:{folder}/faiss-map", "l2")]


def _chroma(corpus: Corpus, out: Path) -> list[Row]:
    """Once in the folder of the rest, once in a folder of its own as most tutorials have it."""
    try:
        import chromadb
    except ImportError:
        return []
    try:
        from llama_index.vector_stores.chroma import ChromaVectorStore
    except ImportError:
        from llama_index.vector_stores import ChromaVectorStore
    cases = []
    for name, persist in (("chroma", True), ("chroma-only", False)):
        collection = chromadb.PersistentClient(str(out / name)).create_collection("docs")
        index = _index(corpus.written, ChromaVectorStore(chroma_collection=collection))
        _change(index, corpus)
        if persist:
            index.storage_context.persist(str(out / name))
        cases.append(case("llamaindex:{folder}/" + name, "l2"))
    return cases
