"""A finding of the audit, and the passages that the checks compare a query with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from rageval_action.golden.corpus_lookup import CorpusLookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rageval_action.core.model.types import Chunk, GoldenSet, Query

Severity: TypeAlias = Literal["error", "warning", "info"]
"""`error`: scores would be wrong or missing; `warning`: worth mending; `info`: worth knowing."""


class Row(Struct, frozen=True, kw_only=True):
    """One row that a finding is about: its id, line (of `file`, where there are several), and what was seen there."""

    id: str
    line: int
    detail: str = ""
    file: str = ""


class Finding(Struct, frozen=True, kw_only=True):
    """What a check found.

    Attributes:
        code: stable name.
        text: one sentence with the count.
        hint: what to do.
        rows: the rows concerned, in file order; empty when the finding is about the whole set.
    """

    code: str
    severity: Severity
    text: str
    hint: str = ""
    rows: tuple[Row, ...] = ()


def about(
    rows: Iterable[Row], code: str, text: str, *, hint: str = "", severity: Severity = "warning"
) -> Iterator[Finding]:
    """A finding about these rows, its text led by their number; none when there are no rows."""
    found = tuple(rows)
    if found:
        yield Finding(code=code, severity=severity, text=f"{len(found)} {text}", hint=hint, rows=found)


class Subject:
    """A golden set with the corpus it is checked against; without one, `chunks` is empty."""

    def __init__(self, golden: GoldenSet, chunks: Sequence[Chunk]) -> None:
        self.golden = golden
        self.queries = golden.queries
        self.corpus = CorpusLookup(chunks)
        self._by_id = {chunk.id: chunk for chunk in chunks}
        self._by_doc: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            self._by_doc.setdefault(chunk.doc, []).append(chunk)

    def chunks_of(self, doc: str) -> list[Chunk]:
        """Chunks of a document."""
        return self._by_doc.get(doc, [])

    def passages(self, query: Query) -> list[str]:
        """Texts that the query should find: its quotes, else the texts of its relevant chunks and documents."""
        if query.evidence:
            return [self._around(item.doc, item.quote) for item in query.evidence]
        wanted = [name for name, grade in query.relevant.items() if grade > 0]
        wanted += [name for group in query.any_of for name in group]
        found = [self._by_id[name].text for name in wanted if name in self._by_id]
        return found + [
            "\n".join(chunk.text for chunk in self._by_doc[name])
            for name in wanted
            if name in self._by_doc and name not in self._by_id
        ]

    def _around(self, doc: str, quote: str) -> str:
        """The chunk that holds a quote, since its neighbourhood gives a question away as well; else the quote."""
        return next((chunk.text for chunk in self.chunks_of(doc) if quote in chunk.text), quote)


def row(query: Query, detail: str = "") -> Row:
    """A query as a row of a finding."""
    return Row(id=query.id, line=query.line, detail=detail, file=query.file)
