"""TREC run and qrels files, read strictly and written so that trec_eval gives our numbers.

Both are lines of columns between blanks: `query Q0 document rank score tag` and `query 0 document grade`. A
byte order mark, blank lines and lines that start with `#` are skipped. The scores order a run, as in trec_eval; the
rank is only compared with them. The usual file takes the quick path, whole blocks at a time; at the first oddity the
file is read again line by line, so that faults have line numbers.
"""

from __future__ import annotations

import math
import operator
import re
from itertools import groupby, islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, TypeAlias, cast

import msgspec
import numpy as np
from msgspec import Meta, Struct, structs

from rageval_action.core.labels.grade_scale import GradeScale, whole_grade
from rageval_action.core.model import lfs_pointer
from rageval_action.core.model.listed_order import trend
from rageval_action.core.model.ranking import order
from rageval_action.errors import GoldenError, RagevalError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rageval_action.core.model.listed_order import Basis, Trend

BLOCK = 1 << 17
"""Bytes read at a time on the quick path: small enough to stay in the processor's cache."""

SHOWN_FAULTS = 20
LARGEST_GRADE = 2**31 - 1
BOM = b"\xef\xbb\xbf"

FOREIGN: dict[bytes, str] = {
    b"\x1f\x8b": "is compressed with gzip: unpack it first",
    b"PK\x03\x04": "is a zip archive: unpack it first",
    b"\xff\xfe": "is UTF-16: save it as UTF-8",
    b"\xfe\xff": "is UTF-16: save it as UTF-8",
}
"""First bytes of what is no text in columns -> what to say about it."""


class TrecRanking(Struct, frozen=True):
    """One query's answer: parallel `ids` and `scores`, score descending, then id descending (bytewise)."""

    ids: Sequence[str]
    scores: Sequence[float]


class TrecRun(Struct, frozen=True):
    """A run file.

    Attributes:
        rankings: query id -> ranking, in order of first appearance.
        trends: query id -> how the scores run by the rank column; by the lines where ranks are no numbers or all equal.
    """

    rankings: dict[str, TrecRanking]
    trends: dict[str, tuple[Trend, Basis]] = {}


class _Kind(Struct, frozen=True, kw_only=True):
    """What differs between the two files.

    Attributes:
        value: index of the column that holds the score or grade, which `decoder` reads from JSON.
        columns: how many a line has; `more` when further ones are accepted.
        shape: a line, for messages.
    """

    name: Literal["run", "qrels"]
    value: int
    decoder: msgspec.json.Decoder[Any]
    columns: int
    more: bool
    shape: str
    error: type[RagevalError]


_RUN = _Kind(
    name="run",
    value=4,
    decoder=msgspec.json.Decoder(list[float]),
    columns=6,
    more=True,
    shape="query Q0 document rank score tag",
    error=RecordError,
)
_QRELS = _Kind(
    name="qrels",
    value=3,
    decoder=msgspec.json.Decoder(list[Annotated[int, Meta(ge=-LARGEST_GRADE, le=LARGEST_GRADE)]]),
    columns=4,
    more=False,
    shape="query 0 document grade",
    error=GoldenError,
)

_Spans: TypeAlias = "dict[str, tuple[list[str], list[float]]]"
"""Query -> its document ids and their values, in file order."""


class _Content(Struct, frozen=True):
    """What a file holds; `counted` when the ranks of every query are 1, 2, 3, … in file order."""

    spans: _Spans
    counted: bool = False


def parse_run(data: bytes, *, where: str) -> TrecRun:
    """Read a run; `where` names the file in messages. Columns after the sixth are accepted.

    Raises:
        RecordError: up to 20 faults in one error: `trec.columns`, `trec.score` (no number, or not finite),
            `trec.duplicate` (a document twice for one query), `trec.encoding`, `trec.empty`, `trec.not-text`.
    """
    content = _read(data, _RUN, where)
    written = {} if content.counted else _written_ranks(data)
    rankings: dict[str, TrecRanking] = {}
    trends: dict[str, tuple[Trend, Basis]] = {}
    for query, (ids, scores) in content.spans.items():
        falling = all(map(operator.gt, scores, scores[1:]))
        if content.counted:
            trends[query] = ("falling" if falling and len(ids) > 1 else trend(scores)[0]), "rank"
        else:
            trends[query] = trend(scores, _numbers(written[query]))
        if not falling:
            best_first = order(ids, scores)
            ids[:], scores[:] = [ids[at] for at in best_first], [scores[at] for at in best_first]
        rankings[query] = TrecRanking(ids, scores)
    return TrecRun(rankings, trends)


