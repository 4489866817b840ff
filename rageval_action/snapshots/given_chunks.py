"""Reads a file of chunks that people or other programs wrote: a JSON object a line, tolerant where nothing is lost."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from rageval_action.core.model.types import Chunk, ChunkAcl, Notice
from rageval_action.core.wording.lists import listed
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.chunk_lines import BOM, decode_each, explain
from rageval_action.snapshots.problems import Problems, refuse_pointer
from rageval_action.snapshots.row_checks import name_repeats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Given = str | int | UnsetType
"""An id as people write it: text, or a number."""


class GivenRow(msgspec.Struct, frozen=True, kw_only=True):
    """What `snapshot build` needs of a row; the rest of the row becomes metadata."""

    id: Given = UNSET
    beir_id: Given = msgspec.field(default=UNSET, name="_id")
    doc: Given = UNSET
    text: str
    start: int = -1
    end: int = -1
    acl: ChunkAcl | None = None
    metadata: dict[str, object] = {}


_NEAR_ACL = ("acl", "acls")
_KNOWN = frozenset(GivenRow.__struct_encode_fields__)


class GivenChunks(msgspec.Struct, frozen=True, kw_only=True):
    """The chunks of a file in its order, and what a reader of the result should know."""

    chunks: tuple[Chunk, ...]
    notices: tuple[Notice, ...]


def read_given_chunks(path: Path) -> GivenChunks:
    """Read `{"id", "doc", "text", "start"?, "end"?, "acl"?, "metadata"?}` rows.

    `doc` defaults to the id, `_id` stands for `id`, numbers as ids become text, any other field (a title, say) goes
    to the metadata; each of these is said once in a notice.

    Raises:
        SnapshotError: `snapshot.not-found`, `snapshot.lfs-pointer`, `snapshot.empty`, `snapshot.bad-chunk` or
            `snapshot.duplicate-id`; up to 20 problems with their lines.
    """
    where = str(path)
    data = _load(path, where)
    reader = _Reader(where)
    rows = list(reader.rows(data))
    name_repeats([chunk.id for _, chunk in rows], [line for line, _ in rows], where, reader.problems)
    reader.problems.raise_if_any()
    if not rows:
        raise SnapshotError("snapshot.empty", "the corpus holds no chunks.", where=where)
    return GivenChunks(chunks=tuple(chunk for _, chunk in rows), notices=reader.notices())


A_FILE = 'Give a file of chunks, one JSON object a line: {"id": …, "doc": …, "text": …}.'


def _load(path: Path, where: str) -> bytes:
    if path.is_dir():
        raise SnapshotError(
            "snapshot.not-found", "the corpus is a folder, not a file.", hint=A_FILE, where=where
        )
    if not path.is_file():
        raise SnapshotError("snapshot.not-found", "there is no such corpus file.", where=where)
    data = path.read_bytes()
    refuse_pointer(data, "the chunks", where)
    return data.removeprefix(BOM)


class _Reader:
    """Turns lines into chunks and counts what was changed on the way."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.problems = Problems()
        self._moved: Counter[str] = Counter()
        self._numbers = 0
        self._folded = 0
        self._without_doc = 0

    def rows(self, data: bytes) -> Iterator[tuple[int, Chunk]]:
        """Line number and chunk of every good line."""
        decode = msgspec.json.Decoder(dict[str, object]).decode
        for line, raw in decode_each(data, decode, self.where, self.problems):
            try:
                yield line, self._chunk(raw)
            except (msgspec.ValidationError, ValueError) as error:
                text = explain(error) if isinstance(error, msgspec.ValidationError) else str(error)
                self.problems.add("snapshot.bad-chunk", f"{self.where}:{line}", text)

    def _chunk(self, raw: dict[str, object]) -> Chunk:
        row = msgspec.convert(raw, GivenRow)
        given = row.id if row.id is not UNSET else row.beir_id
        if given is UNSET:
            raise ValueError("the row has no `id`.")
        name = self._text(given, "id")
        if row.doc is UNSET:
            self._without_doc += 1
        extra = {field: value for field, value in raw.items() if field not in _KNOWN}
        for field in extra:
            if field.strip().lower() in _NEAR_ACL:
                raise ValueError(
                    f"`{field}` is not a field; access goes into `acl`, or everyone may see the chunk."
                )
        self._moved.update(list(extra))
        return Chunk(
            id=name,
            doc=name if row.doc is UNSET else self._text(row.doc, "doc"),
            text=row.text,
            start=row.start,
            end=row.end,
            acl=row.acl,
            metadata={**row.metadata, **extra} or UNSET,
        )

    def _text(self, given: object, field: str) -> str:
        if not isinstance(given, str):
            self._numbers += 1
            given = str(given)
        folded = unicodedata.normalize("NFC", given)
        self._folded += folded != given
        if not folded:
            raise ValueError(f"`{field}` is empty.")
        return folded

    def notices(self) -> tuple[Notice, ...]:
        """What was changed, a sentence each."""
        said = []
        if self._numbers:
            said.append(("snapshot.integer-ids", f"{self._numbers} ids are numbers; they were read as text."))
        if self._folded:
            said.append(
                ("snapshot.id-form", f"{self._folded} ids were not in Unicode form NFC; now they are.")
            )
        if self._without_doc:
            text = f"{self._without_doc} rows name no `doc`; each is its own document."
            said.append(("snapshot.no-doc", text))
        if self._moved:
            text = f"Fields kept as metadata, not embedded: {listed(list(self._moved), 5)}."
            said.append(("snapshot.extra-fields", text))
        return tuple(Notice(code=code, text=text, where=self.where) for code, text in said)
