"""Joining a golden set and a snapshot: what each query is judged by, and what of it the snapshot does not hold."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.core.labels.dangling_labels import ambiguity_notices, damage_notices, dangling_notices
from rageval_action.core.labels.evidence import resolve, unresolved
from rageval_action.core.labels.linking_notes import (
    IdKind,
    JudgedQuery,
    Missing,
    missing_notices,
    mixed_units,
    no_judgment,
    no_match,
    unit_notices,
)
from rageval_action.core.model.types import (
    EvidenceItem,
    EvidenceItems,
    Grades,
    Groups,
    Judgments,
    Notice,
    Unanswerable,
    Unit,
    UnitChoice,
)
from rageval_action.errors import GoldenError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.core.model.types import Chunk, GoldenSet, Query


class Linked(Struct, frozen=True):
    """A golden set as it can be used with one snapshot.

    Attributes:
        unit: what the headline measures count.
        judgments: query id -> what it is judged by.
        notices: how the unit was found, and what is missing, each with its place in the golden set.
        missing: query id -> relevant ids, group members or quotes that the snapshot does not hold.
    """

    unit: Unit
    judgments: dict[str, Judgments]
    notices: tuple[Notice, ...] = ()
    missing: dict[str, tuple[str, ...]] = {}


def unit_of(judgments: Judgments, unit: Unit) -> Unit:
    """What is ranked for one query of a set with this unit: chunks hold evidence, whatever the set's unit is."""
    return "evidence" if isinstance(judgments, EvidenceItems) else unit


def link(golden: GoldenSet, chunks: Sequence[Chunk], unit: UnitChoice) -> Linked:
    """Decide what judged ids name, resolve evidence, and say what is not there.

    Where a query has both ids and evidence, the ids decide unless `unit` is `evidence`. A query that has only
    the other kind of judgment is scored by that, inside the same mean, and a notice counts such queries. With
    `any_of`, ids in `relevant` are groups of one. Under the unit `evidence` a judged document without a quote
    is an item that any of its chunks satisfies.

    Args:
        golden: ids in any Unicode form.
        chunks: of the snapshot, in row order, with ids in NFC.
        unit: what the user asked for; `auto` looks where the ids are found.

    Raises:
        GoldenError: `golden.empty`, `golden.no-judgment`, `golden.mixed-units` or `golden.no-id-matches`.
    """
    if not golden.queries:
        raise GoldenError("golden.empty", "the golden set holds no queries.", where=golden.path)
    asked = [_asked(query, unit) for query in golden.queries if query.answerable]
    bare = [row for row in asked if not (row.by_evidence or row.grades or row.groups)]
    if bare:
        raise no_judgment(golden, bare)
    corpus = _JudgedIds(chunks, asked)
    kind = corpus.kind(golden, asked, unit)
    headline = _headline(asked, kind, unit)
    judgments = _judgments(asked, corpus, as_items=headline == "evidence" and kind == "document")
    missing = _missing(asked, judgments, corpus.held(kind))
    if missing and not any(_found(row, missing.get(row.query.id)) for row in asked):
        raise no_match(golden, missing, kind, chunks)
    return Linked(
        unit=headline,
        judgments={query.id: judgments.get(query.id, Unanswerable()) for query in golden.queries},
        notices=(
            *unit_notices(golden, asked, (unit, headline, kind), missing),
            *dangling_notices(golden, asked, missing),
            *damage_notices(golden, missing, kind, chunks),
            *(ambiguity_notices(golden, asked, chunks, kind) if unit in {"auto", "evidence"} else ()),
            *missing_notices(golden, missing, kind, chunks),
        ),
        missing={name: gone.names for name, gone in missing.items()},
    )


def _nfc(name: str) -> str:
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def _asked(query: Query, unit: UnitChoice) -> JudgedQuery:
    return JudgedQuery(
        query=query,
        grades={_nfc(name): grade for name, grade in query.relevant.items()},
        groups=tuple(tuple(map(_nfc, group)) for group in query.any_of),
        by_evidence=bool(query.evidence) and (unit == "evidence" or not (query.relevant or query.any_of)),
    )


