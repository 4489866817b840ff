"""Rows that hold one judgment each: a question, one document and a grade, as spreadsheets have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rageval_action.core.labels.grade_scale import scale_key
from rageval_action.golden.field_names import DOC_NAMES, is_judging, normalise
from rageval_action.golden.field_values import is_absent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rageval_action.golden.containers import Line

_ALWAYS = ("grade", "relevance_grade", "relevance_score", "relevance", "rel", "rating", "is_relevant")
"""Names of grades, whatever their form: a word needs a grade map."""

_WHEN_WHOLE = ("score", "label", "judgment", "judgement")
"""Names of grades where every value is a number."""

_WHEN_YES_OR_NO = ("relevant",)
"""Names of ids that hold a grade where every value says yes or no."""


def judgment_fields(lines: Sequence[Line], names: Sequence[str], mapped: Mapping[str, str]) -> dict[str, str]:
    """The document and the grade of each row, as `relevant` and `grade` -> the file's names; empty for other rows.

    Args:
        lines: the rows.
        names: of their fields.
        mapped: what the user declared; a `grade` there decides.
    """
    grade = mapped.get("grade") or next(_grades(lines, names), "")
    if not grade or any(field in mapped for field in ("any_of", "evidence", "texts", "quote", "page")):
        return {}
    by_normal = {normalise(name): name for name in names if name != grade}
    known = [by_normal[name] for name in DOC_NAMES if name in by_normal]
    doc = mapped.get("relevant") or next((name for name in names if name != grade and is_judging(name)), "")
    doc = doc or next(iter(known), "")
    if not doc or not _is_single(lines, doc):
        return {}
    return {"relevant": doc, "grade": grade}


def _grades(lines: Sequence[Line], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        normal = normalise(name)
        values = [line.row[name] for line in lines if not is_absent(line.row.get(name))]
        if not values or not all(isinstance(value, str | int | float) for value in values):
            continue
        yes_or_no = all(
            scale_key(value).lower() in ("0", "1", "true", "false", "yes", "no") for value in values
        )
        whole = all(scale_key(value).lstrip("-").replace(".", "", 1).isdigit() for value in values)
        if (
            normal in _ALWAYS
            or (normal in _WHEN_WHOLE and whole)
            or (normal in _WHEN_YES_OR_NO and yes_or_no)
        ):
            yield name


def _is_single(lines: Sequence[Line], name: str) -> bool:
    """True when the field never holds a list or an object."""
    return all(not _is_several(line.row.get(name)) for line in lines)


def _is_several(value: Any) -> bool:
    return isinstance(value, list | tuple | dict) or (isinstance(value, str) and value.lstrip()[:1] == "[")


def ids_of_judgments(lines: Sequence[Line], name: str, query: str) -> bool:
    """True when `name` numbers the rows and not their questions: each row has its own, and questions repeat."""
    ids = [str(line.row.get(name)) for line in lines]
    texts = {str(line.row.get(query)) for line in lines}
    return len(set(ids)) == len(ids) > len(texts)
