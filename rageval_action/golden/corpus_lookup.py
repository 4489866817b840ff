"""Finds in the chunks of a snapshot what a golden set names by text, span, page, prefix or row number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_action.core.labels.tokens import fold_case
from rageval_action.core.model.types import Chunk, Evidence
from rageval_action.golden.query_builder import RowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.golden.field_values import Span

_PAGE_KEYS = ("page", "page_number", "page_num", "page_label", "pages")
_TEXT_SHARE = 0.5
"""A chunk inside a longer passage stands for it when it is at least this share of the passage."""


class CorpusLookup:
    """Chunks, indexed by what golden sets ask for. Texts are compared after `golden.shared_words.fold`."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        self.ids = {chunk.id for chunk in chunks}
        self.docs = {chunk.doc for chunk in chunks}
        self._folded: list[str] = []
        self._by_doc: dict[str, list[Chunk]] = {}
        self._by_text: dict[str, Chunk] = {}

    def __bool__(self) -> bool:
        return bool(self.chunks)

    def evidence_for(self, text: str) -> Evidence:
        """The evidence item that stands for a passage quoted without its document.

        Raises:
            RowError: no chunk holds the passage, nor is most of it one chunk.
        """
        wanted = fold_case(text)
        self._index_texts()
        whole = self._by_text.get(wanted)
        if whole is not None:
            return Evidence(doc=whole.doc, quote=whole.text)
        best: tuple[int, Chunk] | None = None
        for chunk, folded in zip(self.chunks, self._folded, strict=True):
            if wanted in folded:
                return Evidence(doc=chunk.doc, quote=text.strip())
            if folded and len(folded) >= _TEXT_SHARE * len(wanted) and folded in wanted:
                best = max(best or (0, chunk), (len(folded), chunk), key=lambda pair: pair[0])
        if best is not None:
            return Evidence(doc=best[1].doc, quote=best[1].text)
        raise RowError(f'no chunk of the snapshot holds the passage "{text.strip()[:60]}…".')

    def evidence_at(self, span: Span) -> Evidence:
        """A span as an evidence item; its text is cut out of the chunks when the file does not quote it.

        Raises:
            RowError: the document is not in the snapshot, or its chunks carry no offsets that cover the span.
        """
        if span.quote:
            return Evidence(doc=span.doc, quote=span.quote, start=span.start)
        if span.start < 0 or span.end <= span.start:
            raise RowError("a span has neither a text nor a start and an end.")
        for chunk in self._of(span.doc):
            if 0 <= chunk.start <= span.start < chunk.start + len(chunk.text):
                cut = chunk.text[span.start - chunk.start : span.end - chunk.start]
                if cut.strip():
                    return Evidence(doc=span.doc, quote=cut, start=span.start)
        raise RowError(f'no chunk of "{span.doc}" covers characters {span.start} to {span.end}.')

    def on_page(self, doc: str, page: object) -> list[str]:
        """Ids of a document's chunks whose metadata names the page.

        Raises:
            RowError: there is none.
        """
        found = [chunk.id for chunk in self._of(doc) if str(page) in _pages(chunk)]
        if not found:
            raise RowError(f'no chunk of "{doc}" has page {page} in its metadata.')
        return found

    def with_prefix(self, prefix: str) -> list[str]:
        """Chunk ids that start with `prefix`, where it ends at a border: `art_5` is not the start of `art_50`.

        Raises:
            RowError: there is none.
        """
        size = len(prefix)
        found = [
            chunk.id
            for chunk in self.chunks
            if chunk.id.startswith(prefix)
            and not (chunk.id[size - 1 : size + 1].isalnum() and len(chunk.id) > size)
        ]
        if not found:
            raise RowError(f'no chunk id starts with "{prefix}".')
        return found

    def at_row(self, row: int) -> str:
        """Id of the chunk in row `row`, from 0.

        Raises:
            RowError: the corpus is shorter.
        """
        if not 0 <= row < len(self.chunks):
            raise RowError(
                f"row {row} is outside the corpus, which has {len(self.chunks)} rows counted from 0."
            )
        return self.chunks[row].id

    def _of(self, doc: str) -> list[Chunk]:
        if not self._by_doc:
            for chunk in self.chunks:
                self._by_doc.setdefault(chunk.doc, []).append(chunk)
        if doc not in self._by_doc:
            raise RowError(f'the document "{doc}" is not in the snapshot.')
        return self._by_doc[doc]

    def _index_texts(self) -> None:
        if not self._folded:
            self._folded = [fold_case(chunk.text) for chunk in self.chunks]
            for chunk, folded in zip(self.chunks, self._folded, strict=True):
                self._by_text.setdefault(folded, chunk)


def _pages(chunk: Chunk) -> set[str]:
    found: set[str] = set()
    for key in _PAGE_KEYS:
        value = (chunk.metadata or {}).get(key)
        if isinstance(value, list):
            found |= {str(page) for page in value}
        elif value is not None:
            found.add(str(value))
    return found
