"""Values of a foreign row: lists in cells, ids in objects, spans. Every function raises `RowError`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from rageval_action.golden.field_names import normalise
from rageval_action.golden.query_builder import Id, RowError
from rageval_action.golden.row_faults import kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from rageval_action.golden.reader_types import ReadOptions

NO_SEPARATOR = "none"
"""What a user declares when a cell is one id, whatever it holds."""

_SUSPECTS = "|;\n,"
_ABSENT = {"", "nan", "none", "null", "n/a"}
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
    """True for what a file writes when it has nothing to say."""
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN, as data frames write it
        return True
    return value is None or (isinstance(value, str) and value.strip().lower() in _ABSENT)


def at(row: Mapping[str, Any], path: str) -> Any:
    """The value under `path`; where no key has that name, dots reach into objects. None when there is none."""
    if path in row:
        return row[path]
    value: Any = row
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def unpack_cell(cell: str, field: str, options: ReadOptions, known: AbstractSet[str]) -> Any:
    """What a CSV cell of ids or texts holds: a JSON list, a Python list, separated ids, or one id.

    A cell that could be several ids is never read as one unless the user said so or the corpus has that id.
    """
    text = cell.strip()
    if text[:1] in ("[", "{"):
        return _literal(text, field)
    if options.separator == NO_SEPARATOR or text in known:
        return text
    if options.separator:
        return [piece.strip() for piece in text.split(options.separator) if piece.strip()]
    for mark in _SUSPECTS:
        if mark in text:
            shown = "a line break" if mark == "\n" else f'"{mark}"'
            raise RowError(
                f"`{field}` holds {shown}: one id or several? Declare it with --list-separator "
                f'"{mark if mark != chr(10) else chr(92) + "n"}", or --list-separator none.'
            )
    return text


def _literal(text: str, field: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        try:
            return ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise RowError(f"`{field}` starts like a list but is neither JSON nor a Python list.") from None


def judged(value: Any, field: str, options: ReadOptions) -> dict[str, int] | list[Id]:
    """Ids (grade 1) or id -> grade, from one id, a list, a map, or a list of objects."""
    if isinstance(value, dict):
        if any(normalise(str(key)) in _ID_KEYS for key in value):
            return _from_objects([value], field, options)
        return {str(key): _grade(grade, field, options) for key, grade in value.items()}
    items = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(item, dict) for item in items):
        return _from_objects(items, field, options)
    return [one_id(item, f"{field}[{place}]", options) for place, item in enumerate(items)]


def one_id(item: Any, field: str, options: ReadOptions) -> Id:
    """An id; a composite one (a list of parts) needs the user's template."""
    if isinstance(item, bool) or item is None or isinstance(item, float | dict):
        raise RowError(f"`{field}` is {kind(item)}; an id is text or a whole number.")
    if isinstance(item, list | tuple):
        if not options.id_template:
            inner = ", ".join(kind(part) for part in item) or "nothing"
            raise RowError(
                f"`{field}` is an id of several parts ({inner}). Say how a chunk id is made of them: "
                '--id-template "{0}-{1}".'
            )
        try:
            return options.id_template.format(*item)
        except (LookupError, ValueError, AttributeError, MemoryError, OverflowError) as fault:
            raise RowError(f"the id template does not fit `{field}`: {fault}.") from fault
    made: Id = item
    return made


def _from_objects(items: Any, field: str, options: ReadOptions) -> dict[str, int]:
    grades: dict[str, int] = {}
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            raise RowError(f"`{field}` mixes objects and ids.")
        by_name = {normalise(str(key)): value for key, value in item.items()}
        name = next((by_name[key] for key in _ID_KEYS if key in by_name), None)
        grade = next((by_name[key] for key in _GRADE_KEYS if key in by_name), None)
        if name is None:
            raise RowError(f"`{field}[{place}]` has no id among its keys: {', '.join(map(str, item))}.")
        key = str(one_id(name, f"{field}[{place}].id", options))
        grades[key] = 1 if grade is None else _grade(grade, field, options)
    return grades


def _grade(grade: Any, field: str, options: ReadOptions) -> int:
    if isinstance(grade, bool) or not isinstance(grade, int):
        raise RowError(f"a grade in `{field}` is {kind(grade)} ({grade}); a grade is a whole number.")
    return map_grade(grade, options)


def map_grade(grade: int, options: ReadOptions) -> int:
    """The grade in our scale."""
    if not options.grades:
        return grade
    if grade not in options.grades:
        raise RowError(f"the grade {grade} is not in the grade map.")
    return options.grades[grade]


def groups(value: Any, field: str, options: ReadOptions) -> tuple[tuple[Id, ...], ...]:
    """Groups of alternatives: a flat list is one group, a nested one several."""
    items = value if isinstance(value, list | tuple) else [value]
    if not items:
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
