"""The index snapshot as values: what a loader hands to a retriever. `Manifest` is the wire format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.model.types import Chunk, Notice

Metric: TypeAlias = Literal["ip", "cosine", "l2"]
"""How vectors are compared: inner product, cosine, or Euclidean distance (smaller is nearer)."""

FloatMatrix: TypeAlias = NDArray[np.float32] | NDArray[np.float16]

Encode: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
"""Query texts -> float32 matrix of shape (len(texts), dimension), one row a text."""


class FileEntry(Struct, frozen=True, kw_only=True):
    """One file of a snapshot: `bytes` is its size, `sha256` its content."""

    sha256: str
    bytes: int


class BuildSettings(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """How the vectors were made and are to be compared: what a manifest states and no file of the snapshot shows.

    Attributes:
        model, revision: of the embedding; empty when unknown.
        query_prefix, document_prefix: put before the text when it was embedded.
        chunker: free text naming the chunker and its settings.
    """

    schema_name: Literal["rageval.snapshot/1"] = "rageval.snapshot/1"
    metric: Metric
    model: str = ""
    revision: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    chunker: str = ""
    build_id: str = ""
    source_commit: str = ""


class Manifest(BuildSettings, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """`manifest.json`.

    Attributes:
        chunks, documents: counts.
        dimension: of every vector; 0 when the snapshot holds no vectors (lexical retrieval only).
        normalised: every non-zero vector has norm 1 within 1e-3.
        shards: embedding files in row order; with their `.npy` shapes they make up all rows.
        files: every other file by name, and the shards, with size and checksum.
        fingerprint: of what decides a search (ids, documents, spans, text hashes, access, vectors, and how they were
            made and are compared), independent of row order.
    """

    chunks: int
    documents: int
    dimension: int
    dtype: Literal["float32", "float16", ""]
    normalised: bool
    shards: tuple[str, ...] = ()
    files: dict[str, FileEntry] = {}
    fingerprint: str = ""


class Snapshot(Struct, frozen=True, kw_only=True):
    """A loaded and checked snapshot.

    Attributes:
        path: as the user gave it.
        chunks: in row order.
        shards: float matrices of shape (rows, dimension), memory-mapped, in row order; their rows are `chunks`.
        query_vectors: `core.model.hashing.query_key` -> float32 vector of shape (dimension,).
        norms: smallest and largest norm of the vectors that are not zero, measured in float32; (0, 0) when nobody
            measured them.
        empty_rows: rows with a zero vector: never retrieved by a dense search, reported.
        notices: what the checks found short of an error (identical texts, zero vectors, norms that do not fit).
    """

    path: str
    manifest: Manifest
    chunks: tuple[Chunk, ...]
    shards: tuple[FloatMatrix, ...] = ()
    query_vectors: Mapping[str, NDArray[np.float32]] = {}
    norms: tuple[float, float] = (0.0, 0.0)
    empty_rows: tuple[int, ...] = ()
    notices: tuple[Notice, ...] = ()
