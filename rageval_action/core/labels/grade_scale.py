"""Grades as people write them, as the whole numbers that measures take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import TypeAlias

from rageval_action.core.wording.field_checks import shown

GradeScale: TypeAlias = Mapping[str, int]
"""A grade in the file, as `scale_key` spells it -> its grade here; empty = grades are taken as written."""

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?", re.ASCII)


def scale_key(value: object) -> str:
    """One spelling for equal grades: `1`, `1.0` and `+1` are `1`; true is `true`; a word is itself, stripped."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value).strip()
    if not _NUMBER.fullmatch(text):
        return text
    number = Decimal(text)
    return format(number.normalize() if number else Decimal(0), "f")


def parse_grade_map(text: str) -> dict[str, int]:
    """Read `0.75=3,high=2` as a scale.

    Raises:
        ValueError: a piece is not OLD=NEW with a whole NEW, or an OLD occurs twice.
    """
    scale: dict[str, int] = {}
    for piece in filter(None, map(str.strip, text.split(","))):
        old, mark, new = piece.rpartition("=")
        if not mark or not old.strip() or not re.fullmatch(r"[+-]?\d{1,9}", new.strip(), re.ASCII):
            raise ValueError(f"{shown(piece)} is not OLD=NEW with a whole number as NEW")
        if scale_key(old) in scale:
            raise ValueError(f"{shown(old)} has two values")
        scale[scale_key(old)] = int(new)
    return scale


def whole_grade(value: object, scale: GradeScale, of: str = "") -> int:
    """A grade as a whole number: through the scale where there is one, else as written.

    Whole-valued decimals and true or false (1 or 0) are whole numbers.

    Args:
        value: the grade as the file has it.
        scale: what its grades are worth here.
        of: the judged id, for the message.

    Raises:
        ValueError: a fraction or a word without a scale, or a grade that the scale lacks; a whole sentence.
    """
    key = scale_key(value)
    if scale and key in scale:
        return scale[key]
    what = f'the grade of "{of}"' if of else "the grade"
    written = "null" if value is None else shown(value)
    if scale:
        raise ValueError(f"{what} is {written}, which is not in the grade map.")
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float | str) and re.fullmatch(r"-?\d{1,18}", key, re.ASCII):
        return int(key)
    plain = isinstance(value, float | str) and key.isprintable() and 0 < len(key) <= 30 and key != "nan"
    cure = f" Say what each grade is worth: --grade-map {key}=1 (and so on)." if plain else ""
    raise ValueError(f"{what} is {written}, not a whole number.{cure}")
