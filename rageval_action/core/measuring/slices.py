"""Slices: the parts of a golden set that are looked at on their own."""

from __future__ import annotations

from collections.abc import Sequence

from rageval_action.core.model.record import QueryRow

SMALLEST = 20
"""A slice of fewer queries shows its queries, not a percentage, and decides no statistical gate."""


def names(row: QueryRow) -> tuple[str, ...]:
    """The slices a query belongs to, each once: `tag:…`, `type:…`, `lang:…`, `source:…`, `principal:…`."""
    single = {"type": row.type, "lang": row.lang, "source": row.source, "principal": row.principal}
    return (
        *(f"tag:{tag}" for tag in dict.fromkeys(row.tags)),
        *(f"{kind}:{value}" for kind, value in single.items() if value),
    )


def split(rows: Sequence[QueryRow]) -> dict[str, list[int]]:
    """Slice name -> positions in `rows`, by name."""
    found: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        for name in names(row):
            found.setdefault(name, []).append(position)
    return {name: found[name] for name in sorted(found)}
