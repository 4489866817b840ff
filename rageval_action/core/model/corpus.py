"""What a record remembers of a corpus: 64-bit hashes, who may read what, and the questions they still answer later.

They tell "gone", "renamed" and "re-chunked" apart without the old corpus, and hold a later run to its access lists.
`corpus.npz` is read by hand: a record is untrusted, and the only arrays it may hold are rows of uint64, so nothing is
left to a general reader.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.model.access_names import AccessList, Asker, access_list_of
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import Chunk, ChunkAcl, Unit
from rageval_action.errors import RecordError
from rageval_action.zip_reader import ZipError, ZipLimits, open_zip

CORPUS_BYTES = 2 << 30
"""Most bytes that all columns together may unpack to (67 million chunks)."""

COLUMNS = ("ids", "docs", "texts", "access", "lists")

LATER = ("access", "lists")
"""Columns that a record of an older version does not have."""

Hashes = NDArray[np.uint64]

_NO_HASHES: Hashes = np.zeros(0, dtype=np.uint64)

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(rb"\{'descr': '<u8', 'fortran_order': False, 'shape': \((0|[1-9][0-9]{0,11}),\), \} *\n")


class Corpus(Struct, frozen=True, kw_only=True):
    """64-bit hashes of the corpus, one entry a chunk, sorted, so that storage order does not show.

    Attributes:
        ids, docs, texts: shape (chunks,), dtype uint64; entry i of each belongs to one chunk.
        access: shape (chunks,), dtype uint64: 0 = everybody may read it, n = `lists[n - 1]` says who. Empty in records
            that kept no lists.
        lists: the distinct access lists, each once.
    """

    ids: Hashes
    docs: Hashes
    texts: Hashes
    access: Hashes = _NO_HASHES
    lists: tuple[AccessList, ...] = ()


def hash64(text: str) -> int:
    """The 64-bit hash that `corpus.npz` holds: the same bits as `text_hash`."""
    return int(text_hash(text), 16)


def corpus_of(chunks: Iterable[Chunk]) -> Corpus:
    """Hash every chunk; rows are sorted by (id, document, text) hash."""
    known: dict[str, int] = {}
    lists: dict[AccessList, int] = {}

    def once(text: str) -> int:
        if text not in known:
            known[text] = hash64(text)
        return known[text]

    def listed(acl: ChunkAcl | None) -> int:
        return 0 if acl is None else lists.setdefault(access_list_of(acl), len(lists) + 1)

    rows = np.array(
        [(hash64(c.id), once(c.doc), hash64(c.text), listed(c.acl)) for c in chunks], dtype=np.uint64
    ).reshape(-1, 4)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    ids, docs, texts, access = (rows[:, at].copy() for at in range(4))
    return Corpus(ids=ids, docs=docs, texts=texts, **_in_order(access, tuple(lists)))


def _in_order(access: Hashes, lists: tuple[AccessList, ...]) -> dict[str, Any]:
    """The lists sorted, so that storage order does not show in their numbers."""
    order = sorted(range(len(lists)), key=lambda at: _plain(lists[at]))
    places = np.zeros(len(lists) + 1, dtype=np.uint64)
    places[[at + 1 for at in order]] = np.arange(1, len(lists) + 1, dtype=np.uint64)
    return {"access": places[access.astype(np.intp)], "lists": tuple(lists[at] for at in order)}


def _plain(one: AccessList) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return one.tenant, one.principals, one.groups


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
        return _within(self._by_text[0], int(text, 16))

    def has_document(self, hashed: int) -> bool:
        """True when the corpus has the document of this hash."""
        return _within(self._docs[0], hashed)

    def carriers(self, texts: Iterable[str], unit: Unit) -> frozenset[int]:
        """Hashes of the documents (any other unit: of the chunks) that have a chunk with one of these texts."""
        column = self._corpus.docs if unit == "document" else self._corpus.ids
        found = [column[_equal(self._by_text, int(text, 16))] for text in texts]
        return frozenset(value for part in found for value in part.tolist())

    def texts_of(self, hashed: int) -> frozenset[str]:
        """The texts of the document with this hash."""
        rows = _equal(self._docs, hashed)
        return frozenset(f"{value:016x}" for value in self._corpus.texts[rows].tolist())

    def has_id(self, hashed: int, unit: Unit) -> bool:
        """True when the corpus has the document (any other unit: the chunk) of this hash."""
        return _within((self._docs if unit == "document" else self._ids)[0], hashed)

    @property
    def keeps_access(self) -> bool:
        """False for a record that kept no access lists."""
        return self._corpus.access.size == self._corpus.ids.size

    def admits(self, who: Asker, *, text: str, chunk: str, doc: str) -> bool:
        """True when this corpus let `who` read what a later hit holds.

        The chunks of the hit's text say so, any of them; else those of its id; else all chunks of its document. What
        this corpus did not have in any of these ways was not forbidden.
        """
        if not self._corpus.lists:
            return True
        by_text = _equal(self._by_text, int(text, 16)) if text else _NO_ROWS
        rows = by_text if by_text.size else _equal(self._ids, hash64(chunk))
        if rows.size:
            return any(self._open(row, who) for row in rows.tolist())
        return all(self._open(row, who) for row in _equal(self._docs, hash64(doc)).tolist())

    def _open(self, row: int, who: Asker) -> bool:
        number = int(self._corpus.access[row])
        return not number or self._corpus.lists[number - 1].admits(who)

    def _rows(self, name: str, unit: Unit) -> NDArray[np.intp]:
        return _equal(self._docs if unit == "document" else self._ids, hash64(name))

    @cached_property
    def _by_text(self) -> tuple[Hashes, NDArray[np.intp]]:
        return _sorted(self._corpus.texts)

    @cached_property
    def _ids(self) -> tuple[Hashes, NDArray[np.intp]]:
        return _sorted(self._corpus.ids)

    @cached_property
    def _docs(self) -> tuple[Hashes, NDArray[np.intp]]:
        return _sorted(self._corpus.docs)


def _sorted(column: Hashes) -> tuple[Hashes, NDArray[np.intp]]:
    """A column in order with the positions its values come from; a record's own order is not relied on."""
    order = np.argsort(column, kind="stable")
    return column[order], order


