"""A team's own search service, asked over HTTP: a JSON body made from a template, results found by a path."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from rageval_action.core.model.types import Query, Ranking, Run
from rageval_action.retrievers.external import Answer, AnswerError, Filler, read_results
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.progress import track
from rageval_action.retrievers.score_direction import ScoreDirection, ScoreReader
from rageval_action.retrievers.templates import at, fill_template, fill_text, path, values_of
from rageval_action.transport import Client, TransportError, public

GIVE_UP = 10
BODY = '{"query": "{query}", "depth": "{depth}"}'


class HttpRetriever:
    """Asks a service for every query, several at a time.

    Options: `url`; `method` (POST, GET); `body`, a JSON text in which `{id}`, `{query}`, `{depth}`,
    `{acl.tenant}`,
    `{acl.principal}` and `{acl.groups}` stand for values (a string that is nothing but a placeholder
    becomes the
    value itself, a number or a list); `results_path`, `id_path`, `score_path`, `rank_path` (dotted names and
    numbers; an
    empty score path takes the order given); `scores` (similarity, distance: whether a larger or a smaller score is
    better); `header.NAME` with `${VARIABLE}` for a key; `timeout_s`, `retries`,
    `concurrency`. With GET the placeholders stand in the URL, escaped.

    After ten queries in a row without any answer the remaining ones are not asked.
    """

    def __init__(self, context: RetrieverContext) -> None:
        options = Options("http", context.options, context.environ)
        self._url = options.text("url", secret=True)
        self._method = options.text("method", "POST", choices=("POST", "GET"))
        self._body = _template(options)
        self._paths = tuple(
            path(options.text(f"{name}_path", default))
            for name, default in (("results", "results"), ("id", "id"), ("score", "score"), ("rank", "rank"))
        )
        self._direction = ScoreDirection.of(options)
        self._concurrency = options.integer("concurrency", 4, least=1, most=64)
        headers = options.headers()
        try:
            address = urlsplit(self._url)
        except ValueError:
            raise options.wrong("url", "it is no address") from None
        base = f"{address.scheme}://{address.netloc}"
        self._client = Client(
            base,
            headers,
            timeout_s=options.number("timeout_s", 30.0, least=0.01),
            retries=options.integer("retries", 2, most=20),
        )
        options.finish()
        self._parameters = options.recorded | {"url": public(self._url)}
        self._context = context
        self._silent = 0
        self._lock = threading.Lock()

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Ask for every query; a failure costs the query it happens to."""
        filler, scores = Filler(self._context), ScoreReader(self._direction)
        rankings: list[Ranking] = []
        pool = ThreadPoolExecutor(self._concurrency)
        try:
            pending = [pool.submit(self._ask, query, depth) for query in queries]
            for number, future in track(list(enumerate(pending)), "asking the service"):
                found, latency = future.result()
                query = queries[number]
                rankings.append(
                    filler.failed(query, found, latency)
                    if isinstance(found, str)
                    else filler.ranking(query, scores.read(found), depth, latency)
                )
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # whoever stops us does not wait for the service
        return Run(
            rankings=tuple(rankings),
            retriever="http",
            parameters=self._parameters,
            depth=depth,
            cost={"retrieve_calls": float(len(queries))},
            notices=(*filler.notices(), *scores.notices("retriever http")),
        )

    def _ask(self, query: Query, depth: int) -> tuple[Answer | str, dict[str, float]]:
        """Results, or why there are none, and the times."""
        if self._silent >= GIVE_UP:
            return f"not asked: {GIVE_UP} queries in a row got no answer", {}
        began = time.perf_counter()
        found: Answer | str
        try:
            found = self._results(self._request(query, depth))
            self._count(silent=False)
        except AnswerError as error:
            found = str(error)
            self._count(silent=False)
        except TransportError as error:
            found = error.message
            self._count(silent=error.code == "transport.unreachable")
        spent = (time.perf_counter() - began) * 1000
        return found, {"retrieve": spent, "total": spent}

    def _count(self, *, silent: bool) -> None:
        with self._lock:
            self._silent = self._silent + 1 if silent else 0

    def _request(self, query: Query, depth: int) -> Any:
        values = values_of(query, depth)
        address = urlsplit(self._url)
        target = f"{address.path}?{address.query}" if address.query else address.path
        if self._method == "GET":
            return self._client.request("GET", fill_text(target, values, lambda text: quote(text, safe="")))
        return self._client.request("POST", target, fill_template(self._body, values))

    def _results(self, answer: Any) -> Answer:
        results, name, score, rank = self._paths
        found = at(answer, results)
        if not isinstance(found, list):
            raise AnswerError(f"the answer has no list at {'.'.join(results) or 'its top'}")
        return read_results(
            [
                {
                    "id": at(item, name),
                    "score": at(item, score) if score else None,
                    "rank": at(item, rank) if rank else None,
                }
                for item in found
            ]
        )


def _template(options: Options) -> object:
    try:
        return msgspec.json.decode(options.text("body", BODY).encode())
    except (msgspec.DecodeError, RecursionError) as error:
        raise options.wrong("body", f"it is not JSON: {error}") from None
