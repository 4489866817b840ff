"""Stores that keep everything in JSON: LlamaIndex and Haystack folders, and exports of search servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.importers.cache import through_cache
from rageval_action.snapshots.importers.place import Place, content_key
from rageval_action.snapshots.importers.table import Row, Table, first_of, matrix

MAX_BYTES = 4 << 30
TEXTS = ("text", "content", "page_content", "document", "body", "chunk", "passage")
VECTORS = ("vector", "embedding", "embeddings", "_vector", "vec")


def load_haystack(place: str) -> Snapshot:
    """`haystack:store.json`: what `InMemoryDocumentStore.save_to_disk` wrote, or a list of documents (1.x)."""
    at = Place("haystack", place)
    at.file()
    return through_cache(at, read_haystack, content_key(at))


def load_opensearch(place: str) -> Snapshot:
    """`opensearch-export:hits.jsonl`: one hit a line with `_id` and `_source` (also Elasticsearch's)."""
    at = Place("opensearch-export", place)
    at.file()
    return through_cache(at, read_opensearch, content_key(at))


def load_meilisearch(place: str) -> Snapshot:
    """`meilisearch-export:documents.json`: documents fetched with `retrieveVectors: true`."""
    at = Place("meilisearch-export", place, ("embedder",))
    at.file()
    return through_cache(at, read_meilisearch, content_key(at))


def load_qdrant(place: str) -> Snapshot:
    """`qdrant-export:points.jsonl`: points as the scroll API gives them, with payload and vector."""
    at = Place("qdrant-export", place, ("name",))
    _points_file(at)
    return through_cache(at, read_qdrant, content_key(at))


def read_haystack(place: Place) -> Table:
    """Documents with their content, meta and embedding."""
    stored = read_json(place.file())
    stored = stored if isinstance(stored, dict) else {"documents": stored}
    documents = stored.get("documents")
    if not isinstance(documents, list) or not all(isinstance(entry, dict) for entry in documents):
        raise SnapshotError("snapshot.bad-json", "there is no list of documents.", where=place.where)
    rows = [
        Row(
            id=named(entry, "id", place.where, at),
            text=text_of(entry.get("content"), f"{place.where} entry {at}"),
            metadata=object_of(entry.get("meta"), f"{place.where} entry {at}"),
        )
        for at, entry in enumerate(documents)
    ]
    parameters = object_of(stored.get("init_parameters"), place.where)
    metric = str(parameters.get("embedding_similarity_function") or "dot_product")
    return Table(
        rows=rows, vectors=matrix([entry.get("embedding") for entry in documents], place.where), metric=metric
    )


def read_opensearch(place: Place) -> Table:
    """Hits; `_source` may lack the vector when the index was told to leave it out, and then says so."""
    hits = list(entries(place.file(), "hits"))
    for at, hit in enumerate(hits):
        object_of(hit.get("_source"), f"{place.where} entry {at}")
    field = place.get("vector") or _field_of(hits, "_source", VECTORS)
    text = place.get("text") or _field_of(hits, "_source", TEXTS)
    rows, vectors = [], []
    for at, hit in enumerate(hits):
        source = dict(hit.get("_source") or {})
        vectors.append(_must(source, field, place.where, at, "the index may leave it out of _source"))
        source.pop(field, None)
        told = text_of(source.pop(text, None), f"{place.where} entry {at}")
        rows.append(Row(id=named(hit, "_id", place.where, at), text=told, metadata=source))
    return Table(rows=rows, vectors=matrix(vectors, place.where))


def read_meilisearch(place: Place) -> Table:
    """Documents with `_vectors`: `{embedder: {embeddings, regenerate}}`, or a bare list for one embedder."""
    found = list(entries(place.file(), "results"))
    held = found[0].get("_vectors") if found else None
    embedder = place.get("embedder") or next(iter(held if isinstance(held, dict) else {}), "")
    rows, vectors = [], []
    for at, entry in enumerate(found):
        document = dict(entry)
        held = _must(document, "_vectors", place.where, at, "fetch documents with retrieveVectors")
        document.pop("_vectors", None)
        value = held.get(embedder) if isinstance(held, dict) else None
        if isinstance(value, dict):
            value = value.get("embeddings")
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
            value = value[0]
        vectors.append(value)
        text = first_of(document, *filter(None, (place.get("text"), *TEXTS)))
        name = named(document, place.get("id", "id"), place.where, at)
        rows.append(Row(id=name, text=text_of(text, f"{place.where} entry {at}"), metadata=document))
    return Table(rows=rows, vectors=matrix(vectors, place.where), metric="cosine")


def read_qdrant(place: Place) -> Table:
    """Points of a scroll, one a line or in the pages as they came."""
    points = list(entries(_points_file(place), "points"))
    return points_table(points, place)


def _points_file(place: Place) -> Path:
    """The file of points; the folder of the client's local mode is named as what it is."""
    if (Path(place.where) / "meta.json").is_file():
        raise SnapshotError(
            "snapshot.needs-export",
            "this is a folder of Qdrant's local mode, which keeps pickles; it is not read.",
            hint="Write the points that client.scroll gives, with vectors and payload, as JSON lines.",
            where=place.where,
        )
    return place.file()


def points_table(points: list[dict[str, Any]], place: Place, metric: str = "") -> Table:
    """Points as rows. Ids are numbers or UUIDs there: the chunk's own id is usually in the payload (`?id=`)."""
    rows, vectors = [], []
    for at, point in enumerate(points):
        payload = object_of(point.get("payload"), f"{place.where} entry {at}")
        vector = point.get("vector")
        if isinstance(vector, dict):
            vector = vector.get(place.get("name") or next(iter(vector), ""))
        vectors.append(vector)
        text = first_of(payload, *filter(None, (place.get("text"), *TEXTS)))
        told = text_of(text, f"{place.where} entry {at}")
        rows.append(Row(id=named(point, "id", place.where, at), text=told, metadata=payload))
    return Table(rows=rows, vectors=matrix(vectors, place.where), metric=metric)


def read_json(path: Path) -> Any:
    """A JSON file of a bounded size.

    Raises:
        SnapshotError: `snapshot.too-large`, `snapshot.bad-json`, `snapshot.not-found`.
    """
    try:
        return msgspec.json.decode(_content(path))
    except (msgspec.DecodeError, RecursionError) as error:
        raise SnapshotError("snapshot.bad-json", f"this is not JSON: {error}.", where=str(path)) from None


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


def entries(path: Path, inside: str) -> Iterator[dict[str, Any]]:
    """Objects of a file: a JSON array, JSON lines, or API answers that hold them in a list called `inside`."""
    with path.open("rb") as stream:
        start = stream.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n")
    values: Iterable[Any] = read_json(path) if start.startswith(b"[") else _lines(path)
    for at, value in enumerate(values):
        if not isinstance(value, dict):
            raise SnapshotError("snapshot.bad-json", "an entry is not an object.", where=f"{path} entry {at}")
        yield from _unwrapped(value, inside)


def _unwrapped(value: dict[str, Any], inside: str) -> Iterable[dict[str, Any]]:
    """`{"result": {"points": […]}}`, `{"hits": {"hits": […]}}`, `{"results": […]}`, or the object itself."""
    for holder in (value, value.get("result"), value.get("hits")):
        if isinstance(holder, dict) and isinstance(holder.get(inside), list):
            return [entry for entry in holder[inside] if isinstance(entry, dict)]
    return [value]


def _lines(path: Path) -> Iterator[Any]:
    data = _content(path)
    try:
        return iter([msgspec.json.decode(data)])
    except (msgspec.DecodeError, RecursionError):
        pass
    return _each(data, path)


def _each(data: bytes, path: Path) -> Iterator[Any]:
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise SnapshotError(
                "snapshot.bad-json", f"not JSON: {error}.", where=f"{path}:{number}"
            ) from None


def named(entry: Mapping[str, Any], field: str, where: str, at: int) -> str:
    """An entry's id as text."""
    value = entry.get(field)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise SnapshotError("snapshot.bad-chunk", f"it has no {field}.", where=f"{where} entry {at}")
    return str(value)


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


def _must(entry: Mapping[str, Any], field: str, where: str, at: int, why: str) -> Any:
    if entry.get(field) is None:
        place = f"{where} entry {at}"
        raise SnapshotError("snapshot.no-vector", f"it holds no {field or 'vector'}; {why}.", where=place)
    return entry[field]


def _field_of(found: list[dict[str, Any]], inside: str, usual: tuple[str, ...]) -> str:
    """The first usual field that the first entry has."""
    first = (found[0].get(inside) or {}) if found else {}
    return next((name for name in usual if name in first), "")
