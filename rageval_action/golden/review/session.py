"""What a reviewer sees of a row and what a decision does to the file. Every decision is on disk when it returns."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from rageval_action.core.labels.evidence import locate
from rageval_action.errors import GoldenError
from rageval_action.golden.canonical import CanonicalRow
from rageval_action.golden.canonical_file import RowDict, RowFile, encode_row
from rageval_action.golden.query_builder import QueryBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rageval_action.core.model.types import Chunk

State: TypeAlias = Literal["accepted", "rejected", "pending"]

MOST_PASSAGES = 12
"""Passages shown for one row; a document of many chunks is cut here, and the page says so."""


class Piece(Struct, frozen=True):
    """A part of a passage; `marked` when it is the quote."""

    text: str
    marked: bool = False


class Passage(Struct, frozen=True, kw_only=True):
    """A text that the row says is relevant.

    Attributes:
        place: position among the row's evidence items, -1 for a judged id.
        found: whether the quote was found in a chunk; without a snapshot it is not looked for.
    """

    doc: str
    chunk: str
    grade: int
    place: int
    found: bool
    pieces: tuple[Piece, ...]


class Summary(Struct, frozen=True, kw_only=True):
    """A row in the list."""

    id: str
    query: str
    review: str
    source: str
    type: str


class Detail(Struct, frozen=True, kw_only=True):
    """A row in full, with the passages that should be found."""

    id: str
    query: str
    review: str
    answerable: bool
    tags: tuple[str, ...]
    type: str
    lang: str
    source: str
    line: int
    passages: tuple[Passage, ...]
    left_out: int
    facts: tuple[tuple[str, str], ...]


class Change(Struct, frozen=True, kw_only=True):
    """What a reviewer decided: a state, and with an edit the new question, tags and the evidence to keep."""

    review: State
    query: str = ""
    tags: tuple[str, ...] | None = None
    keep: tuple[int, ...] | None = None


class Session:
    """One file under review.

    Args:
        path: canonical golden set.
        chunks: of the snapshot; empty = only the quotes themselves can be shown.
        reviewer: put into the provenance of every row decided; may be empty.
    """

    def __init__(self, path: Path, chunks: Sequence[Chunk], reviewer: str = "") -> None:
        self._file = RowFile.open(path)
        self._reviewer = reviewer
        self._by_id = {chunk.id: chunk for chunk in chunks}
        self._by_doc: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            self._by_doc.setdefault(chunk.doc, []).append(chunk)
        self._lines = {str(row["id"]): line for line, row in enumerate(self._file, start=1)}
        self._before: dict[str, RowDict] = {}
        self._digest = _digest(path)
        self._lock = threading.Lock()

    @property
    def path(self) -> Path:
        """The file under review."""
        return self._file.path

    def rows(self) -> list[Summary]:
        """Every row, in file order."""
        return [
            Summary(
                id=str(row["id"]),
                query=str(row["query"]),
                review=_state(row),
                source=str(row.get("source", "unknown")),
                type=str(row.get("type", "")),
            )
            for row in self._file
        ]

    def counts(self) -> dict[str, int]:
        """How many rows are accepted, rejected and pending."""
        counts = Counter(_state(row) for row in self._file)
        return {state: counts[state] for state in ("accepted", "rejected", "pending")}

    def detail(self, name: str) -> Detail:
        """One row with its passages.

        Raises:
            GoldenError: `review.no-such-row`.
        """
        row = self._row(name)
        passages = [*self._quoted(row), *self._judged(row)]
        return Detail(
            id=name,
            query=str(row["query"]),
            review=_state(row),
            answerable=bool(row.get("answerable", True)),
            tags=tuple(row.get("tags", ())),
            type=str(row.get("type", "")),
            lang=str(row.get("lang", "")),
            source=str(row.get("source", "unknown")),
            line=self._lines[name],
            passages=tuple(passages[:MOST_PASSAGES]),
            left_out=max(0, len(passages) - MOST_PASSAGES),
            facts=tuple(_facts(row)),
        )

    def decide(self, name: str, change: Change) -> Detail:
        """Apply a decision and write the file.

        Raises:
            GoldenError: `review.no-such-row`; `review.changed-outside` when somebody else wrote the file meanwhile;
                `golden.bad-row` when an edit leaves a row that cannot be used.
        """
        with self._lock:
            if _digest(self.path) != self._digest:
                raise GoldenError(
                    "review.changed-outside",
                    "the file was changed by somebody else since it was opened.",
                    hint="Stop and start the review again; what you decided so far is in the file.",
                    where=str(self.path),
                )
            before = self._row(name)
            row = self._changed(before, change)
            _check(row, str(self.path), self._lines[name])
            self._before.setdefault(name, before)
            self._file.replace(name, row)
            self._file.save()
            self._digest = _digest(self.path)
        return self.detail(name)

    def undo(self, name: str) -> Detail:
        """Put a row back as it was when the review began."""
        with self._lock:
            if name in self._before:
                self._file.replace(name, self._before.pop(name))
                self._file.save()
                self._digest = _digest(self.path)
        return self.detail(name)

    def _row(self, name: str) -> RowDict:
        if name not in self._file:
            raise GoldenError("review.no-such-row", f'there is no row "{name}".', where=str(self.path))
        return self._file[name]

    def _changed(self, before: RowDict, change: Change) -> RowDict:
        row = {**before, "review": change.review}
        provenance = dict(row.get("provenance", {}))
        text = change.query.strip()
        if text and text != before["query"]:
            provenance.setdefault("edited_from", before["query"])
            row["query"] = text
        if change.tags is not None:
            row["tags"] = list(dict.fromkeys(tag.strip() for tag in change.tags if tag.strip()))
        if change.keep is not None and before.get("evidence"):
            row["evidence"] = [item for place, item in enumerate(before["evidence"]) if place in change.keep]
        if self._reviewer:
            provenance["reviewed_by"] = self._reviewer
        if provenance:
            row["provenance"] = provenance
        return row

    def _quoted(self, row: RowDict) -> list[Passage]:
        return [
            self._evidence(place, str(item["doc"]), str(item["quote"]))
            for place, item in enumerate(row.get("evidence", ()))
        ]

    def _evidence(self, place: int, doc: str, quote: str) -> Passage:
        """The first chunk of the document that holds the quote, with the quote marked."""
        for chunk in self._by_doc.get(doc, ()):
            places = locate(quote, chunk.text)
            if places:
                start, end = places[0]
                pieces = (
                    Piece(chunk.text[:start]),
                    Piece(chunk.text[start:end], marked=True),
                    Piece(chunk.text[end:]),
                )
                shown = tuple(piece for piece in pieces if piece.text)
                return Passage(doc=doc, chunk=chunk.id, grade=1, place=place, found=True, pieces=shown)
        found = not self._by_id
        return Passage(
            doc=doc, chunk="", grade=1, place=place, found=found, pieces=(Piece(quote, marked=True),)
        )

    def _judged(self, row: RowDict) -> list[Passage]:
        relevant = row.get("relevant", {})
        grades = relevant if isinstance(relevant, dict) else {str(name): 1 for name in relevant}
        for group in row.get("any_of", ()):
            grades = {**{str(name): 1 for name in group}, **grades}
        found: list[Passage] = []
        quoted = {str(item["doc"]) for item in row.get("evidence", ())}
        for name, grade in grades.items():
            if str(name) in quoted:
                continue
            chunk = self._by_id.get(str(name))
            members = [chunk] if chunk is not None else self._by_doc.get(str(name), [])
            found += [
                Passage(
                    doc=one.doc, chunk=one.id, grade=grade, place=-1, found=True, pieces=(Piece(one.text),)
                )
                for one in members
            ]
            if not members:
                missing = not self._by_id
                found.append(
                    Passage(doc=str(name), chunk="", grade=grade, place=-1, found=missing, pieces=())
                )
        return found


def _state(row: RowDict) -> str:
    return str(row.get("review", "accepted"))


def _facts(row: RowDict) -> list[tuple[str, str]]:
    """What is known of how the row came about, for the reviewer: name and value."""
    provenance: dict[str, Any] = row.get("provenance", {})
    facts: list[tuple[str, str]] = [
        (name, str(provenance[name]))
        for name in ("model", "prompt", "critic", "edited_from")
        if name in provenance
    ]
    scores = provenance.get("scores", {})
    if "overlap" in scores:
        facts.append(("word overlap", f"{scores['overlap']:.0%}"))
    facts += [
        (f"rank by {name}", str(rank) if rank else "not found")
        for name, rank in provenance.get("ranks", {}).items()
    ]
    return facts


def _check(row: RowDict, path: str, line: int) -> None:
    """Refuse an edit that leaves no usable row."""
    builder = QueryBuilder(path)
    builder.add(msgspec.json.decode(encode_row(row), type=CanonicalRow), line)
    builder.problems.raise_if_any()


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest() if path.exists() else b""
