"""One query explained: what was asked, what should have come, what came instead, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from rageval_action.core.comparing.loss_clusters import advice_of
from rageval_action.core.comparing.query_changes import UPWARDS, QueryChange
from rageval_action.core.judging.sentences.cause_words import ADVICE, CAUSES
from rageval_action.core.labels.judged_items import Item, unit_name
from rageval_action.core.labels.tokens import tokens
from rageval_action.core.measuring.query_layout import QueryLayout, QueryPair, answerable
from rageval_action.core.measuring.slices import names
from rageval_action.core.model.corpus import hash64
from rageval_action.core.model.record import QueryRow
from rageval_action.core.model.types import Hit, Unit

MOST_RIVALS = 5


class Passage(Struct, frozen=True, kw_only=True):
    """A chunk that stands for a document (or itself).

    Attributes:
        rank: among the chunks that came back; 0 when it did not.
        overlap: share of the query's words that are in its text; None when the text is not at hand.
    """

    id: str
    rank: int = 0
    score: float | None = None
    overlap: float | None = None
    text: str = ""


class Wanted(Struct, frozen=True, kw_only=True):
    """Something to be found: its ranks (0 = not in the ranking), and the chunk of it that ranks best now."""

    label: str
    grade: int
    before: int
    after: int
    best: Passage | None


class Rival(Struct, frozen=True, kw_only=True):
    """Something that is not relevant and ranks above the best relevant thing."""

    id: str
    before: int
    after: int
    passage: Passage


class Place(Struct, frozen=True, kw_only=True):
    """One line of a ranking."""

    rank: int
    id: str
    score: float
    relevant: bool
    denied: bool
    before: int


class Explanation(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """See the module. `change` and `cause` are those of the comparison; without one, those of the record."""

    schema_name: Literal["rageval.explanation/1"] = "rageval.explanation/1"
    query_id: str
    query: str
    line: int
    unit: Unit
    k: int
    slices: tuple[str, ...]
    change: str
    cause: str
    meaning: str
    circumstances: tuple[str, ...]
    by: tuple[str, ...]
    advice: str
    source: str
    error: str
    wanted: tuple[Wanted, ...]
    rivals: tuple[Rival, ...]
    margin_before: float | None
    margin: float | None
    compared: bool
    before: tuple[Place, ...]
    after: tuple[Place, ...]


def explain(
    pair: QueryPair, change: QueryChange | None, texts: Mapping[str, str], shown: int = 0
) -> Explanation:
    """Put one query together.

    Args:
        pair: both answers.
        change: what the comparison says about it, or None.
        texts: `text_hash` of a chunk -> its text; may be empty.
        shown: lines of each ranking; 0 = k and five more.
    """
    after, before = pair.after, pair.before
    row, k, ranks = after.row, after.k, pair.ranks
    miss = row.misses[0] if row.misses else None
    cause = change.cause if change else miss.cause if miss else ""
    tags = change.tags if change else miss.tags if miss else ()
    gained = change is not None and change.change in UPWARDS  # its cause is past, and calls for nothing
    reason = next((name for name in (cause, *tags) if name in ADVICE), "")  # of a missed query it is a tag
    advice = advice_of(reason, tags) if reason and not gained else ""
    lines = shown or k + 5
    return Explanation(
        query_id=row.query_id,
        query=row.query,
        line=row.line,
        unit=after.unit,
        k=k,
        slices=names(row),
        change=change.change if change else "same" if answerable(row) else "unanswerable",
        cause=cause,
        meaning=CAUSES.get(cause, ""),
        circumstances=tags,
        by=change.by if change else miss.by if miss else (),
        advice=ADVICE[advice].text if advice else "",
        source=ADVICE[advice].source if advice else "",
        error=row.error,
        wanted=tuple(
            Wanted(
                label=item.label,
                grade=item.grade,
                before=ranks[item.label][0],
                after=rank,
                best=_best(pair, item, texts),
            )
            for item, rank in zip(after.items, after.ranks, strict=True)
        ),
        rivals=_rivals(pair, texts),
        margin_before=before.margin if before else None,
        margin=after.margin,
        compared=before is not None,
        before=_places(before, None, lines) if before else (),
        after=_places(after, before, lines),
    )


def _places(layout: QueryLayout, other: QueryLayout | None, lines: int) -> tuple[Place, ...]:
    old = {name: rank for rank, name in enumerate(other.ranked, 1)} if other else {}
    relevant, denied = layout.relevant, layout.denied
    return tuple(
        Place(
            rank=rank,
            id=name,
            score=score,
            relevant=name in relevant,
            denied=name in denied,
            before=old.get(name, 0),
        )
        for rank, (name, score) in enumerate(zip(layout.ranked, layout.scores, strict=True), 1)
        if rank <= lines
    )


def _best(pair: QueryPair, item: Item, texts: Mapping[str, str]) -> Passage | None:
    """The best-ranked chunk of the item, else of a document that its chunks belong to in either corpus."""
    row, unit = pair.after.row, pair.after.unit
    own = [hit for hit in row.results if unit_name(hit, unit) in item.members]
    documents = _documents(pair, item)
    near = own or [hit for hit in row.results if hash64(hit.doc) in documents]
    return _passage(near[0], row.query, texts) if near else None


def _documents(pair: QueryPair, item: Item) -> frozenset[int]:
    """Hashes of the documents that the item's ids belong to, before or now: a spelling says nothing about it."""
    corpora = [side.corpus for side in (pair.before, pair.after) if side]
    return frozenset[int]().union(
        *(corpus.documents(member, pair.after.unit) for corpus in corpora for member in item.members)
    )


def _passage(hit: Hit, query: str, texts: Mapping[str, str]) -> Passage:
    text = texts.get(hit.text_hash, "")
    return Passage(
        id=hit.id,
        rank=hit.rank,
        score=hit.score,
        overlap=overlap(query, text) if text and query else None,
        text=text,
    )


def _rivals(pair: QueryPair, texts: Mapping[str, str]) -> tuple[Rival, ...]:
    after, row = pair.after, pair.after.row
    if not after.items:
        return ()
    old, relevant = pair.places_before, after.relevant
    limit = after.first or len(after.ranked) + 1
    above = [name for name in after.ranked[: limit - 1] if name not in relevant][:MOST_RIVALS]
    first: dict[str, Hit] = {}
    for hit in row.results:
        first.setdefault(unit_name(hit, after.unit), hit)
    return tuple(
        Rival(
            id=name,
            before=old.get(name, 0),
            after=after.ranked.index(name) + 1,
            passage=_passage(first[name], row.query, texts),
        )
        for name in above
    )


def overlap(query: str, text: str) -> float | None:
    """Share of the query's words that are in `text`; None for a query without words."""
    asked = set(tokens(query))
    return len(asked.intersection(tokens(text))) / len(asked) if asked else None


def find(rows: Sequence[QueryRow], wanted: str) -> list[QueryRow]:
    """The row of this id; else the rows whose text holds `wanted`, else those that hold all of its words."""
    exact = [row for row in rows if row.query_id == wanted]
    plain = wanted.casefold()
    whole = exact or [row for row in rows if plain in row.query.casefold()]
    asked = set(tokens(wanted))
    return whole or [row for row in rows if asked and asked.issubset(tokens(row.query))]
