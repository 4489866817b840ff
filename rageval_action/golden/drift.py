"""What a golden set lost when the index changed, why, and what to write instead.

Evidence survives re-chunking by itself; what breaks it is an edited or deleted passage, or a document that moved.
Judged chunk ids break whenever chunks are cut anew; with the old snapshot at hand their texts are found again.
"""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec import Struct

from rageval_action.core.labels.evidence import locate, resolve
from rageval_action.core.labels.tokens import fold_case
from rageval_action.core.model.types import Evidence
from rageval_action.golden.shared_words import shingles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.core.model.types import Chunk, Query
    from rageval_action.golden.canonical_file import RowDict

Why: TypeAlias = Literal["edited", "moved", "re-chunked", "re-identified", "renamed", "deleted", "shifted"]
"""`edited`: the passage reads otherwise now; `moved`: it stands in another document; `re-chunked`: its text lies in
other chunks; `re-identified`: the same text has a new id; `renamed`: the document has a new id; `shifted`: the quote
is there, at another offset; `deleted`: it is nowhere."""

ALIKE = 0.6
"""Similarity (difflib) from which a passage counts as an edited form of a quote."""

SHARED = 0.5
"""Share of an old chunk's shingles from which a new chunk holds its text, and of a document's chunks that moved."""


class Loss(Struct, frozen=True, kw_only=True):
    """One judgment that no longer holds.

    Attributes:
        what: the id, or the beginning of the quote.
        replacement: what to write instead, in words; empty when nobody but a person can say.
    """

    id: str
    line: int
    kind: Literal["evidence", "chunk", "document"]
    what: str
    why: Why
    replacement: str = ""


class Drift(Struct, frozen=True, kw_only=True):
    """Losses in file order, and the rows as they would be after the proposed changes."""

    losses: tuple[Loss, ...]
    patched: dict[str, dict[str, object]]

    def counts(self) -> dict[str, int]:
        """How many judgments were lost for which reason."""
        return dict(Counter(loss.why for loss in self.losses))


def drift(
    queries: Sequence[Query], rows: dict[str, RowDict], new: Sequence[Chunk], old: Sequence[Chunk] = ()
) -> Drift:
    """Compare a golden set with a snapshot.

    Args:
        queries: of the golden set.
        rows: id -> row as it stands in the file; patched copies keep everything else of it.
        new: chunks of the snapshot it must hold for now.
        old: chunks of the snapshot it was made for; without them lost chunk ids cannot be placed.
    """
    index = _Index(new, old)
    losses: list[Loss] = []
    patched: dict[str, dict[str, object]] = {}
    for query in queries:
        row = dict(rows.get(query.id, {}))
        found = [*_evidence(query, row, index), *_ids(query, row, index)]
        losses += found
        if any(loss.replacement for loss in found):
            patched[query.id] = row
    return Drift(losses=tuple(losses), patched=patched)


class _Index:
    """Both snapshots by id, document and text."""

    def __init__(self, new: Sequence[Chunk], old: Sequence[Chunk]) -> None:
        self.new, self.old = new, {chunk.id: chunk for chunk in old}
        self.ids = {chunk.id for chunk in new}
        self.by_doc: dict[str, list[Chunk]] = {}
        self.by_text: dict[str, Chunk] = {}
        for chunk in new:
            self.by_doc.setdefault(chunk.doc, []).append(chunk)
            self.by_text.setdefault(fold_case(chunk.text), chunk)
        self.old_docs: dict[str, list[Chunk]] = {}
        for chunk in old:
            self.old_docs.setdefault(chunk.doc, []).append(chunk)

    def holds(self, item: Evidence) -> bool:
        """Whether the quote's words stand in the document, across chunk borders too."""
        bare = msgspec.structs.replace(item, start=-1)
        return bool(resolve([bare], self.by_doc).items[0].chunks)

    def starts(self, item: Evidence) -> list[int]:
        """Offsets at which the quote stands in its document, from chunks that know theirs."""
        return [
            chunk.start + place[0]
            for chunk in self.by_doc.get(item.doc, ())
            if chunk.start >= 0
            for place in locate(item.quote, chunk.text)
        ]

    def elsewhere(self, quote: str) -> Chunk | None:
        """A chunk of any document that holds the quote."""
        wanted = fold_case(quote)
        return next((chunk for chunk in self.new if wanted in fold_case(chunk.text)), None)

    def edited(self, doc: str, quote: str) -> str:
        """The passage of the document most like the quote, verbatim; empty when none is alike."""
        best, found = ALIKE, ""
        for chunk in self.by_doc.get(doc, ()):
            window = _closest(quote, chunk.text)
            ratio = (
                SequenceMatcher(None, fold_case(quote), fold_case(window), autojunk=False).ratio()
                if window
                else 0.0
            )
            if ratio > best:
                best, found = ratio, window
        return found

    def renamed(self, doc: str) -> str:
        """The document that now holds most of an old one's chunks, also inside larger ones; empty when none does."""
        own = self.old_docs.get(doc, ())
        places = (self.by_text.get(fold_case(one.text)) or self.elsewhere(one.text) for one in own)
        homes = Counter(place.doc for place in places if place is not None)
        name, count = homes.most_common(1)[0] if homes else ("", 0)
        return name if own and count >= SHARED * len(own) else ""

    def heirs(self, chunk: Chunk) -> list[str]:
        """New chunks of the same document that hold the text of an old one, or a good part of it."""
        wanted = shingles(chunk.text, 8)
        found: list[str] = []
        for other in self.by_doc.get(chunk.doc, ()):
            shared = len(wanted & shingles(other.text, 8))
            smaller = min(len(wanted), len(shingles(other.text, 8))) or 1
            if shared >= SHARED * smaller:
                found.append(other.id)
        return found


