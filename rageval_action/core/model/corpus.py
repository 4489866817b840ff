"""What a record remembers of a corpus: 64-bit hashes, and the questions they still answer later.

They tell "gone", "renamed" and "re-chunked" apart without the old corpus. `corpus.npz` is read by hand: a record is
untrusted, and the only array it may hold is a row of uint64, so nothing is left to a general reader.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import Chunk, Unit
from rageval_action.errors import RecordError
from rageval_action.zip_reader import ZipError, ZipLimits, open_zip

CORPUS_BYTES = 2 << 30
"""Most bytes the three hash columns may unpack to (89 million chunks)."""

COLUMNS = ("ids", "docs", "texts")

Hashes = NDArray[np.uint64]

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(rb"\{'descr': '<u8', 'fortran_order': False, 'shape': \((0|[1-9][0-9]{0,11}),\), \} *\n")


class Corpus(Struct, frozen=True, kw_only=True):
    """64-bit hashes of the corpus, one entry a chunk, sorted, so that storage order does not show.

    Each array has shape (chunks,) and dtype uint64; entry i of the three belongs to one chunk.
    """

    ids: Hashes
    docs: Hashes
    texts: Hashes


def hash64(text: str) -> int:
    """The 64-bit hash that `corpus.npz` holds: the same bits as `text_hash`."""
    return int(text_hash(text), 16)


def corpus_of(chunks: Iterable[Chunk]) -> Corpus:
    """Hash every chunk; rows are sorted by (id, document, text) hash."""
    known: dict[str, int] = {}

    def once(text: str) -> int:
        if text not in known:
            known[text] = hash64(text)
        return known[text]

    rows = np.array(
        [(hash64(chunk.id), once(chunk.doc), hash64(chunk.text)) for chunk in chunks], dtype=np.uint64
    ).reshape(-1, 3)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    return Corpus(ids=rows[:, 0].copy(), docs=rows[:, 1].copy(), texts=rows[:, 2].copy())


class Lookup:
    """Answers about one corpus, each in logarithmic time. Texts are named by their `text_hash`."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def holds(self, name: str, unit: Unit) -> bool:
        """True when the corpus has a document (any other unit: a chunk) of this id."""
        return self._rows(name, unit).size > 0

    def texts(self, name: str, unit: Unit) -> frozenset[str]:
        """The texts of a document's chunks, or of one chunk; empty when the corpus does not hold it."""
        rows = self._rows(name, unit)
        return frozenset(f"{value:016x}" for value in self._corpus.texts[rows].tolist())

    def documents(self, name: str, unit: Unit) -> frozenset[int]:
        """Hashes of the documents that a judged id belongs to."""
        return frozenset(self._corpus.docs[self._rows(name, unit)].tolist())

    def carries(self, text: str) -> bool:
        """True when some chunk has this text."""
        return _within(self._texts, int(text, 16))

    def has_document(self, hashed: int) -> bool:
        """True when the corpus has the document of this hash."""
        return _within(self._docs[0], hashed)

    def _rows(self, name: str, unit: Unit) -> NDArray[np.intp]:
        column, order = self._docs if unit == "document" else self._ids
        wanted = np.uint64(hash64(name))
        return order[np.searchsorted(column, wanted) : np.searchsorted(column, wanted, side="right")]

    @cached_property
    def _ids(self) -> tuple[Hashes, NDArray[np.intp]]:
        return _sorted(self._corpus.ids)

    @cached_property
    def _docs(self) -> tuple[Hashes, NDArray[np.intp]]:
        return _sorted(self._corpus.docs)

    @cached_property
    def _texts(self) -> Hashes:
        return np.sort(self._corpus.texts)


def _sorted(column: Hashes) -> tuple[Hashes, NDArray[np.intp]]:
    """A column in order with the positions its values come from; a record's own order is not relied on."""
    order = np.argsort(column, kind="stable")
    return column[order], order


def _within(column: Hashes, value: int) -> bool:
    place = np.searchsorted(column, np.uint64(value))
    return bool(place < column.size and column[place] == np.uint64(value))


def encode_corpus(corpus: Corpus) -> bytes:
    """`corpus.npz`, the same bytes for the same corpus."""
    columns = io.BytesIO()
    np.savez(columns, ids=corpus.ids, docs=corpus.docs, texts=corpus.texts)
    return columns.getvalue()


def decode_corpus(data: bytes, *, where: str, most: int = CORPUS_BYTES) -> Corpus:
    """Read `corpus.npz`, whose columns may unpack to `most` bytes together.

    Raises:
        RecordError: `record.bad-corpus`, `record.too-large`.
    """
    try:
        with open_zip(io.BytesIO(data), ZipLimits(member=most // 3, ratio=math.inf)) as archive:
            packed = [(name, archive.read(f"{name}.npy")) for name in COLUMNS]
    except ZipError as error:
        code = "record.too-large" if error.kind == "too-large" else "record.bad-corpus"
        raise RecordError(code, f"not readable: {error}.", where=where) from error
    ids, docs, texts = (_column(name, column, where) for name, column in packed)
    if not ids.size == docs.size == texts.size:
        raise RecordError("record.bad-corpus", "the three columns are not equally long.", where=where)
    return Corpus(ids=ids, docs=docs, texts=texts)


def _column(name: str, data: bytes, where: str) -> Hashes:
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    header = _HEADER.fullmatch(data[start:end])
    if not data.startswith(_MAGIC) or header is None or len(data) != end + 8 * int(header[1]):
        raise RecordError("record.bad-corpus", f"{name} is not one row of uint64.", where=where)
    return np.frombuffer(data, dtype="<u8", offset=end).astype(np.uint64, copy=False)
