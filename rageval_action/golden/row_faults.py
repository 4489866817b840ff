"""Says in words why a line is not a row. Only lines that failed to decode come here: time does not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rageval_action.core.model.types import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

_NESTED: dict[str, frozenset[str]] = {
    "evidence": frozenset(Evidence.__struct_encode_fields__) | {"end", "hash"},
}
"""Known keys of the objects inside a row; `end` and `hash` are written by generation and not needed here."""

_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a decimal number"),
    (str, "text"),
    ((list, tuple), "a list"),
    (dict, "an object"),
    (bytes, "binary"),
    (type(None), "null"),
)


def unknown_keys(row: Mapping[str, Any], known: AbstractSet[str]) -> list[str]:
    """Keys of the row that are not in `known`; those inside `evidence` read `evidence.page`."""
    names = [name for name in row if name not in known]
    for field, inner in _NESTED.items():
        names += [f"{field}.{name}" for name in _keys(row.get(field)) if name not in inner]
    return list(dict.fromkeys(names))


def explain(row: object, error: Exception | None = None) -> str:
    """One sentence that says what is wrong with a line that is not a canonical row; `row` is its plain values."""
    if not isinstance(row, dict):
        return f"a row is an object with `id`, `query` and what should be found; this is {kind(row)}."
    for field in ("id", "query"):
        if field not in row:
            return f"the row has no `{field}` (it has: {', '.join(f'`{key}`' for key in row) or 'no keys'})."
    return _bad_relevant(row.get("relevant", {})) or _from_msgspec(str(error))


def kind(value: object) -> str:
    """What a value is, for a person."""
    return next((name for type_, name in _KINDS if isinstance(value, type_)), f"a {type(value).__name__}")


def _bad_relevant(relevant: object) -> str:
    """Names the judged id whose spelling is wrong; empty when `relevant` is not at fault."""
    if isinstance(relevant, dict):
        return ""
    if isinstance(relevant, list):
        for item in relevant:
            if isinstance(item, bool) or not isinstance(item, str | int):
                return f"`relevant` lists ids, but one entry is {kind(item)}."
        return ""
    return f"`relevant` is {kind(relevant)}; it is a list of ids or an object of id and grade."


def _from_msgspec(text: str) -> str:
    """`Expected `str`, got `int` - at `$.tags[0]`` in the words of this module; a sentence stays as it is."""
    if text.endswith("."):
        return text
    what, _, place = text.partition(" - at ")
    what = what.replace("`array`", "a list").replace("`object`", "an object").replace("`str`", "text")
    what = (
        what.replace("`int`", "a whole number").replace("`bool`", "true or false").replace("`null`", "null")
    )
    field = place.strip("`").removeprefix("$.") or "the row"
    return f"`{field}`: {what[:1].lower()}{what[1:]}."


def _keys(value: object) -> Iterable[str]:
    """Keys of an object, or of every object in a list."""
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, list):
        return [key for item in value if isinstance(item, dict) for key in item]
    return ()
