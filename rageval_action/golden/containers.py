"""Rows out of a container: JSON Lines, a JSON array (bare or inside an object), CSV, YAML or Parquet.

Every row keeps the line it starts on, so that a message or a link can point at it. Values are what the file writes:
no key is lost, and no id becomes another number.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from rageval_action.errors import GoldenError
from rageval_action.golden.json_values import RepeatedKeyError, decode, fault_line, not_json, refuse_repeats
from rageval_action.golden.row_faults import kind
from rageval_action.safe_yaml import YamlDocument, YamlError, line_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


class Rows(list["Line"]):
    """Rows in file order.

    Attributes:
        beside: names of what stands beside the rows in the file, which nothing reads.
    """

    def __init__(self, lines: Iterable[Line] = (), beside: Iterable[str] = ()) -> None:
        super().__init__(lines)
        self.beside = tuple(beside)


class Line(Struct, frozen=True):
    """A row and where it starts: 1-based line, or row number where the container has no lines."""

    number: int
    row: dict[str, Any]


def read_jsonl(part: Part, problems: Problems) -> Rows:
    """One object a line; blank lines are skipped."""
    refuse_lone_returns(part)
    found = Rows()
    for number, piece in enumerate(part.data.split(b"\n"), start=1):
        if not piece.strip():
            continue
        try:
            row = decode(piece)
        except (msgspec.DecodeError, RepeatedKeyError) as fault:
            problems.add("golden.bad-row", f"{part.path}:{number}", not_json(fault, piece))
            continue
        _keep(found, part, problems, number, row)
    return found


def read_json(part: Part, problems: Problems) -> Rows:
    """An array of objects, or an object that holds one under a usual name."""
    data = part.data
    beside: list[str] = []
    try:
        if data.lstrip().startswith(b"{"):
            table = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
            name = _container(list(table), part.path)
            beside = [other for other in table if other != name]
            offset = data.find(bytes(table[name]))
            elements = msgspec.json.decode(table[name], type=list[msgspec.Raw])
            refuse_repeats(data[:offset] + b"0" + data[offset + len(bytes(table[name])) :])
        else:
            offset = 0
            elements = msgspec.json.decode(data, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, RepeatedKeyError) as fault:
        raise bad_json(fault, part) from fault
    found = Rows(beside=beside)
    line, seen = 1, 0
    for element in elements:
        offset = data.find(bytes(element), offset)
        line += data.count(b"\n", seen, offset)
        seen = offset
        offset += len(bytes(element))
        try:
            _keep(found, part, problems, line, decode(bytes(element)))
        except (msgspec.DecodeError, RepeatedKeyError) as fault:  # a number that no integer holds
            problems.add("golden.bad-row", f"{part.path}:{line}", not_json(fault, bytes(element)))
    return found


def bad_json(fault: Exception, part: Part) -> GoldenError:
    """A file that is not JSON, with the line of the fault."""
    line = fault_line(fault, part.data)
    return GoldenError(
        "golden.bad-json", not_json(fault, part.data), where=f"{part.path}:{line}" if line else part.path
    )


def refuse_lone_returns(part: Part) -> None:
    """Refuse a text whose lines end in carriage returns alone: it would be read as one line.

    Raises:
        GoldenError: `golden.bad-line-ends`.
    """
    if b"\n" not in part.data and b"\r" in part.data.strip():
        raise GoldenError(
            "golden.bad-line-ends",
            "the lines end in a carriage return alone, without a line feed.",
            hint="Save the file with line ends of Unix (LF) or Windows (CRLF).",
            where=f"{part.path}:1",
        )


def read_yaml(part: Part, problems: Problems) -> Rows:
    """A sequence of mappings, or a mapping that holds one under a usual name."""
    try:
        document = YamlDocument(part.data)
    except YamlError as fault:
        raise GoldenError("golden.bad-yaml", f"{fault.problem}.", where=fault.place(part.path)) from fault
    rows = document.root
    beside: list[str] = []
    if rows is not None and rows.id == "mapping":
        names = {str(key.value): value for key, value in rows.value}
        name = _container(list(names), part.path)
        beside = [other for other in names if other != name]
        rows = names[name]
    if rows is None or rows.id != "sequence":
        raise GoldenError("golden.bad-yaml", "the file holds no list of rows.", where=part.path)
    found = Rows(beside=beside)
    for row in rows.value:
        number = line_of(row)
        try:
            _keep(found, part, problems, number, document.value(row, as_written=True))
        except YamlError as fault:
            problems.add("golden.bad-row", f"{part.path}:{fault.line or number}", f"{fault.problem}.")
    return found


def read_csv(part: Part, problems: Problems) -> Rows:
    """Rows under a header; the delimiter (comma, semicolon or tab) is the one that splits the header most.

    A first line `sep=;`, as spreadsheets write it, names the delimiter.
    """
    refuse_lone_returns(part)
    text = part.data.decode()
    _refuse_comment(text, part)
    before = csv.field_size_limit(_LARGEST_CELL)
    try:
        return Rows(_csv_rows(text, part, problems))
    except csv.Error as fault:
        raise GoldenError(
            "golden.bad-csv", f"the file is not regular CSV: {fault}.", where=part.path
        ) from fault
    finally:
        csv.field_size_limit(before)


def delimiter_of(header: str) -> str:
    """The delimiter that splits a header line most; a comma when none does."""

    def columns(mark: str) -> int:
        try:
            return len(next(csv.reader([header], delimiter=mark), []))
        except csv.Error:  # a carriage return inside the line, which the reader of the rows complains of
            return header.count(mark) + 1

    return max(_DELIMITERS, key=lambda mark: (columns(mark), mark == ","))


def _csv_rows(text: str, part: Part, problems: Problems) -> Iterator[Line]:
    named = re.match(r"sep=([,;\t|])\r?\n", text)
    delimiter = named[1] if named else delimiter_of(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    if named:
        next(reader)
    names = [name.strip() for name in next(reader, [])]
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


def _refuse_comment(text: str, part: Part) -> None:
    """A first line that starts with # and has fewer columns than the next is no header."""
    first, second = (*text.split("\n")[:2], "")[:2]
    mark = delimiter_of(second)
    if first.startswith("#") and second.count(mark) > first.count(mark):
        raise GoldenError(
            "golden.bad-csv",
            "the first line starts with #; a CSV file has no comments, and its first line names the columns.",
            hint="Remove the line.",
            where=f"{part.path}:1",
        )


def read_parquet(part: Part, problems: Problems) -> Rows:
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
    return Rows(Line(number, row) for number, row in enumerate(rows, start=1))


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
