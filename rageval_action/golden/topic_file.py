"""Topics: query ids and texts, as TSV, TREC's tagged text, or rows of JSON, CSV, YAML or Parquet."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.errors import GoldenError
from rageval_action.golden.containers import (
    delimiter_of,
    read_csv,
    read_json,
    read_jsonl,
    read_parquet,
    read_yaml,
    refuse_lone_returns,
)
from rageval_action.golden.field_names import JUDGING, choose
from rageval_action.golden.foreign_rows import check_mapped
from rageval_action.golden.input_files import PARQUET
from rageval_action.golden.nested_fields import at
from rageval_action.golden.query_builder import GoldenRow, RowError
from rageval_action.golden.row_reader import RowReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rageval_action.core.model.types import Notice
    from rageval_action.core.wording.problem_list import Problems
    from rageval_action.golden.containers import Rows
    from rageval_action.golden.query_builder import QueryBuilder
    from rageval_action.golden.reader_types import Part, ReadOptions

ID_NAMES = ("id", "_id", "qid", "query_id", "query-id", "question_id", "topic", "number")
"""Names that topics files use for the query's id, in order of preference."""

TEXT_NAMES = ("query", "text", "question", "title")
"""Names that topics files use for the query's text, in order of preference."""

_TOP = re.compile(r"<top>(.*?)</top>", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(
    r"<title>\s*(?:Topic:)?(.*?)(?=<(?:/title|desc|narr|/top|num)\b|\Z)", re.IGNORECASE | re.DOTALL
)


class Topics(Struct):
    """Questions with their ids as written, each with its 1-based line (row, in an array), and what there is to say."""

    rows: list[tuple[GoldenRow, int]] = []
    notices: tuple[Notice, ...] = ()


def read_topics(part: Part, builder: QueryBuilder, options: ReadOptions) -> Topics:
    """Topics in file order. What cannot be read is noted in the builder's problems with its line."""
    options.used.update(("--source", "--review"))
    start = part.data.lstrip()[:1]
    if start == b"<":
        return Topics(rows=list(_tagged(part, builder.problems, options)))
    rows = _rows(part, builder.problems)
    if rows is not None:
        return _with_fields(rows, part, builder, options)
    return Topics(rows=list(_tsv(part, builder, options)))


def _rows(part: Part, problems: Problems) -> Rows | None:
    """The rows of a container that names its fields; None for lines of `id<TAB>text`."""
    start = part.data.lstrip()[:1]
    if part.data.startswith(PARQUET):
        return read_parquet(part, problems)
    if start == b"[":
        return read_json(part, problems)
    if start == b"{":
        opening = part.data.lstrip().partition(b"\n")[0]
        whole = b'"' not in opening or not opening.rstrip().endswith(b"}")
        return read_json(part, problems) if whole else read_jsonl(part, problems)
    if part.path.lower().endswith((".yaml", ".yml")):
        return read_yaml(part, problems)
    first = part.data.decode().partition("\n")[0]
    names = {name.strip().strip('"').lower() for name in first.rstrip("\r").split(delimiter_of(first))}
    named = len(names & {*ID_NAMES}) and len(names & {*TEXT_NAMES}) and (len(names) > 2 or "\t" not in first)
    return read_csv(part, problems) if named else None


def _with_fields(rows: Rows, part: Part, builder: QueryBuilder, options: ReadOptions) -> Topics:
    """Rows under the field names of `golden.field_names`; what they judge is not read, and said so."""
    builder.problems.raise_if_any()
    if not rows:
        raise GoldenError("golden.empty", "the file holds no rows.", where=part.path)
    names = list(dict.fromkeys(key for line in rows for key in line.row))
    check_mapped(rows, names, options, part.path)
    found, _ = choose(names, options.fields)
    found = {ours: theirs for ours, theirs in found.items() if ours not in _JUDGED or ours in options.fields}
    for ours, usual in (("id", ID_NAMES), ("query", TEXT_NAMES)):
        theirs = next((name for name in usual if name in names), "")
        if ours not in options.fields and theirs:
            found[ours] = theirs
    cells = not part.data.lstrip().startswith((b"{", b"[", PARQUET))
    reader = RowReader(builder, found, options, cells=cells)
    reader.check_words(rows)
    topics = Topics(rows=[])
    for line in rows:
        if any(field not in found or at(line.row, found[field]) is None for field in ("id", "query")):
            keys = ", ".join(f"`{key}`" for key in line.row) or "no keys"
            builder.reject(line.number, f"no id and text of a query among its keys: {keys}.")
            continue
        try:
            topics.rows.append((reader.question(line), line.number))
        except RowError as error:
            builder.reject(line.number, error.text, error.code)
    topics.notices = (reader.detected("queries read", rows, part.path),)
    return topics


_JUDGED = (*JUDGING, "doc", "start")


def _topic(name: str, text: str, options: ReadOptions) -> GoldenRow:
    return GoldenRow(
        id=name, text=text, source=options.source or "unknown", review=options.review or "pending"
    )


def _tsv(part: Part, builder: QueryBuilder, options: ReadOptions) -> Iterator[tuple[GoldenRow, int]]:
    """`id<TAB>text`; lines that start with `#` are comments, a first line of column names is skipped."""
    refuse_lone_returns(part)
    names_may_follow = True
    for number, line in enumerate(part.data.decode().split("\n"), start=1):
        row = line.removesuffix("\r")
        if not row.strip():
            continue
        if row.startswith("#"):
            if "\t" in row:
                builder.note("comments", number)
            continue
        name, tab, text = row.partition("\t")
        if not tab:
            builder.reject(number, "a topic is `id<TAB>text`; there is no tab here.")
        elif "\t" in text:
            columns = row.count("\t") + 1
            builder.reject(
                number,
                f"a topic is `id<TAB>text`; this line has {columns} columns. Name them in a first line.",
            )
        elif not (names_may_follow and _are_names(name, text)):
            yield _topic(name, text.strip(), options), number
        names_may_follow = False


def _are_names(name: str, text: str) -> bool:
    return name.strip().lower() in ID_NAMES and text.strip().lower() in TEXT_NAMES


def _tagged(part: Part, problems: Problems, options: ReadOptions) -> Iterator[tuple[GoldenRow, int]]:
    """TREC's `<top>` blocks: the number after `<num>`, and the title as the query."""
    text = part.data.decode()
    line, seen = 1, 0
    for block in _TOP.finditer(text):
        line += text.count("\n", seen, block.start())
        seen = block.start()
        number, title = _NUMBER.search(block[1]), _TITLE.search(block[1])
        if number is None or title is None:
            missing = "<num>" if number is None else "<title>"
            problems.add("golden.bad-row", f"{part.path}:{line}", f"this <top> has no {missing}.")
            continue
        yield _topic(html.unescape(number[1]), " ".join(html.unescape(title[1]).split()), options), line
    if text.lower().count("<top>") != len(_TOP.findall(text)):
        problems.add("golden.bad-row", part.path, "a <top> is not closed by </top>.")
