"""The round trip: search for each question, ask which other chunks answer it as well, and note how hard it is.

Nothing is dropped for being easy or hard: a set without the questions that today's retriever finds would be a set
against today's retriever. The one exception: an unanswerable question that some chunk answers is not unanswerable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from rageval_action.core.labels.tokens import fold_case
from rageval_action.golden.generate.candidates import Candidate, parse_answer, verify
from rageval_action.golden.generate.model_stages import also_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rageval_action.core.model.types import Chunk, Evidence
    from rageval_action.golden.generate.model_requests import Asker
    from rageval_action.golden.generate.question_plan import Settings

Search: TypeAlias = Callable[[Sequence[str]], list[list[str]]]
"""Query texts -> chunk ids of each, best first."""

PER_SEARCH = 4
"""Hits of each search that the model is shown."""

HARD_FROM = 10
"""A question whose own chunk no search ranks among so many is hard; one that every search ranks first is easy."""


class RoundTrip:
    """Joins questions with searches over the corpus they came from."""

    def __init__(self, chunks: Sequence[Chunk], searches: Mapping[str, Search]) -> None:
        self._by_id = {chunk.id: chunk for chunk in chunks}
        self._searches = dict(searches)
        self._by_text: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            self._by_text.setdefault(fold_case(chunk.text), []).append(chunk)
        self.unverified = 0

    def __call__(self, candidates: Sequence[Candidate], settings: Settings, asker: Asker) -> list[str]:
        """For each candidate why it is dropped, empty when it is kept; fills in `ranks` and `also`."""
        if not candidates:
            return []
        texts = [one.question for one in candidates]
        results = {name: search(texts) for name, search in self._searches.items()}
        shown: list[list[Chunk]] = []
        for at, one in enumerate(candidates):
            own = {chunk.id for chunk in one.slot.chunks} if one.slot.kind != "unanswerable" else set()
            for name, rankings in results.items():
                ranks = [place for place, found in enumerate(rankings[at], start=1) if found in own]
                one.ranks[name] = ranks[0] if ranks else 0
            shown.append(self._others(one, own, [rankings[at] for rankings in results.values()]))
        asked = [at for at, passages in enumerate(shown) if passages]
        requests = [also_request(candidates[at], shown[at], settings) for at in asked]
        reasons = ["" for _ in candidates]
        for at, outcome in zip(asked, asker.ask(requests) if requests else (), strict=True):
            table, reason = parse_answer(outcome)
            reasons[at] = self._take(candidates[at], shown[at], table, reason)
        return reasons

    def _others(self, one: Candidate, own: set[str], rankings: Sequence[Sequence[str]]) -> list[Chunk]:
        """Chunks to show the model: the first few of each search, each text once, the question's own left out.

        A chunk with the same text as the question's own answers it by itself and is taken without asking.
        """
        same = {id_ for chunk in one.slot.chunks for id_ in self._twins(chunk)} if own else set()
        if one.slot.kind == "lookup":
            quote = one.evidence[0].quote
            twins = [verify(self._by_id[name], quote) for name in sorted(same - own)]
            one.also = tuple(item for item in twins if item is not None)
        found: dict[str, Chunk] = {}
        for ranking in rankings:
            fresh = [name for name in ranking if name in self._by_id and name not in own | same]
            for name in fresh[:PER_SEARCH]:
                chunk = self._by_id[name]
                found.setdefault(fold_case(chunk.text), chunk)
        return list(found.values()) if one.slot.kind != "multi-document" else []

    def _twins(self, chunk: Chunk) -> list[str]:
        return [other.id for other in self._by_text.get(fold_case(chunk.text), ())]

    def _take(self, one: Candidate, passages: Sequence[Chunk], table: dict[str, object], reason: str) -> str:
        if reason:
            # The question is good by itself; that its other answers are unknown is noted in its scores.
            one.scores = {**one.scores, "also_unknown": 1}
            return f"round-trip-{reason}" if one.slot.kind == "unanswerable" else ""
        entries = table.get("answers")
        found: list[Evidence] = []
        for entry in entries if isinstance(entries, list) else ():
            number = entry.get("number") if isinstance(entry, dict) else None
            if isinstance(number, int) and 1 <= number <= len(passages):
                item = verify(passages[number - 1], str(entry.get("quote") or ""))
                if item is None:
                    self.unverified += 1
                else:
                    found.append(item)
        if one.slot.kind == "unanswerable":
            return "answerable-after-all" if found else ""
        one.also = (*one.also, *found)
        return ""


def difficulty(ranks: Mapping[str, int]) -> str:
    """`easy`: first in every search; `hard`: in none within `HARD_FROM`; else `medium`. Empty without a search."""
    if not ranks:
        return ""
    if all(rank == 1 for rank in ranks.values()):
        return "easy"
    return "medium" if any(1 <= rank <= HARD_FROM for rank in ranks.values()) else "hard"