class _JudgedIds:
    """What the snapshot holds of the judged ids; one pass over the chunks each."""

    def __init__(self, chunks: Sequence[Chunk], asked: Sequence[JudgedQuery]) -> None:
        wanted = {name for row in asked if not row.by_evidence for name in row.wanted}
        quoted = {_nfc(item.doc) for row in asked if row.by_evidence for item in row.query.evidence}
        self._chunks = chunks
        self._documents = {chunk.doc for chunk in chunks if chunk.doc in wanted}
        self._ids = {chunk.id for chunk in chunks if chunk.id in wanted}
        self.quoted = self.chunks_of(quoted)

    def held(self, kind: IdKind) -> set[str]:
        """The judged ids that name a document, or a chunk."""
        return self._documents if kind == "document" else self._ids

    def chunks_of(self, documents: set[str]) -> dict[str, list[Chunk]]:
        """The chunks of these documents, in row order."""
        found: dict[str, list[Chunk]] = {}
        if documents:
            for chunk in self._chunks:
                if chunk.doc in documents:
                    found.setdefault(chunk.doc, []).append(chunk)
        return found

    def kind(self, golden: GoldenSet, asked: Sequence[JudgedQuery], unit: UnitChoice) -> IdKind:
        """What judged ids name: as asked, else where more of them are found.

        Raises:
            GoldenError: `golden.mixed-units` when some are found only as documents and others only as chunks.
        """
        if unit in {"document", "chunk"}:
            return "document" if unit == "document" else "chunk"
        only_documents, only_chunks = self._documents - self._ids, self._ids - self._documents
        if only_documents and only_chunks:
            raise mixed_units(golden, asked, only_documents, only_chunks)
        return "chunk" if only_chunks else "document"


def _headline(asked: Sequence[JudgedQuery], kind: IdKind, unit: UnitChoice) -> Unit:
    if unit != "auto":
        return unit
    return "evidence" if asked and all(row.by_evidence for row in asked) else kind


def _judgments(asked: Sequence[JudgedQuery], corpus: _JudgedIds, *, as_items: bool) -> dict[str, Judgments]:
    """Query id -> judgments; `as_items` turns judged documents into evidence items."""
    quotes = [row for row in asked if row.by_evidence]
    # One call for all queries, since a document is joined once a call.
    resolved = iter(resolve([item for row in quotes for item in row.query.evidence], corpus.quoted).items)
    judged: dict[str, Judgments] = {
        row.query.id: EvidenceItems(tuple(next(resolved) for _ in row.query.evidence)) for row in quotes
    }
    named = [row for row in asked if not row.by_evidence]
    whole = corpus.chunks_of({name for row in named for name in row.wanted}) if as_items else {}
    for row in named:
        if as_items:
            groups = row.all_groups
            judged[row.query.id] = EvidenceItems(tuple(_whole_documents(group, whole) for group in groups))
        else:
            judged[row.query.id] = Groups(row.all_groups) if row.groups else Grades(row.grades)
    return judged


def _whole_documents(group: Sequence[str], chunks_of: dict[str, list[Chunk]]) -> EvidenceItem:
    chunks = sorted({chunk.id for doc in group for chunk in chunks_of.get(doc, ())})
    return EvidenceItem.whole(group, chunks)


def _missing(
    asked: Sequence[JudgedQuery], judgments: dict[str, Judgments], held: set[str]
) -> dict[str, Missing]:
    """What the snapshot does not hold, by query id, in the order of the set."""
    found: dict[str, Missing] = {}
    for row in asked:
        own = judgments[row.query.id]
        if row.by_evidence and isinstance(own, EvidenceItems):
            gone = Missing(query=row.query, quotes=unresolved(own))
        else:
            gone = Missing(query=row.query, ids=tuple(name for name in row.wanted if name not in held))
        if gone.names:
            found[row.query.id] = gone
    return found


def _found(row: JudgedQuery, missing: Missing | None) -> bool:
    """True when the snapshot holds anything that the query asks for."""
    asked = len(row.query.evidence) if row.by_evidence else len(row.wanted)
    return asked > (len(missing.names) if missing else 0)
