"""A team's own program, asked over standard input and output, one JSON line each way.

Asked: `{"id": "q1", "query": "…", "depth": 100}`, with `"acl"` where the query has one.
Answered: `{"id": "q1", "results": [{"id": "chunk-7", "score": 0.83}, …]}`, or `{"id": "q1", "error": "…"}`.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rageval_action.core.model.types import Query, Ranking, Run
from rageval_action.retrievers.child import MAX_LINE, DeadError, LineProcess
from rageval_action.retrievers.code_hashes import code_of_command
from rageval_action.retrievers.confine import Confinement, confined
from rageval_action.retrievers.external import AnswerError, Filler, question, read_results
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.progress import say, track
from rageval_action.retrievers.score_direction import ScoreDirection, ScoreReader

GIVE_UP, NEVER = 5, 3
"""Processes lost in a row after which no query is asked any more; the second when none ever answered."""

RESTART_S = 2.0
"""No restart has less, or a short `timeout_s` would leave no time to load anything."""

PATIENCE_S = 10.0
"""After so long a silence at the start somebody is told what is waited for."""

STALE = 1000


class CommandRetriever:
    """One process for all queries, restarted after it hung or died.

    Options: `command` (a list of words, or a line that is split as a shell would, but no shell runs), `cwd`,
    `timeout_s` for an answer, `start_timeout_s` for the very first one, `pass_env` (variables that it may have),
    `scores` (similarity, distance: whether a larger or a smaller score is better). The first query is asked once before
    the clock starts. After five failures in a row that needed a new process, or three when there was no answer before,
    the remaining queries are not asked.
    """

    name = "command"

    def __init__(self, context: RetrieverContext) -> None:
        options = Options(self.name, context.options, context.environ)
        self._environ = context.environ
        self._arguments = self._command(options)
        self._folder = Path(options.text("cwd", "."))
        self._timeout_s = options.number("timeout_s", 30.0, least=0.01)
        self._start_timeout_s = options.number("start_timeout_s", 120.0, least=0.01)
        self._pass_env = options.names("pass_env", "")
        self._direction = ScoreDirection.of(options)
        options.finish()
        self._options = options
        self._context = context
        if not self._folder.is_dir():
            raise options.wrong("cwd", f"{self._folder} is not a folder")

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Ask for every query; a failure costs the query it happens to."""
        filler, scores = Filler(self._context), ScoreReader(self._direction)
        with confined(self._pass_env, self._folder, program=self._arguments[0], environ=self._environ) as how:
            limits = Limits(timeout_s=self._timeout_s, start_timeout_s=self._start_timeout_s)
            talk = _Talk(self._arguments, self._folder, how, limits)
            try:
                warm_up = talk.warm_up(queries, depth)
                rankings = [
                    talk.rank(query, depth, filler, scores) for query in track(queries, "asking the command")
                ]
            finally:
                talk.end()
        return Run(
            rankings=tuple(rankings),
            retriever=self.name,
            parameters=self._options.recorded | {"isolation": how.isolation},
            depth=depth,
            warm_up=warm_up,
            notices=(*filler.notices(), *scores.notices(f"retriever {self.name}")),
            code=self.code(),
        )

    def code(self) -> dict[str, str]:
        """The files of the repository that rank, with their hashes."""
        return code_of_command(self._arguments, self._folder)

    def _command(self, options: Options) -> list[str]:
        try:
            arguments = shlex.split(options.text("command"))
        except ValueError as error:
            raise options.wrong("command", f"it cannot be split into words: {error}") from error
        if not arguments:
            raise options.wrong("command", "it is empty")
        return arguments


class Limits(Struct, frozen=True, kw_only=True):
    """How long an answer may take, in seconds."""

    timeout_s: float
    start_timeout_s: float

    def restart_s(self, first_s: float) -> float:
        """The limit of a restarted process's first answer, when the very first one took `first_s` (0: it never came).

        It is less than that of the first start: whoever hangs at every query shall not cost minutes each time.
        """
        return min(self.start_timeout_s, max(RESTART_S, 3 * self.timeout_s, 2 * first_s))


