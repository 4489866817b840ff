"""Rows of any store as chunks of a snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.model.snapshot import BuildSettings, Metric
from rageval_action.core.model.types import Chunk, ChunkAcl, Notice
from rageval_action.core.wording.lists import plural
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.arrays import measure
from rageval_action.snapshots.importers.location import StoreLocation
from rageval_action.snapshots.manifest import IMPORTED
from rageval_action.snapshots.problems import Problems
from rageval_action.snapshots.write import Contents

DOCUMENT_FIELDS = (
    "doc", "doc_id", "document_id", "documentId", "ref_doc_id", "source_id", "parent_id", "file_path", "file_name",
    "source", "url",
)  # fmt: skip
"""Where stores keep the document of a chunk; the first that every row has is taken, and named in a notice."""

METRICS: dict[str, Metric] = {
    "ip": "ip", "dot": "ip", "dotproduct": "ip", "dot_product": "ip", "inner_product": "ip",
    "max_inner_product": "ip", "innerproduct": "ip",
    "cosine": "cosine", "cosinesimil": "cosine",
    "l2": "l2", "euclid": "l2", "euclidean": "l2", "l2_norm": "l2",
}  # fmt: skip
"""How stores call the three metrics."""


ID_FIELDS = ("id", "_id", "chunk_id", "uuid", "key")
TEXT_FIELDS = ("text", "content", "contents", "page_content", "document", "body", "chunk", "passage")
VECTOR_FIELDS = ("vector", "embedding", "embeddings", "vec", "_vector")
"""What stores usually call these fields; the first that is there is taken."""


class Row(Struct, frozen=True, kw_only=True):
    """One entry of a store."""

    id: str
    text: str = ""
    metadata: dict[str, Any] = {}
    start: int = -1
    end: int = -1
    acl: ChunkAcl | None = None


def row_of(chunk: Chunk) -> Row:
    """A chunk that was read from a file of chunks, as a row; nothing of it is lost."""
    return Row(
        id=chunk.id,
        text=chunk.text,
        metadata={**(chunk.metadata or {}), "doc": chunk.doc},
        start=chunk.start,
        end=chunk.end,
        acl=chunk.acl,
    )


class Table(Struct, frozen=True, kw_only=True):
    """A whole store.

    Attributes:
        rows: in the store's order.
        vectors: float32 of shape (rows, dimension); row i belongs to `rows[i]`.
        metric: what the store itself compares by; empty when it keeps none.
        lossy: names what made the vectors approximations, empty when they are what was put in.
    """

    rows: Sequence[Row]
    vectors: NDArray[np.floating]
    metric: str = ""
    lossy: str = ""
    notices: tuple[Notice, ...] = ()


def to_snapshot(table: Table, location: StoreLocation) -> tuple[Contents, BuildSettings, tuple[Notice, ...]]:
    """Name each row's id, document, text and access, and settle the metric.

    Raises:
        SnapshotError: `snapshot.empty`, `snapshot.count-mismatch`, `snapshot.bad-chunk`, `snapshot.duplicate-id`,
            `snapshot.bad-metric`.
    """
    where = str(location)
    if not table.rows:
        raise SnapshotError("snapshot.empty", "the store holds no rows.", where=where)
    if len(table.rows) != len(table.vectors):
        text = f"{len(table.rows)} rows stand beside {len(table.vectors)} vectors."
        raise SnapshotError("snapshot.count-mismatch", text, where=where)
    access = location.get("acl")
    if access and all(row.metadata.get(access) is None for row in table.rows):
        text = f"no row has a metadata field {access}: everybody could read everything."
        raise SnapshotError("snapshot.no-field", text, hint="Check the name after ?acl=", where=where)
    document = location.get("doc") or _document_field(table.rows)
    problems = Problems()
    chunks = tuple(_chunks(table.rows, document, location, problems))
    problems.raise_if_any()
    metric, told = _metric(table, location, where)
    settings = BuildSettings(
        metric=metric, model=location.get("model"), build_id=f"{IMPORTED}{location.scheme}"
    )
    notices = (*table.notices, *_document_notice(document, where), *told, *_lossy_notice(table, where))
    return Contents(chunks=chunks, vectors=table.vectors), settings, notices


NO_DOCUMENT = ("", "None")
"""What stores write where there is no document; LlamaIndex writes Python's None as a word."""


def _document_field(rows: Sequence[Row]) -> str:
    for name in DOCUMENT_FIELDS:
        values = [row.metadata.get(name) for row in rows]
        if all(isinstance(value, (str, int)) and value not in NO_DOCUMENT for value in values):
            return name
    return ""


def _document_notice(field: str, where: str) -> tuple[Notice, ...]:
    text = f"the metadata field {field} names each chunk's document" if field else (
        "no metadata field names the chunks' documents, so each chunk is its own; name one with ?doc="
    )  # fmt: skip
    return (Notice(code="snapshot.document-field", text=text, where=where),)


