"""An option in all its spellings, and the one parser of what somebody wrote for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from rageval_action.core.wording.field_checks import check_value, shown

ValueKind: TypeAlias = Literal["text", "path", "paths", "integer", "number", "flag", "list", "choice"]

_FLAG_WORDS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


class Option(Struct, frozen=True, kw_only=True):
    """One option, whether a flag, an input of the Action, a key of a file or an option of a retriever.

    Attributes:
        name: kebab-case; `--name`, `INPUT_NAME` (hyphens or underscores), `name:` in the file.
        default: as written by a user; empty = not set.
        choices: of a `choice`, and of the items of a `list`.
        least, most: of an `integer` or a `number`, both allowed.
    """

    name: str
    kind: ValueKind
    help: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 1_000_000


def parse_value(option: Option, value: object) -> Any:
    """`value`, as a person or a file wrote it, as what the option is.

    Returns:
        int for `integer`, float for `number`, bool for `flag`, a tuple of str for `list`, else str; several `paths`
        are lines of one text.

    Raises:
        ValueError: what stands there, and what may.
    """
    match option.kind:
        case "integer" | "number":
            return _number(option, value)
        case "flag":
            word = str(value).strip().lower()
            if word not in _FLAG_WORDS:
                raise ValueError(f"{shown(value)} is neither true nor false")
            return _FLAG_WORDS[word]
        case "list":
            return _list(option, value)
        case "paths":
            return _paths(option, value)
        case "choice":
            if value not in option.choices:
                raise ValueError(f"{shown(value)} is none of {', '.join(filter(None, option.choices))}")
            return value
        case _:
            check_value(option.name, value, "text")
            return value


def read_input(environ: Mapping[str, str], name: str) -> str:
    """The Action's input `name`, spelled with hyphens or underscores; blank ones are not given."""
    for spelling in (f"INPUT_{name.upper()}", f"INPUT_{name.upper().replace('-', '_')}"):
        if value := environ.get(spelling, "").strip():
            return value
    return ""


def _number(option: Option, value: object) -> float:
    kind: type[float] = int if option.kind == "integer" else float
    try:
        number = msgspec.convert(value.strip() if isinstance(value, str) else value, kind, strict=False)
        inside = option.least <= number <= option.most
    except msgspec.ValidationError:
        inside = False
    if not inside:
        what = "a whole number" if kind is int else "a number"
        span = f"from {option.least:,.13g} to {option.most:,.13g}"
        raise ValueError(f"{shown(value)} is not {what} {span}")
    return number


def _paths(option: Option, value: object) -> str:
    items = value if isinstance(value, (list, tuple)) else (value,)
    for item in items:
        check_value(option.name, item, "text")
    return "\n".join(str(item) for item in items)


def _list(option: Option, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        items = tuple(part.strip() for part in value.replace("\n", ",").split(",") if part.strip())
    elif isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        items = tuple(value)
    else:
        raise ValueError(f"{shown(value)} is not a list of names")
    unknown = sorted({*items}.difference(option.choices)) if option.choices else ()
    if unknown:
        raise ValueError(f"{', '.join(map(shown, unknown))} is none of {', '.join(option.choices)}")
    return items
