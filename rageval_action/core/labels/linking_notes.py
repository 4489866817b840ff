"""What the joining of a golden set and a snapshot has to say: notices and refusals, each with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from rageval_action.core.labels.dangling_labels import damage_notices
from rageval_action.core.model.types import EvidenceItem, Notice, Query
from rageval_action.core.wording.id_suggestions import Near, near_misses
from rageval_action.errors import GoldenError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from rageval_action.core.model.types import Chunk, GoldenSet, Unit, UnitChoice

IdKind: TypeAlias = Literal["document", "chunk"]
"""What a judged id names."""

MOST_LISTED = 20
"""Missing ids or quotes that are named one by one; the rest is counted."""

_MOST_EXAMPLES = 3
_MOST_QUOTED = 80  # characters of a quote that are shown


class JudgedQuery(Struct, frozen=True, kw_only=True):
    """An answerable query and how it is judged: ids in NFC, or its evidence."""

    query: Query
    grades: dict[str, int]
    groups: tuple[tuple[str, ...], ...]
    by_evidence: bool

    @property
    def all_groups(self) -> tuple[tuple[str, ...], ...]:
        """The groups, then each relevant id that is in none of them as a group of one."""
        grouped = {name for group in self.groups for name in group}
        alone = (name for name, grade in self.grades.items() if grade >= 1 and name not in grouped)
        return (*self.groups, *((name,) for name in alone))

    @property
    def is_graded(self) -> bool:
        """True when relevant ids differ in more than being relevant."""
        return any(grade > 1 for grade in self.grades.values())

    @property
    def wanted(self) -> tuple[str, ...]:
        """Every id that may be found, each once."""
        return tuple(dict.fromkeys(name for group in self.all_groups for name in group))


class Missing(Struct, frozen=True, kw_only=True):
    """What one query asks for and the snapshot does not hold."""

    query: Query
    ids: tuple[str, ...] = ()
    quotes: tuple[EvidenceItem, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The ids, or the quotes."""
        return self.ids or tuple(item.quote for item in self.quotes)


def place(golden: GoldenSet, query: Query) -> str:
    """`file:line`, or the file alone where the format has no lines."""
    return f"{golden.path}:{query.line}" if query.line else golden.path


def no_judgment(golden: GoldenSet, bare: Sequence[JudgedQuery]) -> GoldenError:
    """Refusal of answerable queries that say nothing about what should be found."""
    more = f" {len(bare) - 1} more queries have none either." if len(bare) > 1 else ""
    return GoldenError(
        "golden.no-judgment",
        f"nothing says what should be found for the query `{bare[0].query.id}`.{more}",
        hint="Give `relevant`, `any_of` or `evidence`, or `answerable: false` when nothing should be found.",
        where=place(golden, bare[0].query),
    )


def mixed_units(
    golden: GoldenSet, asked: Sequence[JudgedQuery], documents: AbstractSet[str], chunks: AbstractSet[str]
) -> GoldenError:
    """Refusal of a set that judges some queries by document and others by chunk."""
    return GoldenError(
        "golden.mixed-units",
        f"{len(documents)} judged ids are only document ids ({_examples(golden, asked, documents)}) and "
        f"{len(chunks)} are only chunk ids ({_examples(golden, asked, chunks)}).",
        hint="Judge all queries by one kind of id, or say which with `unit: document` or `unit: chunk`.",
        where=golden.path,
    )


def _examples(golden: GoldenSet, asked: Sequence[JudgedQuery], names: AbstractSet[str]) -> str:
    found: dict[str, str] = {}
    for row in asked:
        for name in row.wanted:
            if name in names:
                found.setdefault(name, place(golden, row.query))
    shown = [f"`{name}` at {where}" for name, where in found.items()][:_MOST_EXAMPLES]
    return ", ".join(shown) + (", …" if len(found) > len(shown) else "")


def no_match(
    golden: GoldenSet, missing: dict[str, Missing], kind: IdKind, chunks: Sequence[Chunk]
) -> GoldenError:
    """Refusal of a set of which the snapshot holds nothing: it belongs to another corpus, or to other ids."""
    count = sum(len(gone.names) for gone in missing.values())
    there = (
        f"whose first chunk is `{chunks[0].id}` of the document `{chunks[0].doc}`"
        if chunks
        else "which is empty"
    )
    example = missing_notices(golden, missing, kind, chunks)[0].text
    damage = "".join(f"{notice.text}. " for notice in damage_notices(golden, missing, kind, chunks))
    return GoldenError(
        "golden.no-id-matches",
        f"none of the {count} judged ids or quotes is in the snapshot, {there}; for example {example}"
        + ("" if example.endswith("?") else "."),
        hint=f"{damage}Check that both belong together. Chunk ids change when a corpus is chunked again: document ids "
        "and evidence quotes survive it.",
        where=golden.path,
    )