def _lossy_notice(table: Table, where: str) -> tuple[Notice, ...]:
    if not table.lossy:
        return ()
    text = f"the vectors are approximations of those that were put in: {table.lossy}"
    return (Notice(code="snapshot.lossy-index", text=text, where=where),)


def _chunks(
    rows: Sequence[Row], document: str, location: StoreLocation, problems: Problems
) -> Iterator[Chunk]:
    seen: dict[str, int] = {}
    for number, row in enumerate(rows):
        at = f"{location} row {number}"
        name = _named(row, location.get("id"), row.id, at, problems)
        if seen.setdefault(name, number) != number:
            problems.add("snapshot.duplicate-id", at, f'the id "{name}" is that of row {seen[name]} too.')
        doc = _named(row, document, name, at, problems)
        yield Chunk(
            id=name,
            doc=doc,
            text=str(row.metadata.get(location.get("text"), row.text)),
            start=row.start,
            end=row.end,
            acl=_acl(row, location.get("acl"), at, problems) or row.acl,
            metadata=row.metadata or msgspec.UNSET,
        )


def _named(row: Row, field: str, default: str, where: str, problems: Problems) -> str:
    """The value of a field as an id."""
    if not field:
        return default
    value = row.metadata.get(field)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        problems.add("snapshot.bad-chunk", where, f"its metadata field {field} holds no id.")
        return default
    return str(value)


def _acl(row: Row, field: str, where: str, problems: Problems) -> ChunkAcl | None:
    """Who may read the row; a row without the field is open, one that cannot be read is a problem."""
    if not field or row.metadata.get(field) is None:
        return None
    value = row.metadata[field]
    try:
        if isinstance(value, str):
            value = json.loads(value)
        return msgspec.convert(value, ChunkAcl)
    except (ValueError, msgspec.ValidationError):
        text = f"its metadata field {field} is not of the form {{tenant, principals, groups}}."
        problems.add("snapshot.bad-chunk", where, text)
        return None


def _metric(table: Table, location: StoreLocation, where: str) -> tuple[Metric, tuple[Notice, ...]]:
    """The store's metric unless one was given; measured norms say what that means."""
    given, own = location.get("metric").lower(), table.metric.lower()
    for name in (given, own):
        if name and name not in METRICS:
            text = f'the metric "{name}" is none of {", ".join(sorted(METRICS))}.'
            raise SnapshotError("snapshot.bad-metric", text, hint="Give one with ?metric=", where=where)
    chosen = METRICS[given or own or "cosine"]
    measured = measure((table.vectors,))
    told = [f"norms {measured.smallest:.4g} to {measured.largest:.4g}"]
    if not given and not own:
        told.append("the store keeps no metric: cosine is taken, ?metric= sets another")
    elif given and own and METRICS[given] != METRICS[own]:
        told.append(f"the store compares by {METRICS[own]}, {chosen} was asked for")
    told.append(
        "all metrics rank alike"
        if measured.is_unit
        else f"{chosen} ranks otherwise than the other metrics would"
    )
    return chosen, (
        Notice(code="snapshot.metric", text=f"compared by {chosen}: {'; '.join(told)}", where=where),
    )


def matrix(vectors: Sequence[object], where: str, rows: Sequence[Row]) -> NDArray[np.float32]:
    """Lists of numbers as a matrix; `rows` are those that the vectors belong to, named in messages.

    Raises:
        SnapshotError: `snapshot.empty`; `snapshot.no-vector` for a row that has none, `snapshot.dimension-mismatch`
            naming both sizes, `snapshot.bad-array` for anything but numbers.
    """
    if not rows:
        raise SnapshotError("snapshot.empty", "the store holds no rows.", where=where)
    width = -1
    for number, (row, vector) in enumerate(zip(rows, vectors, strict=True)):
        at = f"{where} row {number}"
        if vector is None or (isinstance(vector, (list, tuple, np.ndarray)) and len(vector) == 0):
            raise SnapshotError("snapshot.no-vector", f"`{row.id}` has no vector.", where=at)
        if not isinstance(vector, (list, tuple, np.ndarray)):
            text = f"the vector of `{row.id}` is a {type(vector).__name__}, not a list of numbers."
            raise SnapshotError("snapshot.bad-array", text, where=at)
        width = len(vector) if width < 0 else width
        if len(vector) != width:
            text = f"the vector of `{row.id}` has {plural(len(vector), 'dimension')}, those before it have {width}."
            raise SnapshotError("snapshot.dimension-mismatch", text, where=at)
    try:
        made = np.array(vectors, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        made = np.empty(0, dtype=np.float32)
    if made.ndim != 2:
        number = next(at for at, vector in enumerate(vectors) if not _is_numbers(vector))
        text = f"the vector of `{rows[number].id}` holds something that is no number."
        raise SnapshotError("snapshot.bad-array", text, where=f"{where} row {number}")
    return made


def _is_numbers(vector: object) -> bool:
    try:
        return np.array(vector, dtype=np.float32).ndim == 1
    except (TypeError, ValueError, OverflowError):
        return False
