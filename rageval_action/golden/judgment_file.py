"""Judgments in a file of their own: TREC's four columns, three columns with or without a header, or JSON."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rageval_action.core.measuring.trec_files import parse_qrels
from rageval_action.core.model.types import Notice
from rageval_action.core.wording.lists import plural
from rageval_action.core.wording.problem_list import Problems
from rageval_action.errors import GoldenError
from rageval_action.golden.containers import bad_json, refuse_lone_returns
from rageval_action.golden.field_values import grade_of, judged
from rageval_action.golden.json_values import RepeatedKeyError, decode
from rageval_action.golden.query_builder import RowError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rageval_action.golden.reader_types import Part, ReadOptions

Grades = dict[str, dict[str, int]]
"""Query id -> document id -> grade."""

_HEADER = re.compile(r"(query|q|topic)[-_ ]?(id)?|qid", re.IGNORECASE)
_GRADE_NAMES = ("score", "grade", "relevance", "rel", "label", "rating", "relevant")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")


class JudgmentFile(Struct, frozen=True):
    """Judgments, the layout they came in, and what there is to say about them."""

    grades: Grades
    layout: str
    notices: tuple[Notice, ...] = ()


def read_judgments(part: Part, options: ReadOptions) -> JudgmentFile:
    """Read judgments, whatever their layout. Identical ones count once; contradicting ones are refused.

    Raises:
        GoldenError: with every problem; `golden.other-columns` for CACM's `query document 0 0`, `golden.is-a-run`
            for a ranking, and `golden.unclear-grades` for three columns whose grades may run backwards.
    """
    if part.data.lstrip()[:1] == b"{":
        return JudgmentFile(_from_json(part, options), "JSON: query, then document and grade")
    refuse_lone_returns(part)
    lines = list(_lines(part))
    if not lines:
        raise GoldenError("golden.empty", "the file holds no judgments.", where=part.path)
    number, first = lines[0]
    cells = _split(first)
    if len(cells) == 4 and not _is_header(cells):
        return _four(part, lines, options)
    if len(cells) == 3:
        return _three(part, lines, options)
    if len(cells) >= 6 and cells[1].upper() == "Q0":
        raise is_a_run("six columns, as TREC writes a ranking", f"{part.path}:{number}")
    raise GoldenError(
        "golden.bad-row",
        f"a judgment has three columns (query, document, grade) or TREC's four; this line has {len(cells)}.",
        where=f"{part.path}:{number}",
    )


def is_a_run(what: str, where: str) -> GoldenError:
    """A ranking where judgments are expected."""
    return GoldenError(
        "golden.is-a-run",
        f"this is a run, not judgments: {what}.",
        hint="Name the file with the judgments; a run is measured with --retriever run-file.",
        where=where,
    )


def _lines(part: Part) -> Iterator[tuple[int, str]]:
    """Lines that are neither blank nor a comment, with their numbers."""
    for number, line in enumerate(part.data.decode().split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line.removesuffix("\r")


def _split(line: str) -> list[str]:
    """Columns of a line as they stand: by tabs where there are two or more, else by commas of CSV, else by blanks."""
    if line.count("\t") >= 2:
        return line.split("\t")
    if line.count(",") >= 2 and len(line.split()) < 3:
        return next(csv.reader([line]))
    return line.split()


def _four(part: Part, lines: list[tuple[int, str]], options: ReadOptions) -> JudgmentFile:
    rows = [line.split() for _, line in lines]
    if all(len(row) == 4 and row[2] == row[3] == "0" for row in rows) and {row[1] for row in rows} != {"0"}:
        raise GoldenError(
            "golden.other-columns",
            "every line ends in 0 0: this is the layout `query document 0 0` of the CACM collection, in which each "
            "line is a relevant document, not TREC's `query 0 document grade`.",
            hint="Rewrite it, for example with awk '{print $1, 0, $2, 1}', and check that both files spell query ids "
            "alike (01 is not 1).",
            where=part.path,
        )
    layout = "TREC's four columns"
    if not options.grades:
        try:
            return JudgmentFile(parse_qrels(part.data, where=part.path), layout, _commented(part, 4))
        except GoldenError:
            pass  # read again below, more slowly: decimals that are whole, repetitions
    numbered = [(number, row) for (number, _), row in zip(lines, rows, strict=True)]
    return _columns(
        part, [(number, row[:1] + row[2:], len(row) - 1) for number, row in numbered], options, layout
    )


def _three(part: Part, lines: list[tuple[int, str]], options: ReadOptions) -> JudgmentFile:
    rows = [(number, _split(line)) for number, line in lines]
    first = rows[0][1]
    header = _is_header(first)
    if not header:
        _check_direction(part, lines, options)
    layout = "BEIR's three columns with a header" if header else "three columns without a header"
    return _columns(part, [(number, row, len(row)) for number, row in rows[header:]], options, layout)


def _is_header(cells: list[str]) -> bool:
    """True for a line of names: no grade in the last column, and a usual name in the first or the last."""
    first, last = cells[0].strip(), cells[-1].strip().lower()
    return not _NUMBER.fullmatch(last) and (bool(_HEADER.fullmatch(first)) or last in _GRADE_NAMES)


def _columns(
    part: Part, rows: list[tuple[int, list[str], int]], options: ReadOptions, layout: str
) -> JudgmentFile:
    """Rows of query, document and grade (with how many of these columns they have) as judgments."""
    problems = Problems(GoldenError)
    grades: Grades = {}
    first: dict[tuple[str, str], int] = {}
    repeated: list[int] = []
    for number, cells, columns in rows:
        where = f"{part.path}:{number}"
        if columns != 3 or not all(cell.strip() for cell in cells):
            wanted = "TREC's four" if "four" in layout else "three"
            problems.add("golden.bad-row", where, f"an empty column, or not {wanted} columns.")
            continue
        query, doc, written = cells
        try:
            grade = grade_of(written.strip(), options, doc)
        except RowError as error:
            problems.add("golden.bad-row", where, error.text)
            continue
        before = first.setdefault((query, doc), number)
        if before == number:
            grades.setdefault(query, {})[doc] = grade
        elif grades[query][doc] == grade:
            repeated.append(number)
        else:
            text = f'"{doc}" has grade {grade} for "{query}", but {grades[query][doc]} on line {before}.'
            problems.add("golden.conflicting-judgments", where, text)
    problems.raise_if_any()
    if not grades:
        raise GoldenError("golden.empty", "the file holds no judgments.", where=part.path)
    notices = _commented(part, 4 if "four" in layout else 3)
    if repeated:
        text = (
            f"{plural(len(repeated), 'judgment repeats', 'judgments repeat')} an earlier one and count once."
        )
        where = f"{part.path}:{repeated[0]}"
        notices = (*notices, Notice(code="golden.identical-judgments", text=text, where=where))
    return JudgmentFile(grades, layout, notices)


def _commented(part: Part, columns: int) -> tuple[Notice, ...]:
    """A notice about lines that start with # and look like judgments: an id may start with it."""
    found = [
        number
        for number, line in enumerate(part.data.decode().split("\n"), start=1)
        if line.startswith("#")
        and len(_split(line.rstrip())) == columns
        and _NUMBER.fullmatch(line.split()[-1])
    ]
    if not found:
        return ()
    text = f"{plural(len(found), 'line starts', 'lines start')} with # and are read as comments."
    return (Notice(code="golden.comments", text=text, where=f"{part.path}:{found[0]}"),)


def _check_direction(part: Part, lines: list[tuple[int, str]], options: ReadOptions) -> None:
    """Three columns between blanks are SMART's layout, whose codes run from 1 (best) down: refuse to guess."""
    if options.grades:
        return
    negative = next((number for number, line in lines if _split(line)[-1].strip().startswith("-")), 0)
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
        table = decode(part.data)
    except (msgspec.DecodeError, RepeatedKeyError) as fault:
        raise bad_json(fault, part) from fault
    if not isinstance(table, dict):
        raise GoldenError("golden.bad-json", "this is no object of queries.", where=part.path)
    if not options.grades and looks_like_a_run(table):
        raise is_a_run("every query has fractions as scores, as ranx writes it", part.path)
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


def looks_like_a_run(table: dict[str, object]) -> bool:
    """True for a map of queries whose documents nearly all have fractions, and more than one value."""
    rows = [row for row in table.values() if isinstance(row, dict)]
    values = [value for row in rows for value in row.values()]
    fractions = sum(isinstance(value, float) and not value.is_integer() for value in values)
    return len(rows) == len(table) and fractions > 0.9 * len(values) and len(set(map(str, values))) > 2
