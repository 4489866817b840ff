"""Rankings that an earlier step made, as a TREC run or JSON lines. Nothing is executed: safe on forks."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rageval_action.core.measuring.trec_files import parse_run
from rageval_action.core.model import lfs_pointer
from rageval_action.core.model.record import FILE_CHECKSUM
from rageval_action.core.model.types import Notice, Query, Ranking, Run
from rageval_action.errors import ConfigError
from rageval_action.retrievers.external import Answer, AnswerError, Filler, finite, read_results
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.score_direction import ScoreDirection, ScoreReader

MAX_BYTES = 2 << 30


class _Row(Struct, frozen=True, kw_only=True):
    """What the file says about one query: what was answered, or an error."""

    answer: Answer = Answer([])
    error: str = ""
    latency: dict[str, float] = {}


class RunFileRetriever:
    """Reads rankings from a file.

    Options: `file`; `format` (auto, trec, jsonl); `scores` (similarity, distance: whether a larger or a smaller score
    is better). A JSON line is `{"query_id": "q1", "results": [{"id": "c7",
    "score": 0.8}, …]}`, where `id` may stand for `query_id` and `hits` for `results` (as `rageval retrieve`
    writes it), with `latency_ms` and `error` if there are any. A query without a line in a TREC run got no
    results, as trec_eval has it; in a JSON lines file it failed. A JSON line that cannot be read costs its query, since
    whatever wrote the file may have died half-way; a file without one good line is refused.
    """

    def __init__(self, context: RetrieverContext) -> None:
        options = Options("run-file", context.options, context.environ)
        self._file = Path(options.text("file"))
        form = options.text("format", "auto", choices=("auto", "trec", "jsonl"))
        self._direction = ScoreDirection.of(options)
        options.finish()
        self._context = context
        data = _content(self._file)
        self._parameters = {**options.recorded, FILE_CHECKSUM: hashlib.sha256(data).hexdigest()}
        self._jsonl = form == "jsonl" or (form == "auto" and data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{")
        self._bad: list[ConfigError] = []
        where = str(self._file)
        self._rows = _lines(data, where, self._bad) if self._jsonl else _trec(data, where)

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """The file's rankings for these queries."""
        filler, scores = Filler(self._context), ScoreReader(self._direction)
        rankings = tuple(self._ranking(query, depth, filler, scores) for query in queries)
        deepest = max((len({hit.doc for hit in ranking.hits}) for ranking in rankings), default=0)
        return Run(
            rankings=rankings,
            retriever="run-file",
            parameters=self._parameters,
            depth=min(depth, deepest) or depth,
            notices=(
                *filler.notices(),
                *scores.notices(str(self._file)),
                *self._told(queries, depth, deepest),
            ),
        )

    def without_row(self, queries: Sequence[Query]) -> list[str]:
        """Ids of the queries about which the file says nothing; an empty list of results is an answer."""
        return [query.id for query in queries if query.id not in self._rows]

    def _ranking(self, query: Query, depth: int, filler: Filler, scores: ScoreReader) -> Ranking:
        row = self._rows.get(query.id)
        if row is None:
            row = _Row(error="the run file has no line for this query" if self._jsonl else "")
        if row.error:
            return filler.failed(query, row.error, row.latency)
        return filler.ranking(query, scores.read(row.answer), depth, row.latency)

    def _told(self, queries: Sequence[Query], depth: int, deepest: int) -> list[Notice]:
        told = []
        if self._bad:
            text = f"{len(self._bad)} lines cannot be read, the first: {self._bad[0]}"
            told.append(Notice(code="run-file.bad-lines", text=text))
        asked = {query.id for query in queries}
        absent = [query.id for query in queries if query.id not in self._rows]
        extra = [name for name in self._rows if name not in asked]
        if absent:
            text = f'{len(absent)} queries have no line in {self._file}, e.g. "{absent[0]}"'
            told.append(Notice(code="run-file.absent-queries", text=text))
        if extra:
            text = f'{len(extra)} queries of {self._file} are not in the golden set, e.g. "{extra[0]}"'
            told.append(Notice(code="run-file.other-queries", text=text))
        if 0 < deepest < depth:
            text = f"the rankings in {self._file} hold at most {deepest} documents, not {depth}"
            told.append(Notice(code="run-file.shallow", text=text))
        return told


def _content(path: Path) -> bytes:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # a pipe nobody writes to would be read for ever
            raise ConfigError("run-file.not-a-file", "it is not a regular file.", where=str(path))
        if about.st_size > MAX_BYTES:
            raise ConfigError("run-file.too-large", f"the file is over {MAX_BYTES} bytes.", where=str(path))
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise ConfigError("run-file.not-read", f"{text}.", where=str(path)) from error
    if text := lfs_pointer.pointer_problem(data, "a run"):
        raise ConfigError("run-file.lfs-pointer", text, hint=lfs_pointer.HINT, where=str(path))
    return data


def _trec(data: bytes, where: str) -> dict[str, _Row]:
    run = parse_run(data, where=where)
    return {
        query: _Row(
            answer=Answer(
                list(zip(ranking.ids, map(float, ranking.scores), strict=True)),
                scored=True,
                trend=run.trends[query],
            )
        )
        for query, ranking in run.rankings.items()
    }


def _lines(data: bytes, where: str, bad: list[ConfigError]) -> dict[str, _Row]:
    """The rows by query; what is wrong with other lines goes into `bad`.

    Raises:
        ConfigError: `run-file.duplicate-query`; `run-file.bad-line` when there is no good line.
    """
    rows: dict[str, _Row] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        place = f"{where}:{number}"
        try:
            name, row = _row(line, place)
        except ConfigError as error:
            bad.append(error)
            continue
        if name in rows:
            raise ConfigError(
                "run-file.duplicate-query", f'the query "{name}" has a line already.', where=place
            )
        rows[name] = row
    if bad and not rows:
        raise bad[0]
    return rows


def _row(line: bytes, place: str) -> tuple[str, _Row]:
    try:
        entry = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigError("run-file.bad-line", f"the line is not JSON: {error}.", where=place) from None
    name = entry.get("query_id", entry.get("id")) if isinstance(entry, dict) else None
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise ConfigError("run-file.bad-line", "the line names no query in query_id or id.", where=place)
    return str(name), _answer(entry)


def _answer(entry: Mapping[str, Any]) -> _Row:
    times = entry.get("latency_ms")
    latency = {
        stage: float(spent)
        for stage, spent in (times.items() if isinstance(times, dict) else ())
        if finite(spent) and spent >= 0
    }
    if entry.get("error"):
        return _Row(error=str(entry["error"])[:500], latency=latency)
    try:
        return _Row(answer=read_results(entry.get("results", entry.get("hits", []))), latency=latency)
    except AnswerError as error:
        return _Row(error=str(error), latency=latency)