_NO_ROWS = np.zeros(0, dtype=np.intp)


def _equal(index: tuple[Hashes, NDArray[np.intp]], value: int) -> NDArray[np.intp]:
    """Positions of `value`, by an index of `_sorted`."""
    column, order = index
    wanted = np.uint64(value)
    return order[np.searchsorted(column, wanted) : np.searchsorted(column, wanted, side="right")]


def _within(column: Hashes, value: int) -> bool:
    place = np.searchsorted(column, np.uint64(value))
    return bool(place < column.size and column[place] == np.uint64(value))


def encode_corpus(corpus: Corpus) -> bytes:
    """`corpus.npz`, the same bytes for the same corpus."""
    columns = io.BytesIO()
    np.savez(
        columns,
        ids=corpus.ids,
        docs=corpus.docs,
        texts=corpus.texts,
        access=corpus.access,
        lists=np.array(list(_numbers(corpus.lists)), dtype=np.uint64),
    )
    return columns.getvalue()


def _numbers(lists: Iterable[AccessList]) -> Iterator[int]:
    """Each list as tenant (0 = none), how many principals, these, how many groups, these."""
    for one in lists:
        yield int(one.tenant or "0", 16)
        for names in (one.principals, one.groups):
            yield len(names)
            yield from (int(name, 16) for name in names)


def _lists(numbers: list[int], where: str) -> tuple[AccessList, ...]:
    """The lists that `_numbers` wrote.

    Raises:
        RecordError: `record.bad-corpus` when the numbers end within a list.
    """
    found, at = [], 0
    while at < len(numbers):
        tenant, parts = numbers[at], []
        at += 1
        for _ in range(2):
            if at >= len(numbers) or numbers[at] > len(numbers) - at - 1:
                raise RecordError("record.bad-corpus", "an access list is cut short.", where=where)
            parts.append(tuple(f"{name:016x}" for name in numbers[at + 1 : at + 1 + numbers[at]]))
            at += 1 + numbers[at]
        found.append(
            AccessList(tenant=f"{tenant:016x}" if tenant else "", principals=parts[0], groups=parts[1])
        )
    return tuple(found)


def decode_corpus(data: bytes, *, where: str, most: int = CORPUS_BYTES) -> Corpus:
    """Read `corpus.npz`, whose columns may unpack to `most` bytes together.

    Raises:
        RecordError: `record.bad-corpus`, `record.too-large`.
    """
    try:
        with open_zip(io.BytesIO(data), ZipLimits(member=most // len(COLUMNS), ratio=math.inf)) as archive:
            held = [name for name in COLUMNS if f"{name}.npy" in archive.names or name not in LATER]
            packed = {name: archive.read(f"{name}.npy") for name in held}
    except ZipError as error:
        code = "record.too-large" if error.kind == "too-large" else "record.bad-corpus"
        raise RecordError(code, f"not readable: {error}.", where=where) from error
    column = {name: _column(name, packed[name], where) if name in packed else _NO_HASHES for name in COLUMNS}
    ids, docs, texts, access = (column[name] for name in COLUMNS[:-1])
    lists = _lists(column["lists"].tolist(), where)
    if not ids.size == docs.size == texts.size:
        raise RecordError("record.bad-corpus", "the columns are not equally long.", where=where)
    if access.size not in (0, ids.size) or (access.size and int(access.max()) > len(lists)):
        raise RecordError("record.bad-corpus", "the access lists do not fit the chunks.", where=where)
    return Corpus(ids=ids, docs=docs, texts=texts, access=access, lists=lists)


def _column(name: str, data: bytes, where: str) -> Hashes:
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    header = _HEADER.fullmatch(data[start:end])
    if not data.startswith(_MAGIC) or header is None or len(data) != end + 8 * int(header[1]):
        raise RecordError("record.bad-corpus", f"{name} is not one row of uint64.", where=where)
    return np.frombuffer(data, dtype="<u8", offset=end).astype(np.uint64, copy=False)