def _written_ranks(data: bytes) -> dict[str, list[bytes]]:
    """The rank column of a run that was read without a fault, by query."""
    found: dict[str, list[bytes]] = {}
    for raw in data.splitlines():
        line = raw.removeprefix(BOM)
        fields = line.split()
        if fields and not line.startswith(b"#"):
            found.setdefault(fields[0].decode(), []).append(fields[3])
    return found


def _numbers(ranks: Sequence[bytes]) -> list[float] | None:
    """The ranks of one query, or None where one is no finite number."""
    try:
        numbers = [float(rank) for rank in ranks]
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def parse_qrels(data: bytes, *, where: str, scale: GradeScale | None = None) -> dict[str, dict[str, int]]:
    """Read qrels: query id -> document id -> grade, in file order; `where` names the file in messages.

    Decimals that are whole are grades; fractions and words need a `scale`.

    Raises:
        GoldenError: up to 20 faults in one error: `trec.columns`, `trec.grade` (no whole number of 32 bits),
            `trec.duplicate` (a document judged twice for one query), `trec.encoding`, `trec.empty`,
            `trec.not-text`.
    """
    content = _read(data, _QRELS, where, scale or {})
    spans = cast("dict[str, tuple[list[str], list[int]]]", content.spans)
    return {query: dict(zip(ids, grades, strict=True)) for query, (ids, grades) in spans.items()}


def _read(data: bytes, kind: _Kind, where: str, scale: GradeScale | None = None) -> _Content:
    """Ids and values by query; raises every fault the file has."""
    if text := lfs_pointer.pointer_problem(data):
        raise kind.error("trec.not-text", text, hint=lfs_pointer.HINT, where=where)
    for magic, complaint in FOREIGN.items():
        if data.startswith(magic):
            raise kind.error("trec.not-text", f"the file {complaint}.", where=where)
    body = data.removeprefix(BOM)
    content = None if scale else _quick(body, kind)
    if content is None or any(len(set(ids)) != len(ids) for ids, _ in content.spans.values()):
        content = _Content(_careful(body, kind, where, scale or {}))
    if not content.spans:
        raise kind.error(
            "trec.empty", f"the {kind.name} file is empty.", hint=f"A line is: {kind.shape}.", where=where
        )
    return content


