"""A folder that LlamaIndex persisted: `llamaindex:./storage`, with its own vectors, or FAISS's or Chroma's inside.

Ours because LlamaIndex does not list the nodes of a FAISS index's rows, and its Chroma store writes when it opens.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import msgspec

from rageval_action.core.model.types import Notice
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.importers.json_stores import (
    decode_json,
    object_of,
    read_json,
    read_text_file,
    text_of,
)
from rageval_action.snapshots.importers.location import StoreLocation
from rageval_action.snapshots.importers.reader_process import read_in_child
from rageval_action.snapshots.importers.table import NO_DOCUMENT, Row, Table, matrix

STORE = "default__vector_store.json"
PAIR = re.compile(r"""(\d+): ('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")""")
PAIRS = re.compile(rf"(?:{PAIR.pattern}(?:, )?)*\}}\}}\s*")


def read(location: StoreLocation) -> Table:
    """Nodes with texts from `docstore.json`, vectors from wherever they are.

    Node ids are random at each build unless the team sets them; a notice says so, since ids that change make every
    comparison a re-chunking.
    """
    folder = location.folder()
    if (folder / "chroma.sqlite3").is_file():
        return _with_chroma(location, folder)
    store = folder / STORE
    if not store.is_file():
        store = folder / "vector_store.json"
    if not store.is_file():
        raise SnapshotError("snapshot.not-found", f"there is no {STORE}.", where=location.where)
    with store.open("rb") as stream:
        is_json = stream.read(1) == b"{"
    nodes = _nodes(folder)
    table = _own(store, nodes) if is_json else _with_faiss(folder, store, nodes)
    told = Notice(
        code="snapshot.random-ids",
        text="LlamaIndex makes new node ids at every build unless they are set; set them, or label by document",
        where=location.where,
    )
    return msgspec.structs.replace(table, notices=(told,))


def _nodes(folder: Path) -> dict[str, dict[str, Any]]:
    """Node id -> its data in the document store; empty when the vector store keeps the texts."""
    path = folder / "docstore.json"
    if not path.is_file():
        return {}
    data = object_of(object_of(read_json(path), str(path)).get("docstore/data"), str(path))
    return {
        name: entry["__data__"]
        for name, entry in data.items()
        if isinstance(entry, dict) and isinstance(entry.get("__data__"), dict)
    }


def _row(name: str, nodes: dict[str, dict[str, Any]], document: str, where: Path) -> Row:
    if name not in nodes:
        raise SnapshotError(
            "snapshot.count-mismatch", f"docstore.json lacks the node {name}.", where=str(where)
        )
    node = nodes[name]
    at = f"{where} node {name}"
    text = node.get("text", object_of(node.get("text_resource"), at).get("text"))
    metadata = dict(object_of(node.get("metadata"), at))
    relationships = object_of(node.get("relationships"), at)
    source = object_of(relationships.get("1"), at).get("node_id") or document
    if source and source not in NO_DOCUMENT:
        metadata.setdefault("ref_doc_id", source)
    return Row(id=name, text=text_of(text, at), metadata=metadata)


def _own(store: Path, nodes: dict[str, dict[str, Any]]) -> Table:
    stored = object_of(read_json(store), str(store))
    vectors = object_of(stored.get("embedding_dict"), str(store))
    if not vectors:
        raise SnapshotError("snapshot.no-vectors", "the vector store holds no vectors.", where=str(store))
    documents = object_of(stored.get("text_id_to_ref_doc_id"), str(store))
    rows = [_row(name, nodes, str(documents.get(name) or ""), store) for name in vectors]
    return Table(rows=rows, vectors=matrix(list(vectors.values()), str(store), rows), metric="cosine")


def _with_faiss(folder: Path, store: Path, nodes: dict[str, dict[str, Any]]) -> Table:
    """A FAISS index under the JSON's name; another file says which row is which node."""
    table = read_in_child("faiss", store, {}, str(store))
    path = folder / "id_map.json"
    order = _id_map(path) if path.is_file() else _index_store(folder)
    if not all(row.id in order for row in table.rows):
        named = path.name if path.is_file() else "index_store.json"
        text = f"{named} does not name the node of every row of the index."
        raise SnapshotError("snapshot.count-mismatch", text, where=str(folder))
    rows = [_row(order[row.id], nodes, "", store) for row in table.rows]
    return msgspec.structs.replace(table, rows=rows)


def _index_store(folder: Path) -> dict[str, str]:
    """Row number -> node, as `FaissVectorStore` leaves it to the index."""
    path = folder / "index_store.json"
    order: dict[str, str] = {}
    stored = object_of(object_of(read_json(path), str(path)).get("index_store/data"), str(path))
    for entry in stored.values():
        data = object_of(entry, str(path)).get("__data__")
        data = decode_json(data, str(path)) if isinstance(data, str) else data
        order.update(object_of(object_of(data, str(path)).get("nodes_dict"), str(path)))
    return order


def _id_map(path: Path) -> dict[str, str]:
    """Number -> node, as `FaissMapVectorStore` keeps it: JSON since 0.6, the text of a Python dictionary before.

    LlamaIndex itself evaluated that text. Here only its pairs are looked for, and each name is read by itself.
    """
    text = read_text_file(path)
    try:
        stored = msgspec.json.decode(text, type=dict[str, dict[str, Any]])
        return {name: str(node) for name, node in stored["faiss_id_to_node_id_map"].items()}
    except (msgspec.DecodeError, RecursionError, KeyError):
        pass
    _, mark, pairs = text.partition("'faiss_id_to_node_id_map': {")
    if not mark or not PAIRS.fullmatch(pairs):
        raise SnapshotError("snapshot.bad-json", "it is not the map that LlamaIndex writes.", where=str(path))
    return {number: ast.literal_eval(name) for number, name in PAIR.findall(pairs)}


def _with_chroma(location: StoreLocation, folder: Path) -> Table:
    """Chroma keeps texts and metadata itself; LlamaIndex puts the whole node into `_node_content`, which is dropped."""
    table = read_in_child("chroma", folder, {"collection": location.get("collection")}, location.where)
    for row in table.rows:
        row.metadata.pop("_node_content", None)
        row.metadata.pop("_node_type", None)
    return table