def missing_notices(
    golden: GoldenSet, missing: dict[str, Missing], kind: IdKind, chunks: Sequence[Chunk]
) -> tuple[Notice, ...]:
    """One notice for each of the first missing ids and quotes, and one that counts the others."""
    ids = [(gone.query, name) for gone in missing.values() for name in gone.ids]
    quotes = [(gone.query, item) for gone in missing.values() for item in gone.quotes]
    listed_ids, listed_quotes = ids[:MOST_LISTED], quotes[:MOST_LISTED]
    reasons = _Reasons(
        kind,
        chunks,
        names=list(dict.fromkeys(name for _, name in listed_ids)),
        documents=list(dict.fromkeys(item.doc for _, item in listed_quotes)),
    )
    notices = [
        _missing("golden.id-not-in-snapshot", reasons.of_id(name), golden, query)
        for query, name in listed_ids
    ]
    if len(ids) > MOST_LISTED:
        text = f"{len(ids) - MOST_LISTED} more judged ids are not in the snapshot"
        notices.append(Notice(code="golden.id-not-in-snapshot", text=text, where=golden.path))
    notices += [
        _missing("golden.quote-not-in-snapshot", reasons.of_quote(item), golden, query)
        for query, item in listed_quotes
    ]
    if len(quotes) > MOST_LISTED:
        text = f"{len(quotes) - MOST_LISTED} more quotes are not in the snapshot"
        notices.append(Notice(code="golden.quote-not-in-snapshot", text=text, where=golden.path))
    return tuple(notices)


def _missing(code: str, reason: str, golden: GoldenSet, query: Query) -> Notice:
    said_by = "" if query.line else f" (query `{query.id}`)"
    return Notice(code=code, text=reason + said_by, where=place(golden, query))


class _Reasons:
    """Why a few ids and quotes are not found; looks through the whole snapshot, but only when there are any."""

    def __init__(
        self, kind: IdKind, chunks: Sequence[Chunk], *, names: Sequence[str], documents: Sequence[str]
    ) -> None:
        self._kind = kind
        own, other = (_documents, _ids) if kind == "document" else (_ids, _documents)
        self._near = near_misses(names, own(chunks)) if names else {}
        self._elsewhere = set(names).intersection(other(chunks)) if names else set()
        self._known = set(documents).intersection(_documents(chunks)) if documents else set()
        unknown = [name for name in documents if name not in self._known]
        self._near_documents = near_misses(unknown, _documents(chunks)) if unknown else {}

    def of_id(self, name: str) -> str:
        if name in self._elsewhere:
            what, not_what = ("chunk", "document") if self._kind == "document" else ("document", "chunk")
            return f"`{name}` is a {what} of the snapshot, not a {not_what}"
        return f"`{name}` is not in the snapshot" + _suggestion(self._near.get(name))

    def of_quote(self, item: EvidenceItem) -> str:
        quote = item.quote if len(item.quote) <= _MOST_QUOTED else item.quote[:_MOST_QUOTED] + "…"
        if item.doc in self._known:
            return f"the document `{item.doc}` does not hold the quote “{quote}”"
        near = _suggestion(self._near_documents.get(item.doc))
        return f"`{item.doc}`, the document of the quote “{quote}”, is not in the snapshot" + near


def _documents(chunks: Sequence[Chunk]) -> AbstractSet[str]:
    return {chunk.doc for chunk in chunks}


def _ids(chunks: Sequence[Chunk]) -> AbstractSet[str]:
    return {chunk.id for chunk in chunks}


def _suggestion(near: Near | None) -> str:
    return f"; did you mean `{near.id}`?" if near is not None else ""


def unit_notices(
    golden: GoldenSet,
    asked: Sequence[JudgedQuery],
    units: tuple[UnitChoice, Unit, IdKind],
    missing: dict[str, Missing],
) -> tuple[Notice, ...]:
    """How the unit was found, and every query that is not judged as the unit, or its own row, would have it.

    `units` are what the user asked for, what the headline measures count, and what judged ids name.
    """
    choice, unit, kind = units
    quoted = [row for row in asked if row.by_evidence]
    named = [row for row in asked if not row.by_evidence]
    notices = [_unit_found(golden, asked, unit, missing)] if choice == "auto" and asked else []

    def note(code: str, rows: Sequence[JudgedQuery], text: str) -> None:
        if rows:
            notices.append(
                Notice(
                    code=code,
                    text=f"{len(rows)} of {len(asked)} queries {text}",
                    where=place(golden, rows[0].query),
                )
            )

    if unit == "evidence":
        note(
            "golden.no-evidence",
            named,
            f"have no evidence and are scored by judged {kind}s, in the same mean",
        )
    else:
        text = f"have only evidence and are scored by the chunks that hold it, the others by {unit} id, in one mean"
        note("golden.mixed-units", quoted, text)
    unused = [row for row in named if row.query.evidence]
    note(
        "golden.evidence-unused",
        unused,
        "have ids and evidence: the ids decide; `unit: evidence` uses the evidence",
    )
    unused = [row for row in quoted if row.grades or row.groups]
    note("golden.ids-unused", unused, "have ids and evidence: under `unit: evidence` the evidence decides")
    flat = [
        row for row in named if (row.groups or (unit, kind) == ("evidence", "document")) and row.is_graded
    ]
    note("golden.grades-unused", flat, "have grades that do not count: an item of a group is found or not")
    return tuple(notices)


def _unit_found(
    golden: GoldenSet, asked: Sequence[JudgedQuery], unit: Unit, missing: dict[str, Missing]
) -> Notice:
    if unit == "evidence":
        total = sum(len(row.query.evidence) for row in asked)
        found = total - sum(len(gone.quotes) for gone in missing.values())
        text = f"unit: evidence. {found} of {total} quotes are found in the snapshot."
    else:
        wanted = {name for row in asked if not row.by_evidence for name in row.wanted}
        found = len(wanted.difference(name for gone in missing.values() for name in gone.ids))
        text = f"unit: {unit}. {found} of {len(wanted)} judged ids are {unit} ids of the snapshot."
    return Notice(code="golden.unit", text=text, where=golden.path)
