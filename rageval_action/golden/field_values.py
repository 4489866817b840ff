"""Values of a foreign row: lists in cells, ids in objects, spans. Every function raises `RowError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from rageval_action.core.labels.grade_scale import whole_grade
from rageval_action.golden import json_values, printed_lists
from rageval_action.golden.field_names import normalise
from rageval_action.golden.query_builder import Id, RowError
from rageval_action.golden.row_faults import kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from rageval_action.golden.reader_types import ReadOptions

NO_SEPARATOR = "none"
"""What a user declares when a cell is one id, whatever it holds."""

_SUSPECTS = "|;\n,"
_ABSENT_WORDS = {"nan", "none", "null", "n/a"}
_ID_KEYS = ("id", "_id", "doc_id", "chunk_id", "document_id", "node_id", "doc", "document", "source", "file")
_GRADE_KEYS = ("grade", "score", "relevance", "rel", "label")
_DOC_KEYS = (
    "doc",
    "doc_id",
    "document_id",
    "document",
    "source",
    "source_file",
    "file",
    "file_name",
    "filename",
)
_QUOTE_KEYS = ("quote", "text", "passage", "content", "span")
_START_KEYS = ("start", "char_start", "start_char", "start_offset", "begin", "offset")
_END_KEYS = ("end", "char_end", "end_char", "end_offset")


class Span(Struct, frozen=True, kw_only=True):
    """A place in a document: its text, its offsets, or both. Absent offsets are -1, an absent text is empty."""

    doc: str
    quote: str = ""
    start: int = -1
    end: int = -1


def is_absent(value: object) -> bool:
    """True for null, for NaN as data frames write it, and for a blank text."""
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN
        return True
    return value is None or (isinstance(value, str) and not value.strip())


def is_absent_word(value: object) -> bool:
    """True for a word that a cell holds when there is nothing to say; in JSON it is a text like any other."""
    return isinstance(value, str) and value.strip().lower() in _ABSENT_WORDS


def is_nothing(value: object) -> bool:
    """True for what says outright that nothing should be found: null, an empty list or map, or only nulls."""
    if value is None or value == {}:
        return True
    return isinstance(value, list | tuple) and all(is_nothing(item) for item in value)


def unpack_cell(cell: str, field: str, options: ReadOptions, known: AbstractSet[str]) -> Any:
    """What a cell of ids or texts holds: a JSON list, a list as Python or NumPy print it, separated ids, or one id.

    A cell that could be several ids is never read as one unless the user said so or the corpus has that id. One id
    is the cell as it stands, blanks included.
    """
    options.used.add("--list-separator")
    if options.separator == NO_SEPARATOR:
        return cell
    text = cell.strip()
    if cell in known:
        return cell
    if printed_lists.is_printed(text):
        return _list(text, field)
    if options.separator:
        return [piece.strip() for piece in text.split(options.separator) if piece.strip()]
    for mark in _SUSPECTS:
        if mark in text:
            shown = "a line break" if mark == "\n" else f'"{mark}"'
            raise RowError(
                f"`{field}` holds {shown}: one id or several? Declare it with --list-separator "
                f'"{mark if mark != chr(10) else chr(92) + "n"}", or --list-separator none.'
            )
    return cell


def _list(text: str, field: str) -> Any:
    try:
        return json_values.decode(text)
    except json_values.RepeatedKeyError as fault:
        raise RowError(f"`{field}`: {fault}.") from fault
    except msgspec.DecodeError:
        pass
    try:
        return printed_lists.parse_printed(text)
    except RecursionError:
        raise
    except ValueError as fault:
        raise RowError(f"`{field}` starts like a list, but {fault}.") from fault


def judged(value: Any, field: str, options: ReadOptions) -> dict[str, int] | list[Id]:
    """Ids (grade 1) or id -> grade, from one id, a list, a map, or a list of objects."""
    if isinstance(value, dict):
        if any(normalise(str(key)) in _ID_KEYS for key in value):
            return _from_objects([value], field, options)
        return {
            str(one_id(key, field, options)): grade_of(grade, options, str(key))
            for key, grade in value.items()
        }
    items = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(item, dict) for item in items):
        return _from_objects(items, field, options)
    return [one_id(item, f"{field}[{place}]", options) for place, item in enumerate(items)]


def one_id(item: Any, field: str, options: ReadOptions) -> Id:
    """An id; a composite one (a list of parts) needs the user's template."""
    if isinstance(item, list | tuple):
        return _composite(item, field, options)
    if isinstance(item, bool) or not isinstance(item, str | int):
        raise RowError(f"`{field}` is {kind(item)}; an id is text or a whole number.")
    return item


