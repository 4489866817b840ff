"""Topics: query ids and texts, as TSV, TREC's tagged text, JSON Lines or a JSON array."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rageval_action.core.wording.problem_list import Problems
    from rageval_action.golden.reader_types import Part

ID_NAMES = ("id", "_id", "qid", "query_id", "query-id", "question_id", "topic")
"""Names that topics files use for the query's id, in order of preference."""

TEXT_NAMES = ("query", "text", "question", "title")
"""Names that topics files use for the query's text, in order of preference."""

_TOP = re.compile(r"<top>(.*?)</top>", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(
    r"<title>\s*(?:Topic:)?(.*?)(?=<(?:/title|desc|narr|/top|num)\b|\Z)", re.IGNORECASE | re.DOTALL
)


class Topic(Struct, frozen=True):
    """One query: its id as written, its text, and its 1-based line (row, in a JSON array)."""

    id: str | int
    text: str
    line: int


def read_topics(part: Part, problems: Problems) -> list[Topic]:
    """Topics in file order. What cannot be read is noted in `problems` with its line."""
    start = part.data.lstrip()[:1]
    if start == b"<":
        return list(_tagged(part, problems))
    if start in (b"{", b"["):
        return list(_json(part, problems, lines=start == b"{"))
    return list(_tsv(part, problems))


def _tsv(part: Part, problems: Problems) -> Iterator[Topic]:
    """`id<TAB>text`; lines that start with `#` are comments, a first line of column names is skipped."""
    names_may_follow = True
    for number, line in enumerate(part.data.decode().split("\n"), start=1):
        row = line.rstrip("\r")
        if not row.strip() or row.startswith("#"):
            continue
        name, tab, text = row.partition("\t")
        if not tab:
            problems.add(
                "golden.bad-row", f"{part.path}:{number}", "a topic is `id<TAB>text`; there is no tab here."
            )
        elif not (names_may_follow and _are_names(name, text)):
            yield Topic(name.strip(), text.strip(), number)
        names_may_follow = False


def _are_names(name: str, text: str) -> bool:
    return name.strip().lower() in ID_NAMES and text.strip().lower() in TEXT_NAMES


def _tagged(part: Part, problems: Problems) -> Iterator[Topic]:
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
        yield Topic(number[1], " ".join(html.unescape(title[1]).split()), line)
    if text.lower().count("<top>") != len(_TOP.findall(text)):
        problems.add("golden.bad-row", part.path, "a <top> is not closed by </top>.")


def _json(part: Part, problems: Problems, *, lines: bool) -> Iterator[Topic]:
    """Objects with an id and a text, one a line or in one array."""
    for number, row in _json_rows(part, problems, lines=lines):
        where = f"{part.path}:{number}"
        if not isinstance(row, dict):
            problems.add("golden.bad-row", where, "a topic is an object with an id and a text.")
            continue
        name = next((row[key] for key in ID_NAMES if key in row), None)
        text = next((row[key] for key in TEXT_NAMES if key in row), None)
        if isinstance(name, bool) or not isinstance(name, str | int) or not isinstance(text, str):
            keys = ", ".join(f"`{key}`" for key in row) or "no keys"
            problems.add("golden.bad-row", where, f"no id and text of a query among its keys: {keys}.")
            continue
        yield Topic(name, text, number)


def _json_rows(part: Part, problems: Problems, *, lines: bool) -> Iterator[tuple[int, object]]:
    pieces = enumerate(part.data.split(b"\n"), start=1) if lines else [(1, part.data)]
    for number, piece in pieces:
        if not piece.strip():
            continue
        try:
            value = msgspec.json.decode(piece)
        except msgspec.DecodeError as fault:
            reason = str(fault).removeprefix("JSON is malformed: ")
            problems.add("golden.bad-row", f"{part.path}:{number}", f"this is not JSON: {reason}.")
            continue
        if lines:
            yield number, value
        else:
            yield from enumerate(value, start=1)
