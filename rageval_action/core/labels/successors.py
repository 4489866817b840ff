"""Labels follow texts: which id of a later corpus carries on an id of an earlier one.

An id that is still indexed counts as itself. A gone chunk is carried on by the one new chunk with its text, a gone
document by the one new document of which at least half of the texts are its own, and that has at least half of them. An
added file that copies every chunk carries on no document: most of its texts are of other ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from rageval_action.core.labels.judged_items import items_of
from rageval_action.core.model.corpus import Lookup, hash64
from rageval_action.core.model.types import EvidenceItem, Grades, Groups, Judgments, Unit


class Held(Struct, frozen=True):
    """The id is still indexed."""


class Moved(Struct, frozen=True):
    """One new id carries the text on; `to` is the 64-bit hash of that id."""

    to: int


class Gone(Struct, frozen=True):
    """Neither the id nor its text is in the index."""


class Unclear(Struct, frozen=True):
    """What became of the id cannot be said."""

    why: Literal["several-successors", "text-elsewhere", "other-text"]


Successor: TypeAlias = Held | Moved | Gone | Unclear


class Successors:
    """What became of the ids of an earlier corpus.

    Args:
        before: the corpus that the labels were made for.
        after: the corpus that is searched now.
        rechunked: the documents were cut anew: a chunk id that holds another text is then another chunk.
    """

    def __init__(self, before: Lookup, after: Lookup, *, rechunked: bool) -> None:
        self._before, self._after, self._rechunked = before, after, rechunked
        self._found: dict[tuple[str, Unit], Successor] = {}

    def of(self, name: str, unit: Unit) -> Successor:
        """The successor of a judged id; `unit` says whether it names a document or a chunk."""
        if (name, unit) not in self._found:
            self._found[name, unit] = self._of(name, unit)
        return self._found[name, unit]

    def _of(self, name: str, unit: Unit) -> Successor:
        before, after = self._before, self._after
        texts = before.texts(name, unit)
        if after.holds(name, unit):
            rewritten = unit != "document" and texts and texts != after.texts(name, unit)
            return Unclear("other-text") if rewritten and self._rechunked else Held()
        if not texts:
            return Gone()
        fresh = {one for one in after.carriers(texts, unit) if not before.has_id(one, unit)}
        if unit == "document":
            fresh = {one for one in fresh if _alike(texts, after.texts_of(one))}
        if fresh:
            return Moved(fresh.pop()) if len(fresh) == 1 else Unclear("several-successors")
        carried = sum(map(after.carries, texts))
        return Unclear("text-elsewhere") if 2 * carried >= len(texts) else Gone()


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = 2 * len(one & other)
    return shared >= len(one) and shared >= len(other)


class Followed(Struct, frozen=True, kw_only=True):
    """Judgments as they apply to a later corpus.

    Attributes:
        judgments: with the ids of that corpus; an item that is gone stays, and cannot be found.
        moved: old id -> new id, for the ids that changed. gone: ids of which nothing is left.
        unclear: id -> code, for ids of which it cannot be said what became of them.
    """

    judgments: Judgments
    moved: dict[str, str] = {}
    gone: tuple[str, ...] = ()
    unclear: dict[str, str] = {}


def follow(judgments: Judgments, unit: Unit, successors: Successors, names: Mapping[int, str]) -> Followed:
    """Let judgments follow the texts that they were made for.

    Args:
        judgments: as the earlier run used them. Evidence is left as it is: its quotes are looked up in the new texts.
        unit: what their ids name.
        successors: what became of the earlier corpus.
        names: `hash64` of an id -> the id, for the later corpus; what is not in it was never retrieved.
    """
    if not isinstance(judgments, Grades | Groups):
        return Followed(judgments=judgments)
    wanted = sorted({name for item in items_of(judgments) for name in item.members})
    became = {name: successors.of(name, unit) for name in wanted}
    moved = {name: names.get(to.to, name) for name, to in became.items() if isinstance(to, Moved)}
    return Followed(
        judgments=_renamed(judgments, moved),
        moved=moved,
        gone=tuple(name for name, to in became.items() if isinstance(to, Gone)),
        unclear={name: to.why for name, to in became.items() if isinstance(to, Unclear)},
    )


def _renamed(judgments: Grades | Groups, moved: Mapping[str, str]) -> Grades | Groups:
    if isinstance(judgments, Groups):
        return Groups(tuple(tuple(moved.get(name, name) for name in group) for group in judgments.groups))
    grades: dict[str, int] = {}
    for name, grade in judgments.grades.items():
        new = moved.get(name, name)
        grades[new] = max(grade, grades.get(new, grade))
    return Grades(grades)


def successor_documents(
    items: tuple[EvidenceItem, ...], successors: Successors, names: Mapping[int, str]
) -> dict[str, str]:
    """Document of a quote -> the document in which it is to be looked up now, for documents that were renamed."""
    documents = {doc for item in items for doc in (item.documents or (item.doc,))}
    became = {doc: successors.of(doc, "document") for doc in documents}
    return {doc: names[to.to] for doc, to in became.items() if isinstance(to, Moved) and to.to in names}


def names_of(ids: Iterable[str]) -> dict[int, str]:
    """`hash64` of each id -> the id."""
    return {hash64(name): name for name in ids}