def _composite(item: Sequence[Any], field: str, options: ReadOptions) -> str:
    inner = ", ".join(kind(part) for part in item) or "nothing"
    if not options.id_template:
        raise RowError(
            f"`{field}` is an id of several parts ({inner}). Say how a chunk id is made of them: "
            '--id-template "{0}-{1}".'
        )
    if any(isinstance(part, bool) or not isinstance(part, str | int) for part in item):
        raise RowError(f"`{field}` is an id of several parts ({inner}); each is text or a whole number.")
    options.used.add("--id-template")
    try:
        return options.id_template.format(*item)
    except (LookupError, ValueError, AttributeError, MemoryError, OverflowError) as fault:
        raise RowError(f"the id template does not fit `{field}`: {fault}.") from fault


def _from_objects(items: Any, field: str, options: ReadOptions) -> dict[str, int]:
    grades: dict[str, int] = {}
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            raise RowError(f"`{field}` mixes objects and ids.")
        by_name = {normalise(str(key)): value for key, value in item.items()}
        name = next((by_name[key] for key in _ID_KEYS if key in by_name), None)
        written = next((by_name[key] for key in _GRADE_KEYS if key in by_name), None)
        if name is None:
            raise RowError(f"`{field}[{place}]` has no id among its keys: {', '.join(map(str, item))}.")
        key = str(one_id(name, f"{field}[{place}].id", options))
        grade = 1 if written is None else grade_of(written, options, key)
        if grades.setdefault(key, grade) != grade:
            raise RowError(f'"{key}" has two grades in `{field}`, {grades[key]} and {grade}.')
    return grades


def grade_of(grade: Any, options: ReadOptions, of: str = "") -> int:
    """A grade of the file in our scale."""
    options.used.add("--grade-map")
    try:
        return whole_grade(grade, options.grades, of)
    except ValueError as fault:
        raise RowError(str(fault)) from fault


def spare_keys(value: Any, field: str) -> list[str]:
    """Keys of the objects in a field that nothing reads: beside the id and grade of what is judged, or in a span."""
    items = value if isinstance(value, list | tuple) else [value]
    known = {*_ID_KEYS, *_GRADE_KEYS}
    if field == "evidence":
        known = {*_DOC_KEYS, *_QUOTE_KEYS, *_START_KEYS, *_END_KEYS}
    found: dict[str, None] = {}
    for item in items:
        if isinstance(item, dict) and any(normalise(str(key)) in known for key in item):
            found.update(dict.fromkeys(str(key) for key in item if normalise(str(key)) not in known))
    return list(found)


def groups(value: Any, field: str, options: ReadOptions) -> tuple[tuple[Id, ...], ...]:
    """Groups of alternatives: a flat list is one group, a nested one several."""
    items = value if isinstance(value, list | tuple) else [value]
    if is_nothing(items):
        return ()
    if all(isinstance(item, list | tuple) for item in items):
        return tuple(tuple(one_id(member, field, options) for member in item) for item in items)
    return (tuple(one_id(item, field, options) for item in items),)


def spans(value: Any, field: str) -> list[Span] | list[str]:
    """Spans of documents, or bare texts when the items name no document."""
    items = value if isinstance(value, list | tuple) else [value]
    if all(isinstance(item, str) for item in items):
        return [str(item) for item in items]
    found: list[Span] = []
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            raise RowError(
                f"`{field}[{place}]` is {kind(item)}; it is an object with a document and a quote."
            )
        by_name = {normalise(str(key)): inner for key, inner in item.items()}
        doc = next((by_name[key] for key in _DOC_KEYS if key in by_name), None)
        if isinstance(doc, bool) or not isinstance(doc, str | int):
            raise RowError(
                f"`{field}[{place}]` names no document among its keys: {', '.join(map(str, item))}."
            )
        quote = next((by_name[key] for key in _QUOTE_KEYS if isinstance(by_name.get(key), str)), "")
        found.append(
            Span(
                doc=str(doc),
                quote=quote,
                start=_offset(by_name, _START_KEYS),
                end=_offset(by_name, _END_KEYS),
            )
        )
    return found


def _offset(by_name: Mapping[str, Any], names: tuple[str, ...]) -> int:
    value = next((by_name[key] for key in names if key in by_name), -1)
    if isinstance(value, bool) or not isinstance(value, int):
        raise RowError(f"an offset is {kind(value)}; it counts characters.")
    return value


def truth(value: Any, field: str) -> bool:
    """A yes or no, as JSON or as a cell writes it."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in ("true", "yes", "1", "y"):
        return True
    if word in ("false", "no", "0", "n"):
        return False
    raise RowError(f"`{field}` is {value!r}; write true or false.")
