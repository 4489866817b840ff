"""What comes back from systems that are not ours: checked, named, and turned into rankings.

Nothing that another system says stops the run: a wrong answer costs the query that it answers.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct

from rageval_action.core.model.listed_order import Basis, Trend, trend
from rageval_action.core.model.types import Hit, Notice, Query, Ranking
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.ranking import Corpus, ordered

MAX_RESULTS = 100_000
EXAMPLES = 3


class AnswerError(Exception):
    """Why an answer cannot be used; its text is the query's error."""


class Answer(Struct, frozen=True):
    """What a system answered to one query.

    Attributes:
        results: ids with scores in the order listed; without scores in the answer, 1/rank.
        scored: whether the answer has scores.
        trend: how its scores run from the best place to the last.
    """

    results: list[tuple[str, float]]
    scored: bool = False
    trend: tuple[Trend, Basis] = ("level", "list")


class _Entry(Struct, frozen=True):
    """One result as listed."""

    id: str
    score: float | None = None
    rank: float | None = None


def read_results(found: object) -> Answer:
    """Ids with scores out of decoded JSON.

    Accepts a list of ids (best first), of `[id, score]`, or of objects with `id` and perhaps `score` and `rank`.
    Without scores the ranks decide, else the order given; equal ranks are equal scores. A repeated id keeps its first
    place (the caller counts them).

    Raises:
        AnswerError: anything else, a score or rank that is not a finite number, or that only some results have.
    """
    if not isinstance(found, list):
        raise AnswerError(f"the results are not a list but {type(found).__name__}")
    if len(found) > MAX_RESULTS:
        raise AnswerError(f"{len(found)} results are more than {MAX_RESULTS}")
    entries = [_entry(item, place) for place, item in enumerate(found, 1)]
    names = [entry.id for entry in entries]
    scores = _column([entry.score for entry in entries], "score")
    ranks = _column([entry.rank for entry in entries], "rank")
    if scores:
        first = sorted({name: at for at, name in reversed(list(enumerate(names)))}.values())
        found = trend([scores[at] for at in first], [ranks[at] for at in first] if ranks else None)
        return Answer(list(zip(names, scores, strict=True)), scored=True, trend=found)
    places = _places(ranks) if ranks else range(1, len(names) + 1)
    return Answer([(name, 1.0 / place) for name, place in zip(names, places, strict=True)])


def _column(values: Sequence[float | None], what: str) -> list[float]:
    """All values, or none where no result has one."""
    there = [value for value in values if value is not None]
    if there and len(there) < len(values):
        raise AnswerError(f"some results have a {what} and some have none")
    return there


def _places(ranks: Sequence[float]) -> list[int]:
    """1 for the smallest rank and on; equal ranks share their first place."""
    ordered_ranks = sorted(ranks)
    first = {rank: place for place, rank in reversed(list(enumerate(ordered_ranks, 1)))}
    return [first[rank] for rank in ranks]


def _entry(item: object, place: int) -> _Entry:
    name, score, rank = item, None, None
    if isinstance(item, dict):
        name, score, rank = item.get("id"), item.get("score"), item.get("rank")
    elif isinstance(item, list) and len(item) == 2:
        name, score = item
    if isinstance(name, bool) or not isinstance(name, (str, int)) or name == "":
        raise AnswerError(f"result {place} has no id")
    return _Entry(
        str(name),
        _number(score, f"the score of result {place}"),
        _number(rank, f"the rank of result {place}"),
    )


def _number(value: object, what: str) -> float | None:
    if value is None:
        return None
    if not finite(value):
        raise AnswerError(f"{what} is not a finite number")
    return float(value)


def finite(value: object) -> TypeGuard[int | float]:
    """True for a number that a float can hold; a whole number of JSON may be larger than any."""
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    )


