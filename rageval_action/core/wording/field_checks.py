"""What is wrong with a value that somebody wrote, in their words and not in those of a library."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import fields

from rageval_action.core.wording.lists import listed

FieldKind: TypeAlias = Literal["text", "number", "whole number", "flag", "date", "list"] | tuple[str, ...]
"""What a value has to be; several words are the only ones allowed."""

_KINDS: dict[object, FieldKind] = {
    str: "text",
    float: "number",
    int: "whole number",
    bool: "flag",
    datetime.date: "date",
}

_LONGEST = 60


def kinds_of(struct: type[Struct]) -> dict[str, FieldKind]:
    """What each field of a struct has to be, by the name that stands in a file."""
    return {field.encode_name: _KINDS.get(field.type) or get_args(field.type) for field in fields(struct)}


def required_of(struct: type[Struct]) -> list[str]:
    """The fields that have no default, by the name that stands in a file."""
    return [field.encode_name for field in fields(struct) if field.required]


def shown(value: object) -> str:
    """A value as its writer knows it, cut where it is long."""
    if isinstance(value, bool):
        return str(value).lower()
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def check_value(name: str, value: object, kind: FieldKind) -> None:
    """Refuse a value that is not of its kind.

    Raises:
        ValueError: naming the field, what stands there and what may.
    """
    if isinstance(kind, tuple):
        if not isinstance(value, str) or value not in kind:
            raise ValueError(f"{name} is {shown(value)}, none of {', '.join(kind)}")
        return
    if kind == "date" and isinstance(value, str):
        _check_date(name, value)
        return
    types: dict[str, type | tuple[type, ...]] = {
        "text": str,
        "number": (int, float),
        "whole number": int,
        "flag": bool,
        "date": datetime.date,
        "list": list,
    }
    # To Python true is a number and a moment is a date.
    too_wide = (kind != "flag" and isinstance(value, bool)) or isinstance(value, datetime.datetime)
    if too_wide or not isinstance(value, types[kind]):
        what = (
            "neither true nor false" if kind == "flag" else "not text" if kind == "text" else f"not a {kind}"
        )
        raise ValueError(f"{name} is {shown(value)}, {what}")


def check_fields(
    entry: object, kinds: Mapping[str, FieldKind], required: Iterable[str] = ()
) -> dict[str, object]:
    """The fields of an entry that hold something, each known and of its kind.

    Raises:
        ValueError: no mapping, an unknown field, a value of another kind, or a required field that is missing.
    """
    if not isinstance(entry, Mapping):
        raise ValueError(f"{shown(entry)} is not a mapping of fields to values")  # noqa: TRY004 - as all of these
    found: dict[str, object] = {}
    for name, value in entry.items():
        if name not in kinds:
            raise ValueError(f'there is no field "{name}"{near(str(name), kinds)}')
        if value is not None:
            check_value(name, value, kinds[name])
            found[name] = value
    missing = [name for name in required if name not in found]
    if missing:
        raise ValueError(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    return found


_LISTED = 12
"""Names that a message lists before it only counts."""


def near(name: str, known: Iterable[str]) -> str:
    """A question after the known name that looks most like this one, or the first of them where none does."""
    import difflib  # only a typing error pays for it

    names = list(known)
    like = difflib.get_close_matches(name, names, n=1)
    if like or not names:
        return f" (did you mean {like[0]}?)" if like else ""
    return f" (there are {listed(names, _LISTED)})"


def _check_date(name: str, text: str) -> None:
    try:
        good = datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        good = False
    if not good:
        raise ValueError(f"{name} is {shown(text)}, not a date of the form 2027-01-31")
