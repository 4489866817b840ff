"""A team's own program, asked over standard input and output, one JSON line each way.

Asked: `{"id": "q1", "query": "…", "depth": 100}`, with `"acl"` where the query has one.
Answered: `{"id": "q1", "results": [{"id": "chunk-7", "score": 0.83}, …]}`, or `{"id": "q1", "error": "…"}`.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rageval_action.core.types import Query, Ranking, Run
from rageval_action.retrievers.child import MAX_LINE, DeadError, LineProcess
from rageval_action.retrievers.confine import NOBODY, Confinement, confined
from rageval_action.retrievers.external import AnswerError, Filler, question, read_results
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.progress import track

GIVE_UP = 5
STALE = 1000


class CommandRetriever:
    """One process for all queries, restarted after it hung or died.

    Options: `command` (split as a shell would, but no shell runs), `cwd`, `timeout_s` for an answer,
    `start_timeout_s` for the first one of a process, `pass_env` (variables that it may have), `uid` (whom
    it runs as
    when we are root). The first query is asked once before the clock starts. After five failures in a row
    that needed a new process the remaining queries are not asked.
    """

    name = "command"

    def __init__(self, context: RetrieverContext) -> None:
        options = Options(self.name, context.options)
        self._arguments = self._command(options)
        self._folder = Path(options.text("cwd", "."))
        self._timeout_s = options.number("timeout_s", 30.0, least=0.01)
        self._start_timeout_s = options.number("start_timeout_s", 120.0, least=0.01)
        self._pass_env = options.names("pass_env", "")
        self._user = options.integer("uid", NOBODY, least=1, most=2**31 - 1)
        options.finish()
        self._options = options
        self._context = context
        if not self._folder.is_dir():
            raise options.wrong("cwd", f"{self._folder} is not a folder")

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Ask for every query; a failure costs the query it happens to."""
        filler = Filler(self._context)
        with confined(self._pass_env, self._folder, user=self._user) as how:
            talk = _Talk(self._arguments, self._folder, how, (self._timeout_s, self._start_timeout_s))
            try:
                warm_up = talk.warm_up(queries, depth)
                rankings = [talk.rank(query, depth, filler) for query in track(queries, "asking the command")]
            finally:
                talk.end()
        return Run(
            rankings=tuple(rankings),
            retriever=self.name,
            parameters=self._options.recorded | {"isolation": how.isolation},
            depth=depth,
            warm_up=warm_up,
            notices=filler.notices(),
        )

    def _command(self, options: Options) -> list[str]:
        try:
            arguments = shlex.split(options.text("command"))
        except ValueError as error:
            raise options.wrong("command", f"it cannot be split into words: {error}") from error
        if not arguments:
            raise options.wrong("command", "it is empty")
        return arguments


class _Talk:
    """The conversation with one process after another."""

    def __init__(
        self, arguments: list[str], folder: Path, how: Confinement, timeouts: tuple[float, float]
    ) -> None:
        self._arguments, self._folder, self._how = arguments, folder, how
        self._timeout_s, self._start_timeout_s = timeouts
        self._process: LineProcess | None = None
        self._fresh = True
        self._deaths = 0
        self._asked: set[str] = set()

    def warm_up(self, queries: Sequence[Query], depth: int) -> int:
        """Ask the first query once for nothing; what goes wrong will go wrong again where it counts."""
        for query in queries[:1]:
            try:
                self._ask(query, depth)
            except AnswerError:
                return 0
        return len(queries[:1])

    def rank(self, query: Query, depth: int, filler: Filler) -> Ranking:
        """One query's ranking."""
        if self._deaths >= GIVE_UP:
            return filler.failed(query, f"not asked: the process failed {GIVE_UP} times in a row")
        began = time.perf_counter()
        try:
            results = read_results(self._ask(query, depth))
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
        try:
            if self._process is None:
                self._fresh = True
                self._process = LineProcess(self._arguments, self._folder, self._how)
            answer = self._answer(self._process, query, depth)
        except DeadError:
            self._process = None
            self._deaths += 1
            raise
        self._fresh, self._deaths = False, 0
        if isinstance(answer.get("error"), str) and answer["error"]:
            raise AnswerError(f"it answered with an error: {answer['error'][:300]}")
        return answer.get("results")

    def _answer(self, process: LineProcess, query: Query, depth: int) -> dict[str, Any]:
        """The answer to this query; late answers to earlier ones are passed over."""
        limit = self._start_timeout_s if self._fresh else self._timeout_s
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