def _blocks(data: bytes) -> Iterator[bytes]:
    """`data` in pieces that end with a line."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + BLOCK)
        stop = len(data) if end < 0 else end + 1
        yield data[start:stop]
        start = stop


def _quick(data: bytes, kind: _Kind) -> _Content | None:
    """The content of a file whose lines all have the same columns, or None when a careful look is due."""
    columns = len(data[: data.find(b"\n") + 1 or len(data)].split())
    if columns != kind.columns and not (kind.more and columns > kind.columns):
        return None
    spans: _Spans = {}
    numbers: list[bytes] = []
    counted = kind is _RUN
    for block in _blocks(data):
        if not _is_regular(block, columns):
            return None
        fields = block.split()
        try:
            # JSON's numbers are stricter than Python's, and this parser is four times as fast.
            values = kind.decoder.decode(b"[" + b",".join(fields[kind.value :: columns]) + b"]")
            ids = list(map(bytes.decode, fields[2::columns]))
            ranks = fields[3::columns]
            start = 0
            for raw_query, same in groupby(fields[0::columns]):
                stop = start + len(list(same))
                query_ids, query_values = spans.setdefault(raw_query.decode(), ([], []))
                query_ids += ids[start:stop]
                query_values += values[start:stop]
                if counted:
                    have = len(query_ids)
                    numbers += [b"%d" % number for number in range(len(numbers) + 1, have + 1)]
                    counted = ranks[start:stop] == numbers[have - stop + start : have]
                start = stop
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if len(values) != len(ids):
            return None
    return _Content(spans, counted)


def _is_regular(block: bytes, columns: int) -> bool:
    """True when each line of `block` has `columns` columns, and none is a comment, blank or oddly ended."""
    text = np.frombuffer(block, dtype=np.uint8)
    # bytes.split parts at space and at the five controls from tab to carriage return.
    blank = (text == ord(" ")) | ((text >= ord("\t")) & (text <= ord("\r")))
    begins = ~blank
    begins[1:] &= blank[:-1]
    lines = np.concatenate(([0], np.flatnonzero(text == ord("\n")) + 1))
    lines = lines[lines < len(text)]
    counts = np.add.reduceat(begins, lines, dtype=np.int32)
    firsts = text[lines]
    if (counts != columns).any() or ((firsts == ord("#")) | (firsts == BOM[0])).any():
        return False
    return b"\r" not in block or block.count(b"\r") == block.count(b"\r\n")


class _Fault(Struct, frozen=True):
    """What is wrong with a line; an empty code when nothing is."""

    code: str = ""
    message: str = ""
    line: int = 0


def _careful(data: bytes, kind: _Kind, where: str, scale: GradeScale) -> _Spans:
    """The content of a file read line by line; raises when any line is wrong."""
    spans: _Spans = {}
    faults: list[_Fault] = []
    first: dict[tuple[bytes, bytes], int] = {}
    for number, raw in enumerate(data.splitlines(), 1):
        line = raw.removeprefix(BOM)
        fields = line.split()
        if not fields or line.startswith(b"#"):
            continue
        fault = _complaint(fields, kind, scale)
        if not fault.code and first.setdefault((fields[0], fields[2]), number) != number:
            query, name = fields[0].decode(), fields[2].decode()
            before = first[fields[0], fields[2]]
            fault = _Fault(
                "trec.duplicate", f'document "{name}" of query "{query}" was in line {before} already.'
            )
        if fault.code:
            faults.append(structs.replace(fault, line=number))
            continue
        ids, values = spans.setdefault(fields[0].decode(), ([], []))
        ids.append(fields[2].decode())
        values.append(float(fields[4]) if kind is _RUN else whole_grade(fields[3].decode(), scale))
    if faults:
        _refuse(faults, kind, where)
    return spans


_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _complaint(fields: list[bytes], kind: _Kind, scale: GradeScale) -> _Fault:
    """What is wrong with one line taken by itself."""
    count = len(fields)
    if count < kind.columns or (count > kind.columns and not kind.more):
        wanted = f"{kind.columns}{' or more' if kind.more else ''}"
        return _Fault("trec.columns", f"{count} columns where a {kind.name} line has {wanted}: {kind.shape}.")
    try:
        fields[0].decode()
        fields[2].decode()
    except UnicodeDecodeError:
        return _Fault("trec.encoding", "an id is not UTF-8.")
    written = fields[kind.value].decode(errors="replace")
    if kind is _QRELS:
        try:
            grade = whole_grade(written, scale)
        except ValueError as fault:
            return _Fault("trec.grade", str(fault))
        if abs(grade) > LARGEST_GRADE:
            return _Fault("trec.grade", f'the grade "{written}" is not a whole number of at most 32 bits.')
    elif not _DECIMAL.fullmatch(written) or not math.isfinite(float(written)):
        return _Fault("trec.score", f'the score "{written}" is not a finite number.')
    return _Fault()


def _refuse(faults: list[_Fault], kind: _Kind, where: str) -> NoReturn:
    """Raise the first fault with up to 19 more below it; the rest is counted."""
    first, *others = faults
    lines = [
        first.message,
        *(f"{where}:{fault.line}: {fault.message}" for fault in islice(others, SHOWN_FAULTS - 1)),
    ]
    if len(faults) > SHOWN_FAULTS:
        lines.append(f"… and {len(faults) - SHOWN_FAULTS} more.")
    raise kind.error(first.code, "\n  ".join(lines), where=f"{where}:{first.line}")


def _check_id(name: str, what: str) -> None:
    """Refuse an id that would be read back as something else."""
    if not name or any(blank in name for blank in " \t\n\r\v\f"):
        raise RecordError(
            "trec.id", f'{what} "{name}" is empty or holds a blank, which TREC files cannot hold.'
        )
    if name.startswith(("#", "\ufeff")):
        raise RecordError(
            "trec.id", f'{what} "{name}" starts with a character that TREC files read otherwise.'
        )


def format_run(rankings: Mapping[str, TrecRanking], *, tag: str = "rageval") -> str:
    """A run file whose scores read back as the same 64-bit numbers, so that trec_eval 10 orders as we do.

    Raises:
        RecordError: `trec.id` for an id that the format cannot hold, `trec.score` for one that is not finite.
    """
    _check_id(tag, "the tag")
    lines: list[str] = []
    for query, ranking in rankings.items():
        _check_id(query, "the query id")
        for rank, (name, score) in enumerate(zip(ranking.ids, ranking.scores, strict=True), 1):
            _check_id(name, "the document id")
            if not math.isfinite(score):
                raise RecordError(
                    "trec.score", f'query "{query}", document "{name}": the score {score} is not finite.'
                )
            lines.append(f"{query} Q0 {name} {rank} {float(score)!r} {tag}\n")
    return "".join(lines)


def format_qrels(qrels: Mapping[str, Mapping[str, int]]) -> str:
    """A qrels file.

    Raises:
        RecordError: `trec.id` for an id that the format cannot hold.
    """
    lines: list[str] = []
    for query, grades in qrels.items():
        _check_id(query, "the query id")
        for name, grade in grades.items():
            _check_id(name, "the document id")
            lines.append(f"{query} 0 {name} {grade}\n")
    return "".join(lines)