class Filler:
    """Turns checked results into rankings and remembers what a reader must be told.

    An id may be a chunk's or a document's. An id that the snapshot does not know keeps its place, since the
    system did return it there; when *all* ids of an answer are unknown the query counts as failed.
    """

    def __init__(self, context: RetrieverContext) -> None:
        self.corpus = Corpus(context.snapshot.chunks)
        self._enforce = context.access == "enforce"
        self._unknown: Counter[str] = Counter()
        self._repeated = self._hidden = 0

    def ranking(
        self, query: Query, results: Sequence[tuple[str, float]], depth: int, latency: Mapping[str, float]
    ) -> Ranking:
        """The ranking, or a failed one; of `results` a larger score is better."""
        named = self._named(results)
        if results and not any(self._known(name) for name in named):
            first = next(iter(named))
            return self.failed(
                query, f'none of the ids returned is in the snapshot (first: "{first}")', latency
            )
        hits: list[Hit] = []
        documents: set[str] = set()
        for name, score in ordered(list(named.items())):
            hit = self._hit(name, len(hits) + 1, score)
            if self._enforce and not self._visible(query, hit):
                self._hidden += 1
                continue
            if not self._known(name):
                self._unknown[name] += 1
            hits.append(hit)
            documents.add(hit.doc)
            if len(documents) == depth:
                break
        return Ranking(query_id=query.id, hits=tuple(hits), latency_ms=dict(latency))

    def settled(self, query: Query, results: Sequence[tuple[str, float]], depth: int) -> bool:
        """True when `depth` documents are reached and the last result is worse than the last that counts."""
        documents: set[str] = set()
        least = min((score for _, score in results), default=0.0)
        for name, score in sorted(results, key=lambda pair: -pair[1]):
            hit = self._hit(name, 1, score)
            if not self._enforce or self._visible(query, hit):
                documents.add(hit.doc)
            if len(documents) >= depth:
                return score > least
        return False

    def failed(self, query: Query, why: str, latency: Mapping[str, float] | None = None) -> Ranking:
        """A ranking that says why there is none."""
        return Ranking(query_id=query.id, error=why, latency_ms=dict(latency or {}))

    def notices(self) -> tuple[Notice, ...]:
        """What happened on the way, counted."""
        told: list[Notice] = []
        if self._unknown:
            shown = ", ".join(f'"{name}"' for name, _ in self._unknown.most_common(EXAMPLES))
            text = (
                f"{sum(self._unknown.values())} results name ids that are not in the snapshot, e.g. {shown}"
            )
            told.append(Notice(code="retriever.unknown-ids", text=text))
        if self._repeated:
            text = f"{self._repeated} results repeat an id of the same ranking; the first place counts"
            told.append(Notice(code="retriever.repeated-ids", text=text))
        if self._hidden:
            text = f"{self._hidden} results that the query may not see were taken out (access: enforce)"
            told.append(Notice(code="retriever.hidden-results", text=text))
        return tuple(told)

    def _named(self, results: Sequence[tuple[str, float]]) -> dict[str, float]:
        named: dict[str, float] = {}
        for given, score in results:
            name = given if self._known(given) else unicodedata.normalize("NFC", given)
            if name in named:
                self._repeated += 1
            named.setdefault(name, score)
        return named

    def _known(self, name: str) -> bool:
        return name in self.corpus.row_of or name in self.corpus.documents

    def _hit(self, name: str, rank: int, score: float) -> Hit:
        row = self.corpus.row_of.get(name)
        return (
            Hit(id=name, doc=name, rank=rank, score=score)
            if row is None
            else self.corpus.hit(row, rank, score)
        )

    def _visible(self, query: Query, hit: Hit) -> bool:
        row = self.corpus.row_of.get(hit.id)
        if row is not None:
            return self.corpus.sees(query, row)
        rows = self.corpus.rows_of(hit.id)
        return not rows or any(self.corpus.sees(query, row) for row in rows)


def question(query: Query, depth: int) -> dict[str, Any]:
    """A query as another system is asked it: id, query, depth, and who asks where that is known."""
    asked: dict[str, Any] = {"id": query.id, "query": query.text, "depth": depth}
    if query.acl is not None:
        asked["acl"] = msgspec.to_builtins(query.acl)
    return asked
