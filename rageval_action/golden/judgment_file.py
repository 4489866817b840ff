"""Judgments in a file of their own: TREC's four columns, three columns with or without a header, or JSON."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rageval_action.core.measuring.trec_files import parse_qrels
from rageval_action.core.wording.field_checks import shown
from rageval_action.core.wording.problem_list import Problems
from rageval_action.errors import GoldenError
from rageval_action.golden.containers import not_json
from rageval_action.golden.field_values import judged, map_grade
from rageval_action.golden.query_builder import RowError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rageval_action.golden.reader_types import Part, ReadOptions

Grades = dict[str, dict[str, int]]
"""Query id -> document id -> grade."""

_HEADER = re.compile(r"(query|q|topic)[-_ ]?(id)?|qid", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d+")
_LONGEST = 18
"""Digits of a grade that fits a number of 64 bits."""


class JudgmentFile(Struct, frozen=True):
    """Judgments and the layout they came in."""

    grades: Grades
    layout: str


def read_judgments(part: Part, options: ReadOptions) -> JudgmentFile:
    """Read judgments, whatever their layout.

    Raises:
        GoldenError: with every problem; `golden.other-columns` for CACM's `query document 0 0`, and
            `golden.unclear-grades` for three columns whose grades may run backwards.
    """
    if part.data.lstrip()[:1] == b"{":
        return JudgmentFile(_from_json(part, options), "JSON: query, then document and grade")
    first = next(_lines(part), None)
    if first is None:
        raise GoldenError("golden.empty", "the file holds no judgments.", where=part.path)
    columns = len(_split(first[1]))
    if columns == 4 and not _HEADER.fullmatch(_split(first[1])[0]):
        return JudgmentFile(_four(part, options), "TREC's four columns")
    if columns == 3:
        return _three(part, options)
    raise GoldenError(
        "golden.bad-row",
        f"a judgment has three columns (query, document, grade) or TREC's four; this line has {columns}.",
        where=f"{part.path}:{first[0]}",
    )


def _lines(part: Part) -> Iterator[tuple[int, str]]:
    """Lines that are neither blank nor a comment, with their numbers."""
    for number, line in enumerate(part.data.decode().split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line.rstrip("\r")


def _split(line: str) -> list[str]:
    """Columns of a line: by tabs where there are two or more, else by commas of CSV, else by blanks."""
    if line.count("\t") >= 2:
        return [cell.strip() for cell in line.split("\t")]
    if line.count(",") >= 2 and len(line.split()) < 3:
        return [cell.strip() for cell in next(csv.reader([line]))]
    return line.split()


def _four(part: Part, options: ReadOptions) -> Grades:
    rows = [line.split() for _, line in _lines(part)]
    if all(len(row) == 4 and row[2] == row[3] == "0" for row in rows) and {row[1] for row in rows} != {"0"}:
        raise GoldenError(
            "golden.other-columns",
            "every line ends in 0 0: this is the layout `query document 0 0` of the CACM collection, in which each "
            "line is a relevant document, not TREC's `query 0 document grade`.",
            hint="Rewrite it, for example with awk '{print $1, 0, $2, 1}', and check that both files spell query ids "
            "alike (01 is not 1).",
            where=part.path,
        )
    grades = parse_qrels(part.data, where=part.path)
    if not options.grades:
        return grades
    try:
        return {
            query: {doc: map_grade(grade, options) for doc, grade in row.items()}
            for query, row in grades.items()
        }
    except RowError as error:
        raise GoldenError("golden.bad-row", error.text, where=part.path) from error


def _three(part: Part, options: ReadOptions) -> JudgmentFile:
    problems = Problems(GoldenError)
    grades: Grades = {}
    lines = list(_lines(part))
    header = not _NUMBER.fullmatch(_split(lines[0][1])[-1])
    if not header:
        _check_direction(part, lines, options)
    for number, line in lines[header:]:
        where = f"{part.path}:{number}"
        cells = _split(line)
        if len(cells) != 3 or not all(cells):
            problems.add("golden.bad-row", where, f"{len(cells)} columns where a line has three.")
            continue
        query, doc, grade = cells
        if not _NUMBER.fullmatch(grade) or len(grade) > _LONGEST:
            problems.add("golden.bad-row", where, f"the grade {shown(grade)} is not a whole number.")
            continue
        if doc in grades.setdefault(query, {}):
            problems.add(
                "golden.duplicate-judgment", where, f'document "{doc}" is judged twice for "{query}".'
            )
            continue
        try:
            grades[query][doc] = map_grade(int(grade), options)
        except RowError as error:
            problems.add("golden.bad-row", where, error.text)
    problems.raise_if_any()
    if not grades:
        raise GoldenError("golden.empty", "the file holds no judgments.", where=part.path)
    return JudgmentFile(
        grades, "BEIR's three columns with a header" if header else "three columns without a header"
    )


def _check_direction(part: Part, lines: list[tuple[int, str]], options: ReadOptions) -> None:
    """Three columns between blanks are SMART's layout, whose codes run from 1 (best) down: refuse to guess."""
    if options.grades:
        return
    negative = next((number for number, line in lines if _split(line)[-1].startswith("-")), 0)
    between_blanks = all("\t" not in line and "," not in line for _, line in lines)
    if not negative and not between_blanks:
        return
    raise GoldenError(
        "golden.unclear-grades",
        "these are three columns of a query, a document and a code"
        + (f", with a negative code on line {negative}" if negative else "")
        + ". In such files 1 often means most relevant, so reading the codes as grades could turn the scale over.",
        hint="Say what each code is worth: --grade-map 1=4,2=3,3=2,4=1,-1=0 (or 0=0,1=1,2=2 when more is better).",
        where=f"{part.path}:{negative or lines[0][0]}",
    )


def _from_json(part: Part, options: ReadOptions) -> Grades:
    try:
        table = msgspec.json.decode(part.data, type=dict[str, object])
    except msgspec.MsgspecError as fault:
        raise GoldenError("golden.bad-json", not_json(fault), where=part.path) from fault
    problems = Problems(GoldenError)
    grades: Grades = {}
    for query, value in table.items():
        try:
            found = judged(value, query, options)
        except RowError as error:
            problems.add("golden.bad-row", part.path, error.text)
            continue
        grades[query] = found if isinstance(found, dict) else {str(doc): 1 for doc in found}
    problems.raise_if_any()
    return grades
