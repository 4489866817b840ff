"""Lost queries grouped by what they share, each group with the code of the advice that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from rageval_action.core.comparing.query_changes import QueryChange
from rageval_action.core.measuring.miss_causes import CAUSES

Kind = Literal["cause", "rival", "slice"]

SMALLEST_GROUP = 2
"""One query is not a pattern."""

OVERREPRESENTED = 1.5
"""A slice is named when its share of the losses is this many times its share of all queries."""

LOSSES = ("lost", "worse")

BEATEN = ("outranked", "below-depth")
"""Causes that say no more than that other texts rank above the right one."""


ADVISED = frozenset(CAUSES) - {"query-changed", "no-relevant-retrieved-before"}
"""Causes that call for a change of their own."""


class Cluster(Struct, frozen=True, kw_only=True):
    """Queries that were lost alike.

    Attributes:
        kind: grouped by primary cause, by a shared rival document, or by a slice that holds too many of the losses.
        name: the cause, the rival's id, or the slice.
        queries: ids, worst first.
        advice: code of what to try (`sentences.cause_words.ADVICE`).
        fitting: how many of the queries it is about; the others are only alike in cause.
    """

    kind: Kind
    name: str
    queries: tuple[str, ...]
    advice: str
    fitting: int


def losses(changes: Iterable[QueryChange]) -> list[QueryChange]:
    """The changes that are losses, in the order given."""
    return [change for change in changes if change.change in LOSSES]


def clusters(
    changes: Sequence[QueryChange], slices: Mapping[str, Sequence[str]] | None = None
) -> tuple[Cluster, ...]:
    """Group lost and worse queries; the largest groups first, causes before rivals before slices.

    Args:
        changes: of a comparison, worst first; only losses are grouped.
        slices: query id -> names of its slices, for *every* query of the run; without them no slice is named.
    """
    lost = losses(changes)
    found = [*_causes(lost), *_rivals(lost), *_slices(lost, slices or {})]
    order = ("cause", "rival", "slice")
    return tuple(sorted(found, key=lambda group: (order.index(group.kind), -len(group.queries), group.name)))


def _causes(lost: Sequence[QueryChange]) -> list[Cluster]:
    groups: dict[str, list[QueryChange]] = {}
    for change in lost:
        if change.cause:
            groups.setdefault(change.cause, []).append(change)
    return [_cause(cause, members) for cause, members in groups.items()]


def _cause(cause: str, members: Sequence[QueryChange]) -> Cluster:
    """A group by cause with the advice that fits most of it, the finer one where two fit equally many."""
    fits = Counter(advice_of(cause, change.tags) for change in members)
    advice = max(fits, key=lambda name: (fits[name], name not in (cause, "outranked"), name))
    return Cluster(
        kind="cause",
        name=cause,
        queries=tuple(change.id for change in members),
        advice=advice,
        fitting=fits[advice],
    )


def advice_of(cause: str, tags: Sequence[str]) -> str:
    """Code of the advice for one missed item; the tag `close` (a rank of at most 2k) says "just below the cut"."""
    for tag, advice in (("right-document", "right-document"), ("close", "outranked-close")):
        if cause == "outranked" and tag in tags:
            return advice
    return cause if cause in ADVISED else "outranked"


def _rivals(lost: Sequence[QueryChange]) -> list[Cluster]:
    groups: dict[str, list[str]] = {}
    for change in lost:
        for rival in change.by if change.cause in ("outranked", "duplicate", "below-depth") else ():
            groups.setdefault(rival, []).append(change.id)
    return [
        Cluster(kind="rival", name=rival, queries=tuple(ids), advice="rival", fitting=len(ids))
        for rival, ids in groups.items()
        if len(ids) >= SMALLEST_GROUP
    ]


def _slices(lost: Sequence[QueryChange], slices: Mapping[str, Sequence[str]]) -> list[Cluster]:
    """Slices that hold more of the losses than of the queries."""
    sizes = Counter(name for names in slices.values() for name in names)
    groups: dict[str, list[QueryChange]] = {}
    for change in lost:
        for name in slices.get(change.id, ()):
            groups.setdefault(name, []).append(change)
    found = []
    for name, members in groups.items():
        expected = len(lost) * sizes[name] / len(slices)
        if len(members) >= SMALLEST_GROUP and len(members) >= OVERREPRESENTED * expected:
            found.append(_slice(name, members))
    return found


def _slice(name: str, members: Sequence[QueryChange]) -> Cluster:
    """Exact terms call for lexical search only where other texts won: not where the text is gone or is there twice."""
    beaten = sum(change.cause in BEATEN for change in members)
    exact = beaten > 0 and any(word in name for word in ("exact", "keyword", "code"))
    return Cluster(
        kind="slice",
        name=name,
        queries=tuple(change.id for change in members),
        advice="exact-terms" if exact else "slice",
        fitting=beaten if exact else len(members),
    )
