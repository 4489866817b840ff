"""Rows out of a container: JSON Lines, a JSON array (bare or inside an object), CSV, YAML or Parquet.

Every row keeps the line it starts on, so that a message or a link can point at it.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from rageval_action.errors import GoldenError
from rageval_action.golden.row_faults import kind
from rageval_action.safe_yaml import YamlDocument, YamlError, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rageval_action.core.wording.problem_list import Problems
    from rageval_action.golden.reader_types import Part

CONTAINERS = (
    "questions",
    "cases",
    "queries",
    "items",
    "rows",
    "examples",
    "data",
    "tests",
    "goldens",
    "records",
)
"""Keys under which a JSON or YAML object keeps its rows, best first."""

_DELIMITERS = ",;\t"
_LARGEST_CELL = 1 << 27


class Line(Struct, frozen=True):
    """A row and where it starts: 1-based line, or row number where the container has no lines."""

    number: int
    row: dict[str, Any]


def read_jsonl(part: Part, problems: Problems) -> list[Line]:
    """One object a line; blank lines are skipped."""
    found: list[Line] = []
    for number, piece in enumerate(part.data.split(b"\n"), start=1):
        if not piece.strip():
            continue
        try:
            row = msgspec.json.decode(piece)
        except msgspec.DecodeError as fault:
            problems.add("golden.bad-row", f"{part.path}:{number}", not_json(fault))
            continue
        _keep(found, part, problems, number, row)
    return found


def read_json(part: Part, problems: Problems) -> list[Line]:
    """An array of objects, or an object that holds one under a usual name."""
    data = part.data
    try:
        if data.lstrip().startswith(b"{"):
            table = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
            name = _container(list(table), part.path)
            offset = data.find(bytes(table[name]))
            elements = msgspec.json.decode(table[name], type=list[msgspec.Raw])
        else:
            offset = 0
            elements = msgspec.json.decode(data, type=list[msgspec.Raw])
    except msgspec.MsgspecError as fault:
        raise GoldenError("golden.bad-json", not_json(fault), where=part.path) from fault
    found: list[Line] = []
    line, seen = 1, 0
    for element in elements:
        offset = data.find(bytes(element), offset)
        line += data.count(b"\n", seen, offset)
        seen = offset
        offset += len(bytes(element))
        try:
            _keep(found, part, problems, line, msgspec.json.decode(element))
        except msgspec.DecodeError as fault:  # a number that no integer holds
            problems.add("golden.bad-row", f"{part.path}:{line}", not_json(fault))
    return found


def not_json(fault: Exception) -> str:
    """Why a text is not JSON, in one sentence."""
    return f"this is not JSON: {str(fault).removeprefix('JSON is malformed: ')}."


def read_yaml(part: Part, problems: Problems) -> list[Line]:
    """A sequence of mappings, or a mapping that holds one under a usual name."""
    try:
        document = YamlDocument(part.data)
    except YamlError as fault:
        raise GoldenError("golden.bad-yaml", f"{fault.problem}.", where=fault.place(part.path)) from fault
    rows = document.root
    if rows is not None and rows.id == "mapping":
        names = {str(key.value): value for key, value in rows.value}
        rows = names[_container(list(names), part.path)]
    if rows is None or rows.id != "sequence":
        raise GoldenError("golden.bad-yaml", "the file holds no list of rows.", where=part.path)
    found: list[Line] = []
    for row in rows.value:
        number = line_of(row)
        try:
            _keep(found, part, problems, number, document.value(row))
        except YamlError as fault:
            problems.add("golden.bad-row", f"{part.path}:{fault.line or number}", f"{fault.problem}.")
    return found


def read_csv(part: Part, problems: Problems) -> list[Line]:
    """Rows under a header; the delimiter (comma, semicolon or tab) is the one that splits the header most."""
    text = part.data.decode()
    before = csv.field_size_limit(_LARGEST_CELL)
    try:
        return list(_csv_rows(text, part, problems))
    except csv.Error as fault:
        raise GoldenError(
            "golden.bad-csv", f"the file is not regular CSV: {fault}.", where=part.path
        ) from fault
    finally:
        csv.field_size_limit(before)


def delimiter_of(header: str) -> str:
    """The delimiter that splits a header line most; a comma when none does."""
    return max(_DELIMITERS, key=lambda mark: (len(next(csv.reader([header], delimiter=mark))), mark == ","))


def _csv_rows(text: str, part: Part, problems: Problems) -> Iterator[Line]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter_of(text.partition("\n")[0]), strict=True
    )
    names = [name.strip() for name in next(reader)]
    doubles = sorted({name for name in names if name and names.count(name) > 1})
    if doubles:
        raise GoldenError(
            "golden.bad-csv", f"two columns have one name: {', '.join(doubles)}.", where=f"{part.path}:1"
        )
    start = reader.line_num + 1
    for cells in reader:
        number, start = start, reader.line_num + 1
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(names):
            problems.add(
                "golden.bad-row",
                f"{part.path}:{number}",
                f"the row has {len(cells)} cells under {len(names)} columns; quote a cell that holds the delimiter.",
            )
            continue
        yield Line(number, {name: cell for name, cell in zip(names, cells, strict=False) if cell.strip()})


def read_parquet(part: Part, problems: Problems) -> list[Line]:
    """Rows of a Parquet file; nested lists stay nested.

    Raises:
        GoldenError: `golden.needs-extra` when the extra `[parquet]` is not installed; `golden.bad-parquet`.
    """
    del problems
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as absent:
        raise GoldenError(
            "golden.needs-extra",
            "this is a Parquet file, and pyarrow, which reads it, is not installed.",
            hint='Install "rag-eval-action[parquet]", or export the rows as JSON Lines (lists as they are nested).',
            where=part.path,
        ) from absent
    try:
        rows = pq.read_table(io.BytesIO(part.data)).to_pylist()
    except (pa.ArrowException, OSError, ValueError) as fault:
        reason = str(fault).splitlines()[0] if str(fault) else "it cannot be read"
        raise GoldenError(
            "golden.bad-parquet", f"the Parquet file is broken: {reason}.", where=part.path
        ) from fault
    return [Line(number, row) for number, row in enumerate(rows, start=1)]


def _container(names: list[str], path: str) -> str:
    """The key that holds the rows."""
    for name in CONTAINERS:
        if name in names:
            return name
    raise GoldenError(
        "golden.no-rows",
        f"the file is one object without a list of rows; its keys are {', '.join(names[:20])}.",
        hint=f"Put the rows in an array, or under one of: {', '.join(CONTAINERS)}.",
        where=path,
    )


def _keep(found: list[Line], part: Part, problems: Problems, number: int, row: object) -> None:
    if isinstance(row, dict):
        found.append(Line(number, row))
    else:
        problems.add("golden.bad-row", f"{part.path}:{number}", f"a row is an object; this is {kind(row)}.")
