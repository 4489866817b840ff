"""What a query should find, as items with ids, and where each stands in a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from rageval_action.core.model.types import EvidenceItems, Grades, Groups, Hit, Judgments, Unit


class Item(Struct, frozen=True):
    """One thing to be found: any of `members` will do. `label` is what a reader sees."""

    label: str
    members: tuple[str, ...]
    grade: int = 1


def items_of(judgments: Judgments) -> tuple[Item, ...]:
    """What a query should find, best grade first, then by label."""
    match judgments:
        case Grades(grades=grades):
            found = [Item(name, (name,), grade) for name, grade in grades.items() if grade >= 1]
        case Groups(groups=groups):
            found = [Item(" | ".join(group), group) for group in groups]
        case EvidenceItems(items=items):
            found = [Item(f"{item.doc}: {item.quote}", item.chunks) for item in items]
        case _:
            found = []
    return tuple(sorted(found, key=lambda item: (-item.grade, item.label)))


def best_rank(places: Mapping[str, int], item: Item) -> int:
    """Rank of the item's first member, 0 when none has a place; `places` are those of `places_of`."""
    return min((places[member] for member in item.members if member in places), default=0)


def places_of(ranked: Sequence[str]) -> dict[str, int]:
    """1-based rank of each id in a ranking."""
    return dict(zip(ranked, range(1, len(ranked) + 1), strict=True))


def unit_name(hit: Hit, unit: Unit) -> str:
    """The id of a hit that judgments name."""
    return hit.doc if unit == "document" else hit.id
