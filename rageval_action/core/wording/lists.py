"""Counts and lists of names as people read them."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMED = 10
"""Names that a sentence lists before it counts the rest."""


def plural(count: int, one: str, many: str = "") -> str:
    """`1 chunk`, `2 chunks`, `1,200 chunks`; `many` where an s is not enough."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def queries(count: int) -> str:
    """`1 query`, `2 queries`."""
    return plural(count, "query", "queries")


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """The first `most` names and how many more there are: `a, b and 3 more`."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def both(names: Sequence[str], most: int) -> str:
    """`a and b`; `a, b and c`; `a, b and 3 more`."""
    if len(names) > most:
        return listed(names, most)
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), *names[-1:]])
