"""A folder that LangChain's FAISS store saved: `langchain:folder` with `index.faiss` and `index.pkl`.

Ours because LangChain executes the pickle.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.importers.location import StoreLocation
from rageval_action.snapshots.importers.reader_process import read_in_child
from rageval_action.snapshots.importers.restricted_pickle import MAX_BYTES, Record, check_plain, load_records
from rageval_action.snapshots.importers.table import Row, Table

CLASSES = ("InMemoryDocstore", "Document")


def read(location: StoreLocation) -> Table:
    """Texts and ids out of the pickle without running it; vectors out of the index, under its own metric.

    LangChain calls a store "COSINE" whose index compares by squared distance: the index is believed, not the label.

    Raises:
        SnapshotError: a pickle that is not what LangChain writes, or what `reader_process.read_in_child` raises.
    """
    name = location.get("name", "index")
    folder = location.folder(f"{name}.faiss", f"{name}.pkl")
    path = folder / f"{name}.pkl"
    if path.stat().st_size > MAX_BYTES:
        raise SnapshotError("snapshot.too-large", f"the pickle is over {MAX_BYTES} bytes.", where=str(path))
    documents, names = _parts(load_records(path.read_bytes(), CLASSES, str(path)), str(path))
    table = read_in_child("faiss", folder / f"{name}.faiss", {}, location.where)
    rows = [_row(int(row.id), documents, names, str(path)) for row in table.rows]
    return msgspec.structs.replace(table, rows=rows)


def _parts(value: Any, where: str) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The documents by id, and the id of each row of the index."""
    if (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], Record)
        and isinstance(value[1], dict)
    ):
        documents = value[0].field("_dict")
        if isinstance(documents, dict):
            return documents, value[1]
    raise SnapshotError(
        "snapshot.bad-pickle", "the pickle is not one that LangChain's FAISS writes.", where=where
    )


def _row(number: int, documents: dict[Any, Any], names: dict[Any, Any], where: str) -> Row:
    name = names.get(number)
    document = documents.get(name)
    if not isinstance(name, str) or not isinstance(document, Record):
        text = f"row {number} of the index has no document in the store."
        raise SnapshotError("snapshot.count-mismatch", text, where=where)
    text, metadata = document.field("page_content"), document.field("metadata") or {}
    if not isinstance(text, str) or not isinstance(metadata, dict):
        raise SnapshotError("snapshot.bad-pickle", f'the document "{name[:80]}" is none.', where=where)
    check_plain(metadata, where)
    return Row(id=name, text=text, metadata=metadata)
