"""What retrievers over a team's own vector store share: encode, ask deep enough, check, order."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.listed_order import Trends, trend
from rageval_action.core.model.types import Notice, Query, Ranking, Run
from rageval_action.core.wording.lists import queries as in_queries
from rageval_action.retrievers.external import AnswerError, Filler
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.progress import track
from rageval_action.retrievers.ranking import MARGIN
from rageval_action.retrievers.score_direction import contradicted, refusal

GIVE_UP = 10
DIGITS = 6
"""Significant digits kept of a store's scores: they are 32-bit, and equal vectors must tie wherever they lie."""


class StoreRetriever(ABC):
    """Asks a store for the nearest chunks of every query.

    A subclass reads its options in `configure` and answers in `search`. Results are asked for beyond the depth until
    the last one is worse than the last that counts, so that a tie at the cut is settled by our order and not by the
    store's; access is enforced on what came back, whatever the store filtered itself.
    """

    name: ClassVar[str]
    most: ClassVar[int] = 10_000
    """The largest number of results that the store gives at once."""

    needs_vectors = True

    direction_cure: ClassVar[str] = "Check the options that say how the store measures and orders."
    """What to do where the store lists its nearest results first and the scores made of them rise."""

    def __init__(self, context: RetrieverContext) -> None:
        options = Options(self.name, context.options, context.environ)
        self.options = options
        self.configure(options)
        options.finish()
        self._context = context

    @abstractmethod
    def configure(self, options: Options) -> None:
        """Read the options and check what can be checked without the store."""

    @abstractmethod
    def search(self, query: Query, vector: NDArray[np.float32], limit: int) -> list[tuple[str, float]]:
        """At most `limit` ids with scores (larger is better), in the order in which the store listed them.

        Raises:
            AnswerError: why there are none.
        """

    def open(self) -> None:  # noqa: B027 - nothing to do for a server over HTTP
        """Connect, where that is still to be done; called before every query, outside its time.

        Raises:
            AnswerError: the store cannot be reached.
        """

    def close(self) -> None:  # noqa: B027
        """Let go of the store."""

    def clock_ms(self) -> float:
        """A clock for the times of searches that were answered."""
        return time.perf_counter() * 1000

    def retrieve(self, queries: Sequence[Query], depth: int) -> Run:
        """Ask for every query, one after the other; a failure costs the query it happens to."""
        filler = Filler(self._context)
        vectors = self._vectors(queries)
        self._failures, self._trends = 0, Trends()
        try:
            warm_up = self._warm_up(queries, vectors, depth)
            rankings = [
                self._ranking(query, vectors[at], depth, filler)
                for at, query in track(list(enumerate(queries)), f"asking {self.name}")
            ]
        finally:
            self.close()
        return Run(
            rankings=tuple(rankings),
            retriever=self.name,
            parameters=self.options.recorded,
            depth=depth,
            warm_up=warm_up,
            notices=(*filler.notices(), *self._order_notices()),
        )

    def _order_notices(self) -> tuple[Notice, ...]:
        """Queries whose results the store listed in another order than that of their scores.

        Raises:
            ConfigError: `retriever.score-direction` where the scores of most queries rise down the list.
        """
        rising, decided = self._trends.count("rising"), self._trends.decided
        if 2 * rising > decided:
            share = f"{rising} of {in_queries(decided)}"
            raise refusal(self._trends, share, self.direction_cure, f"retriever {self.name}")
        against = self._trends.count("rising", "mixed")
        return (contradicted(f"{against} of {in_queries(decided)}"),) if against else ()

    def _vectors(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        if not queries or not self.needs_vectors:
            return np.zeros((len(queries), 1), dtype=np.float32)
        return self._context.encode([query.text for query in queries])

    def _warm_up(self, queries: Sequence[Query], vectors: NDArray[np.float32], depth: int) -> int:
        """Connect and ask once for nothing; what goes wrong will go wrong again where it counts."""
        try:
            self.open()
            for at, query in enumerate(queries[:1]):
                self.search(query, vectors[at], depth)
        except AnswerError:
            return 0
        return len(queries[:1])

    def _ranking(self, query: Query, vector: NDArray[np.float32], depth: int, filler: Filler) -> Ranking:
        if self._failures >= GIVE_UP:
            return filler.failed(query, f"not asked: {GIVE_UP} queries in a row failed")
        began = time.perf_counter()
        try:
            self.open()
            before, began = self.clock_ms(), time.perf_counter()
            results = self._deep_enough(query, vector, depth, filler)
        except AnswerError as error:
            self._failures += 1
            spent = (time.perf_counter() - began) * 1000
            return filler.failed(query, str(error), {"retrieve": spent, "total": spent})
        self._failures = 0
        self._trends.add(trend([score for _, score in results]))
        spent = self.clock_ms() - before
        return filler.ranking(query, results, depth, {"retrieve": spent, "total": spent})

    def _deep_enough(
        self, query: Query, vector: NDArray[np.float32], depth: int, filler: Filler
    ) -> list[tuple[str, float]]:
        limit = min(depth + MARGIN, self.most)
        while True:
            found = [(name, _short(score)) for name, score in self.search(query, vector, limit)]
            if len(found) < limit or limit >= self.most or filler.settled(query, found, depth):
                return found
            limit = min(limit * 4, self.most)


def _short(score: float) -> float:
    number = float(score)
    if not np.isfinite(number):
        raise AnswerError("a score is not a finite number")
    return float(f"{number:.{DIGITS}g}")


def literal(vector: NDArray[np.float32]) -> list[float]:
    """A vector as JSON and SQL take it: the shortest decimals that give the same 32-bit numbers."""
    return [float(str(number)) for number in vector]
