"""Scoring one run under another golden set's labels, where that is honest.

A baseline is scored again under the candidate's judgments so that a changed label does not look like changed
retrieval. That works only while the old corpus could have answered: a judgment that names an id which neither the old
corpus nor the old labels knew cannot be held against the old run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core.labels.judged_items import items_of
from rageval_action.core.labels.linking import unit_of
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.record import QueryRow
from rageval_action.core.model.types import EvidenceItem, EvidenceItems, Grades, Groups, Judgments, Unit


class Applied(Struct, frozen=True):
    """These judgments can be applied to the run; `unit` is what is ranked for them."""

    judgments: Judgments
    unit: Unit


class Resolved(Applied, frozen=True):
    """Evidence that was fitted to a run."""

    judgments: EvidenceItems


class Kept(Struct, frozen=True):
    """They cannot: the run keeps its own labels, for this reason."""

    reason: str


Relabelled: TypeAlias = Applied | Kept


class Side(Struct, frozen=True):
    """One of the two runs: its corpus, and the unit of its golden set."""

    lookup: Lookup
    unit: Unit


def own(row: QueryRow, side: Side) -> Applied:
    """A row's own labels."""
    return Applied(row.judgments, unit_of(row.judgments, side.unit))


def same_labels(one: Applied, other: Applied) -> bool:
    """True when both ask for the same things, wherever evidence was found in either corpus."""
    same_space = (one.unit == "document") == (other.unit == "document")
    return same_space and asked_for(one.judgments) == asked_for(other.judgments)


def asked_for(judgments: Judgments) -> object:
    """What judgments ask for, in a form that is equal for equal labels, wherever evidence was found."""
    match judgments:
        case EvidenceItems(items=items):
            return ("evidence", sorted((item.doc, item.quote, item.start) for item in items))
        case Groups(groups=groups):
            return ("groups", sorted(tuple(sorted(group)) for group in groups))
        case Grades(grades=grades):
            return {name: grade for name, grade in sorted(grades.items()) if grade >= 0}
        case _:
            return "unanswerable"


def onto_baseline(
    row: QueryRow, before: QueryRow, old: Side, new: Side, *, rechunked: bool = False
) -> Relabelled:
    """The candidate's judgments (those of `row`), fitted to the baseline's row `before`."""
    asked, had = own(row, new), own(before, old)
    if same_labels(asked, had):
        return had
    if isinstance(asked.judgments, EvidenceItems):
        return _evidence_elsewhere(asked.judgments, before, here=old.lookup, there=new.lookup)
    known = _members(had.judgments) if asked.unit == had.unit else frozenset()
    for item in items_of(asked.judgments):
        if not any(name in known or old.lookup.holds(name, asked.unit) for name in item.members):
            return Kept(f'"{item.label}" was not in the baseline\'s corpus')
        if rechunked and any(_rewritten(name, asked.unit, old.lookup, new.lookup) for name in item.members):
            return Kept(f'"{item.label}" was another text in the baseline\'s corpus')
    return asked


def _rewritten(name: str, unit: Unit, before: Lookup, after: Lookup) -> bool:
    """True when both corpora have a chunk of this id, with other texts."""
    if unit == "document":
        return False
    texts = before.texts(name, unit), after.texts(name, unit)
    return all(texts) and texts[0] != texts[1]


def _members(judgments: Judgments) -> frozenset[str]:
    """Every id that the judgments name, relevant or not."""
    named = judgments.grades if isinstance(judgments, Grades) else ()
    return frozenset([*named, *(name for item in items_of(judgments) for name in item.members)])


def _evidence_elsewhere(asked: EvidenceItems, row: QueryRow, *, here: Lookup, there: Lookup) -> Relabelled:
    """Evidence resolved `there`, for a row that was retrieved `here`; only an unchanged document can be judged."""

    def unchanged(doc: str) -> bool:
        return here.texts(doc, "document") == there.texts(doc, "document")

    def still(item: EvidenceItem) -> bool:
        return all(here.texts(chunk, "chunk") == there.texts(chunk, "chunk") for chunk in item.chunks)

    settled = [item for item in asked.items if item.chunks and unchanged(item.doc) and still(item)]
    return evidence_of(asked.items, row, settled, unchanged)


def evidence_of(
    asked: Sequence[EvidenceItem],
    row: QueryRow,
    settled: Sequence[EvidenceItem] = (),
    unchanged: Callable[[str], bool] = lambda _doc: True,
) -> Resolved | Kept:
    """Evidence fitted to a row: by the row's own resolution, by one that is `settled`, else by the spans of its hits.

    `unchanged` says of which documents the offsets still hold.
    """
    resolved = {evidence_key(item): item for item in settled}
    if isinstance(row.judgments, EvidenceItems):
        resolved.update((evidence_key(item), item) for item in row.judgments.items)
    located = all(hit.start >= 0 for hit in row.results)
    fitted = []
    for item in asked:
        if evidence_key(item) in resolved:
            fitted.append(resolved[evidence_key(item)])
        elif not item.quote:
            fitted.append(_by_document(item, row))
        elif item.start >= 0 and located and unchanged(item.doc):
            fitted.append(_by_span(item, row))
        else:
            return Kept(f'the texts that would show whether "{item.quote[:60]}" was found are gone')
    return Resolved(EvidenceItems(tuple(fitted)), "evidence")


def evidence_key(item: EvidenceItem) -> tuple[str, str, int]:
    """What makes two evidence items the same, wherever they were found."""
    return item.doc, item.quote, item.start


def _by_document(item: EvidenceItem, row: QueryRow) -> EvidenceItem:
    """A whole document (or any of several) as an item: each of its chunks will do."""
    documents = item.documents or (item.doc,)
    return replace(item, chunks=tuple(hit.id for hit in row.results if hit.doc in documents))


def _by_span(item: EvidenceItem, row: QueryRow) -> EvidenceItem:
    end = item.start + len(item.quote)
    chunks = tuple(
        hit.id for hit in row.results if hit.doc == item.doc and hit.start < end and item.start < hit.end
    )
    return replace(item, chunks=chunks)
