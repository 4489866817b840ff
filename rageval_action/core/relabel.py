"""Scoring one run under another golden set's labels, where that is honest.

A baseline is scored again under the candidate's judgments so that a changed label does not look like changed
retrieval. That works only while the old corpus could have answered: a judgment that names an id which neither the old
corpus nor the old labels knew cannot be held against the old run.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from rageval_action.core.diagnosis import holds, texts_of
from rageval_action.core.record import Corpus, QueryRow
from rageval_action.core.types import EvidenceItem, EvidenceItems, Grades, Groups, Judgments, Unit


class Applied(Struct, frozen=True):
    """These judgments can be applied to the run."""

    judgments: Judgments


class Kept(Struct, frozen=True):
    """They cannot: the run keeps its own labels, for this reason."""

    reason: str


Relabelled: TypeAlias = Applied | Kept


def same_labels(one: Judgments, other: Judgments) -> bool:
    """True when two judgments ask for the same things, wherever evidence was found in either corpus."""
    return _asked(one) == _asked(other)


def _asked(judgments: Judgments) -> object:
    match judgments:
        case EvidenceItems(items=items):
            return sorted((item.doc, item.quote, item.start) for item in items)
        case Groups(groups=groups):
            return sorted(tuple(sorted(group)) for group in groups)
        case Grades(grades=grades):
            return {name: grade for name, grade in grades.items() if grade >= 0}
        case _:
            return "unanswerable"


def onto_baseline(new: Judgments, row: QueryRow, corpus: Corpus, unit: Unit) -> Relabelled:
    """The candidate's judgments, fitted to the baseline's `row` and `corpus`."""
    if same_labels(new, row.judgments):
        return Applied(row.judgments)
    match new:
        case Grades(grades=grades):
            asked = [name for name, grade in grades.items() if grade >= 1]
        case Groups(groups=groups):
            asked = [group[0] for group in groups if not any(holds(corpus, name, unit) for name in group)]
        case EvidenceItems(items=items):
            return evidence_of(items, row)
        case _:
            return Applied(new)
    known = _members(row.judgments)
    unknown = [name for name in asked if name not in known and not holds(corpus, name, unit)]
    if unknown:
        return Kept(f'"{unknown[0]}" was not in the baseline\'s corpus')
    return Applied(new)


def onto_candidate(old: Judgments, row: QueryRow, corpus: Corpus, before: Corpus, unit: Unit) -> Relabelled:
    """The baseline's judgments, fitted to the candidate's `row` and `corpus`.

    An id that is gone counts as lost, unless its texts are still there under another id: then the labels moved with the
    ids, and the old ones cannot be applied.
    """
    if same_labels(old, row.judgments):
        return Applied(row.judgments)
    if isinstance(old, EvidenceItems):
        return evidence_of(old.items, row)
    for name in _members(old):
        if not holds(corpus, name, unit) and _moved(name, corpus, before, unit):
            return Kept(f'"{name}" has another id now')
    return Applied(old)


def _members(judgments: Judgments) -> set[str]:
    match judgments:
        case Grades(grades=grades):
            return set(grades)
        case Groups(groups=groups):
            return {name for group in groups for name in group}
        case _:
            return set()


def _moved(name: str, corpus: Corpus, before: Corpus, unit: Unit) -> bool:
    texts = texts_of(before, name, unit)
    return bool(texts) and texts <= set(corpus.texts.tolist())


def evidence_of(items: tuple[EvidenceItem, ...], row: QueryRow) -> Relabelled:
    """Evidence asked by one side, resolved on the other: by its own resolution, else by spans of its hits."""
    own = row.judgments.items if isinstance(row.judgments, EvidenceItems) else ()
    resolved = {(item.doc, item.quote, item.start): item for item in own}
    fitted = []
    for item in items:
        there = resolved.get((item.doc, item.quote, item.start))
        if there is not None:
            fitted.append(there)
        elif item.start >= 0 and all(hit.start >= 0 for hit in row.results):
            fitted.append(_by_span(item, row))
        else:
            return Kept(f'the texts that would show whether "{item.quote[:60]}" was found are gone')
    return Applied(EvidenceItems(tuple(fitted)))


def _by_span(item: EvidenceItem, row: QueryRow) -> EvidenceItem:
    end = item.start + len(item.quote)
    chunks = tuple(
        hit.id for hit in row.results if hit.doc == item.doc and hit.start < end and item.start < hit.end
    )
    return EvidenceItem(doc=item.doc, quote=item.quote, start=item.start, chunks=chunks)
