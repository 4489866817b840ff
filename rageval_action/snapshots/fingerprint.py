"""One digest of all that decides a search, whatever the order of the rows."""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rageval_action.core.model.hashing import text_hash
from rageval_action.snapshots.arrays import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rageval_action.core.model.snapshot import FloatMatrix, Manifest
    from rageval_action.core.model.types import Chunk

_DIGEST = 32


def fingerprint(manifest: Manifest, chunks: Sequence[Chunk], shards: Sequence[FloatMatrix]) -> str:
    """SHA-256 over the sorted digests of the rows and over the settings of the vectors.

    A row is its id, document, span, text hash, access and vector bytes. Metadata, chunker, build id and commit are
    left out: they do not change what a search returns.
    """
    rows = bytearray(len(chunks) * _DIGEST)
    for row, (chunk, vector) in enumerate(itertools.zip_longest(chunks, _vectors(shards), fillvalue=b"")):
        rows[row * _DIGEST : (row + 1) * _DIGEST] = _row_digest(chunk, vector)  # type: ignore[arg-type]
    settings = [
        manifest.schema_name,
        str(manifest.dimension),
        manifest.dtype,
        manifest.metric,
        manifest.model,
        manifest.revision,
        manifest.query_prefix,
        manifest.document_prefix,
    ]
    digest = hashlib.sha256(msgspec.json.encode(settings))
    digest.update(np.sort(np.frombuffer(rows, dtype=f"S{_DIGEST}")).tobytes())
    return digest.hexdigest()


def _vectors(shards: Sequence[FloatMatrix]) -> Iterator[bytes]:
    for _, block in blocks(shards):
        width = block.shape[1] * block.dtype.itemsize
        data = np.ascontiguousarray(block).tobytes()
        for start in range(0, len(data), width):
            yield data[start : start + width]


def _row_digest(chunk: Chunk, vector: bytes) -> bytes:
    described = [chunk.id, chunk.doc, chunk.start, chunk.end, text_hash(chunk.text), chunk.acl]
    digest = hashlib.sha256(msgspec.json.encode(described))
    digest.update(b"\0")
    digest.update(vector)
    return digest.digest()