def _evidence(query: Query, row: RowDict, index: _Index) -> list[Loss]:
    losses: list[Loss] = []
    items = [dict(item) for item in row.get("evidence", ())]
    for place, item in enumerate(query.evidence):
        found = _evidence_loss(item, index)
        if found is None:
            continue
        why, better = found
        words = ""
        if better is not None and place < len(items):
            items[place] |= {"doc": better.doc, "quote": better.quote}
            items[place].pop("start", None)
            if better.start >= 0:
                items[place]["start"] = better.start
            words = _in_words(item, better)
        losses.append(
            Loss(
                id=query.id,
                line=query.line,
                kind="evidence",
                what=item.quote[:60],
                why=why,
                replacement=words,
            )
        )
    if losses:
        row["evidence"] = items
    return losses


def _evidence_loss(item: Evidence, index: _Index) -> tuple[Why, Evidence | None] | None:
    """Why an item no longer holds and what would; None when it holds."""
    if index.holds(item):
        starts = index.starts(item)
        if item.start < 0 or not starts or item.start in starts:
            return None
        nearest = min(starts, key=lambda start: abs(start - item.start))
        return "shifted", msgspec.structs.replace(item, start=nearest)
    elsewhere = index.elsewhere(item.quote)
    if elsewhere is not None:
        return "moved", Evidence(doc=elsewhere.doc, quote=item.quote)
    now = index.edited(item.doc, item.quote)
    return ("edited", Evidence(doc=item.doc, quote=now)) if now else ("deleted", None)


def _in_words(old: Evidence, new: Evidence) -> str:
    if old.doc != new.doc:
        return f"document {new.doc}"
    if old.quote != new.quote:
        return f"“{new.quote}”"
    return f"start {new.start}"


def _ids(query: Query, row: RowDict, index: _Index) -> list[Loss]:
    """Losses among `relevant` and `any_of`; replacements are written into the row."""
    losses: list[Loss] = []
    changes: dict[str, list[str]] = {}
    for name in dict.fromkeys([*query.relevant, *(member for group in query.any_of for member in group)]):
        if name in index.ids or name in index.by_doc:
            continue
        kind: Literal["chunk", "document"] = "chunk" if name in index.old else "document"
        why, better = _id_loss(name, index)
        changes[name] = better
        losses.append(
            Loss(id=query.id, line=query.line, kind=kind, what=name, why=why, replacement=", ".join(better))
        )
    if any(changes.values()):
        _replace_ids(row, changes)
    return losses


def _id_loss(name: str, index: _Index) -> tuple[Why, list[str]]:
    chunk = index.old.get(name)
    if chunk is not None:
        same = index.by_text.get(fold_case(chunk.text))
        if same is not None:
            return "re-identified", [same.id]
        heirs = index.heirs(chunk)
        return ("re-chunked", heirs) if heirs else ("deleted", [])
    renamed = index.renamed(name)
    return ("renamed", [renamed]) if renamed else ("deleted", [])


def _replace_ids(row: RowDict, changes: dict[str, list[str]]) -> None:
    """Put new ids in the place of lost ones. Several heirs of one chunk become alternatives where that is sayable."""
    relevant = row.get("relevant")
    if isinstance(relevant, dict):
        row["relevant"] = {
            new: grade for name, grade in relevant.items() for new in (changes.get(str(name)) or [str(name)])
        }
    elif relevant:
        row["relevant"] = list(
            dict.fromkeys(new for name in relevant for new in (changes.get(str(name)) or [str(name)]))
        )
    if row.get("any_of"):
        row["any_of"] = [
            list(dict.fromkeys(new for name in group for new in (changes.get(str(name)) or [str(name)])))
            for group in row["any_of"]
        ]


def _closest(quote: str, text: str) -> str:
    """The stretch of `text` that matches `quote` best, from the first matching block to the last, at word borders."""
    matcher = SequenceMatcher(None, quote, text, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size >= 4]
    if not blocks:
        return ""
    longest = max(blocks, key=lambda block: block.size)
    start = max(0, longest.b - longest.a)
    end = min(len(text), start + round(len(quote) * 1.3))
    near = [block for block in blocks if start - len(quote) // 4 <= block.b < end]
    start, end = min(block.b for block in near), max(block.b + block.size for block in near)
    while start > 0 and text[start - 1].isalnum() and text[start].isascii():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end].isascii():
        end += 1
    return text[start:end].strip()