class _Talk:
    """The conversation with one process after another."""

    def __init__(self, arguments: list[str], folder: Path, how: Confinement, limits: Limits) -> None:
        self._arguments, self._folder, self._how, self._limits = arguments, folder, how, limits
        self._process: LineProcess | None = None
        self._fresh, self._first_start = True, True
        self._first_s = 0.0
        self._deaths = self._told = 0
        self._last = ""
        self._asked: set[str] = set()
        self._lost: dict[str, str] = {}

    def warm_up(self, queries: Sequence[Query], depth: int) -> int:
        """Ask the first query once for nothing; one that costs the process is not asked again."""
        waiting = self._limits.start_timeout_s
        text = f"no answer yet; waiting for the first one up to {waiting:g} s (start_timeout_s)"
        reminder = threading.Timer(PATIENCE_S, say, [text])
        reminder.daemon = True
        reminder.start()
        try:
            for query in queries[:1]:
                try:
                    self._ask(query, depth)
                except DeadError as error:
                    self._lost[query.id] = str(error)
                    return 0
                except AnswerError:
                    return 0
        finally:
            reminder.cancel()
        return len(queries[:1])

    def rank(self, query: Query, depth: int, filler: Filler, scores: ScoreReader) -> Ranking:
        """One query's ranking."""
        if query.id in self._lost:
            return filler.failed(query, self._lost.pop(query.id))
        if self._deaths >= GIVE_UP:
            why = f"the process failed {GIVE_UP} times in a row, the last time: {self._last}"
            return filler.failed(query, f"not asked: {why}")
        if not self._first_s and self._deaths >= NEVER:
            why = f"the process was started {NEVER} times and never answered, the last time: {self._last}"
            return filler.failed(query, f"not asked: {why}")
        began = time.perf_counter()
        try:
            results = scores.read(read_results(self._ask(query, depth)))
        except AnswerError as error:
            spent = (time.perf_counter() - began) * 1000
            return filler.failed(query, str(error), {"retrieve": spent, "total": spent})
        spent = (time.perf_counter() - began) * 1000
        return filler.ranking(query, results, depth, {"retrieve": spent, "total": spent})

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.stop()

    def _ask(self, query: Query, depth: int) -> object:
        """The `results` of the answer.

        Raises:
            AnswerError: no usable answer; `DeadError` when the process is gone.
        """
        began = time.monotonic()
        try:
            if self._process is None:
                self._fresh = True
                self._process = LineProcess(self._arguments, self._folder, self._how)
            answer = self._answer(self._process, query, depth)
        except DeadError as error:
            self._process, self._first_start = None, False
            self._deaths += 1
            self._last = str(error)
            if self._told < GIVE_UP:
                self._told += 1
                say(f'query "{query.id}": {self._last}')
            raise
        self._first_s = self._first_s or time.monotonic() - began
        self._fresh, self._first_start, self._deaths = False, False, 0
        if isinstance(answer.get("error"), str) and answer["error"]:
            raise AnswerError(f"it answered with an error: {answer['error'][:300]}")
        return answer.get("results")

    def _limit(self) -> float:
        if self._first_start:
            return self._limits.start_timeout_s
        return self._limits.restart_s(self._first_s) if self._fresh else self._limits.timeout_s

    def _answer(self, process: LineProcess, query: Query, depth: int) -> dict[str, Any]:
        """The answer to this query; late answers to earlier ones are passed over."""
        limit = self._limit()
        deadline = time.monotonic() + limit
        line = process.ask(msgspec.json.encode(question(query, depth)), limit)
        self._asked.add(query.id)
        for _ in range(STALE):
            answer = _decoded(line)
            if answer.get("id") == query.id:
                return answer
            if str(answer.get("id")) not in self._asked:
                raise AnswerError(
                    f"the answer has the id {str(answer.get('id'))[:80]!r}, not that of the query"
                )
            line = process.next_line(deadline, limit)
        raise AnswerError(f"{STALE} answers to other queries came first")


def _decoded(line: bytes) -> dict[str, Any]:
    if not line:
        raise AnswerError(f"the answer is empty or longer than {MAX_LINE} bytes")
    try:
        answer = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        raise AnswerError(f"the answer is not JSON: {line[:60].decode('utf-8', 'replace')!r}") from None
    if not isinstance(answer, dict):
        raise AnswerError("the answer is not a JSON object")
    return answer
