"""Stores that are JSON: Haystack's, and points, hits and documents as the interfaces of search servers give them.

Ours because Haystack does not read its documents of 1.x, and no library reads the servers' answers from a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.chunk_lines import numbered
from rageval_action.snapshots.importers.location import StoreLocation
from rageval_action.snapshots.importers.table import TEXT_FIELDS, VECTOR_FIELDS, Row, Table, matrix

MAX_BYTES = 4 << 30

Entry = tuple[str, dict[str, Any]]
"""Where an object stands, for messages, and the object."""


def read_haystack(location: StoreLocation) -> Table:
    """`haystack:store.json`: what `InMemoryDocumentStore.save_to_disk` wrote, or a list of documents (1.x)."""
    stored = read_json(location.file())
    stored = stored if isinstance(stored, dict) else {"documents": stored}
    documents = stored.get("documents")
    if not isinstance(documents, list):
        raise SnapshotError("snapshot.bad-json", "there is no list of documents.", where=location.where)
    found = _numbered_objects(documents, location.where)
    rows = [
        _row(entry.get("id"), entry.get("content"), object_of(entry.get("meta"), where), where)
        for where, entry in found
    ]
    parameters = object_of(stored.get("init_parameters"), location.where)
    metric = str(parameters.get("embedding_similarity_function") or "dot_product")
    vectors = matrix([entry.get("embedding") for _, entry in found], location.where, rows)
    return Table(rows=rows, vectors=vectors, metric=metric)


def read_opensearch(location: StoreLocation) -> Table:
    """`opensearch-export:hits.jsonl`: hits with `_id` and `_source` (also Elasticsearch's).

    An index may be told to leave the vector out of `_source`; then the hits are refused.
    """
    hits = entries(location.file(), "hits")
    sources = [dict(object_of(hit.get("_source"), where)) for where, hit in hits]
    vector = location.get("vector") or _usual(sources, VECTOR_FIELDS)
    text = location.get("text") or _usual(sources, TEXT_FIELDS)
    rows, vectors = [], []
    for (where, hit), source in zip(hits, sources, strict=True):
        why = "the index may leave it out of _source"
        vectors.append(_must(source.pop(vector, None), vector, hit.get("_id"), where, why))
        rows.append(_row(hit.get("_id"), source.pop(text, None), source, where))
    return Table(rows=rows, vectors=matrix(vectors, location.where, rows))


def read_meilisearch(location: StoreLocation) -> Table:
    """`meilisearch-export:documents.json`: documents fetched with `retrieveVectors: true`.

    They hold `_vectors`: `{embedder: {embeddings, regenerate}}`, or a bare list for one embedder.
    """
    rows, vectors = [], []
    embedder = location.get("embedder")
    for where, document in entries(location.file(), "results"):
        stored = document.pop("_vectors", None)
        name = document.get(location.get("id", "id"))
        stored = _must(stored, "_vectors", name, where, "fetch documents with retrieveVectors")
        stored = stored if isinstance(stored, dict) else {}
        embedder = embedder or next(iter(stored), "")
        value = stored.get(embedder)
        if isinstance(value, dict):
            value = value.get("embeddings")
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
            value = value[0]
        vectors.append(value)
        text = first_text(document, location)
        rows.append(_row(document.get(location.get("id", "id")), text, document, where))
    return Table(rows=rows, vectors=matrix(vectors, location.where, rows), metric="cosine")


def read_qdrant(location: StoreLocation) -> Table:
    """`qdrant-export:points.jsonl`: points of a scroll, one a line or in the pages as they came."""
    if (Path(location.where) / "meta.json").is_file():
        raise SnapshotError(
            "snapshot.needs-export",
            "this is a folder of Qdrant's local mode, which keeps pickles; it is not read.",
            hint="Write the points that client.scroll gives, with vectors and payload, as JSON lines.",
            where=location.where,
        )
    return points_table(entries(location.file(), "points"), location)


def points_table(points: Sequence[Entry], location: StoreLocation, metric: str = "") -> Table:
    """Points as rows. Ids are numbers or UUIDs there: the chunk's own id is usually in the payload (`?id=`)."""
    rows, vectors = [], []
    for where, point in points:
        payload = object_of(point.get("payload"), where)
        vector = point.get("vector")
        if isinstance(vector, dict):
            vector = vector.get(location.get("name") or next(iter(vector), ""))
        vectors.append(vector)
        rows.append(_row(point.get("id"), first_text(payload, location), payload, where))
    return Table(rows=rows, vectors=matrix(vectors, location.where, rows), metric=metric)


def read_json(path: Path) -> Any:
    """A JSON file of a bounded size.

    Raises:
        SnapshotError: `snapshot.too-large`, `snapshot.bad-json`, `snapshot.not-found`.
    """
    return decode_json(_content(path), str(path))


def decode_json(data: bytes | str, where: str) -> Any:
    """A JSON value.

    Raises:
        SnapshotError: `snapshot.bad-json`.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError("snapshot.bad-json", f"this is not JSON: {error}.", where=where) from None


def read_text_file(path: Path) -> str:
    """A UTF-8 file of a bounded size; raises as `read_json`."""
    try:
        return _content(path).decode()
    except UnicodeDecodeError:
        raise SnapshotError("snapshot.bad-json", "this is not UTF-8.", where=str(path)) from None


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise SnapshotError("snapshot.not-found", "there is no such file.", where=str(path))
    if path.stat().st_size > MAX_BYTES:
        raise SnapshotError("snapshot.too-large", f"the file is over {MAX_BYTES} bytes.", where=str(path))
    return path.read_bytes()


def entries(path: Path, inside: str) -> list[Entry]:
    """Objects of a file: a JSON array, JSON lines, or API answers that hold them in a list called `inside`."""
    data = _content(path)
    try:
        whole = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        whole = [decode_json(line, f"{path}:{number}") for number, line in numbered(data)]
    values = whole if isinstance(whole, list) else [whole]
    unwrapped = [_unwrapped(value, inside) for _, value in _numbered_objects(values, str(path))]
    return _numbered_objects([entry for part in unwrapped for entry in part], str(path))


def _numbered_objects(values: Iterable[Any], where: str) -> list[Entry]:
    found = [(f"{where} entry {at}", value) for at, value in enumerate(values)]
    for at, value in found:
        if not isinstance(value, dict):
            raise SnapshotError("snapshot.bad-json", "an entry is not an object.", where=at)
    return found


def _unwrapped(value: dict[str, Any], inside: str) -> list[Any]:
    """`{"result": {"points": […]}}`, `{"hits": {"hits": […]}}`, `{"results": […]}`, or the object itself."""
    for holder in (value, value.get("result"), value.get("hits")):
        if isinstance(holder, dict) and isinstance(holder.get(inside), list):
            return list(holder[inside])
    return [value]


def _row(name: Any, text: Any, metadata: dict[str, Any], where: str) -> Row:
    """An entry whose id may be a number."""
    if isinstance(name, bool) or not isinstance(name, (str, int)) or name == "":
        raise SnapshotError("snapshot.bad-chunk", "it has no id.", where=where)
    return Row(id=str(name), text=text_of(text, where), metadata=metadata)


def object_of(value: Any, where: str) -> dict[str, Any]:
    """An object, empty where there is none.

    Raises:
        SnapshotError: `snapshot.bad-json` for anything else.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        text = f"a {type(value).__name__} stands where an object belongs."
        raise SnapshotError("snapshot.bad-json", text, where=where)
    return value


def text_of(value: Any, where: str) -> str:
    """A chunk's text, empty where there is none.

    Raises:
        SnapshotError: `snapshot.bad-chunk` for anything but text and numbers.
    """
    if value is None:
        return ""
    if not isinstance(value, (str, int, float)):
        text = f"a {type(value).__name__} stands where the text belongs."
        raise SnapshotError("snapshot.bad-chunk", text, hint="Name the field with ?text=", where=where)
    return str(value)


def first_text(row: Mapping[str, Any], location: StoreLocation) -> Any:
    """The value of the field that `?text=` names, else of the first usual one that the row has."""
    return next((row[name] for name in (location.get("text"), *TEXT_FIELDS) if name in row), None)


def _must(value: Any, field: str, name: Any, where: str, why: str) -> Any:
    """The value of a field that holds the vector of the entry `name`."""
    if value is None:
        text = f"`{name}` holds no {field or 'vector'}; {why}."
        raise SnapshotError("snapshot.no-vector", text, where=where)
    return value


def _usual(found: list[dict[str, Any]], usual: tuple[str, ...]) -> str:
    """The first usual field that the first entry has."""
    return next((name for name in usual if found and name in found[0]), "")
