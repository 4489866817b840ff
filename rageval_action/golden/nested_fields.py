"""Values inside values by dotted names: objects, objects in lists, and JSON texts in cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DEEPEST = 4
"""Levels of names that a message lists."""

_LOOKED_AT = 50
"""Rows in which nested names are looked for."""


def at(row: Mapping[str, Any], path: str) -> Any:
    """The value under `path`; where no key has that name, dots reach into objects, None when there is none.

    Of a list of objects it is the list of their values; a JSON text counts as what it holds.
    """
    if path in row:
        return row[path]
    for name in row:
        if path.startswith(f"{name}."):
            found = _inside(row[name], path[len(name) + 1 :])
            if found is not None:
                return found
    return None


def _inside(value: Any, path: str) -> Any:
    value = opened(value)
    if isinstance(value, dict):
        return at(value, path)
    if isinstance(value, list | tuple):
        found = [at(item, path) for item in value if isinstance(item, dict)]
        return found if any(one is not None for one in found) else None
    return None


def opened(value: Any) -> Any:
    """A text that is a JSON object or list as what it holds; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return value


def nested_names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Dotted names that exist below the rows' own fields, in the order in which they are met."""
    found: dict[str, None] = {}
    for place, row in enumerate(rows):
        if place == _LOOKED_AT:
            break
        for name, value in row.items():
            found.update(dict.fromkeys(_below(str(name), value, _DEEPEST)))
    return list(found)


def _below(prefix: str, value: Any, depth: int) -> Iterator[str]:
    value = opened(value)
    if depth == 0:
        return
    objects = value if isinstance(value, list | tuple) else [value]
    for one in objects:
        if isinstance(one, dict):
            for name, inner in one.items():
                yield f"{prefix}.{name}"
                yield from _below(f"{prefix}.{name}", inner, depth - 1)
