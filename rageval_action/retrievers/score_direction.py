"""Which way scores of a foreign system point: a larger one is better (similarity), or a smaller one (distance).

Results are listed best first. Where that contradicts the scores of most queries, nothing is guessed: the run is refused
until the option `scores` says what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.core.model.listed_order import Trend, Trends
from rageval_action.core.model.types import Notice
from rageval_action.core.wording.lists import queries
from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from rageval_action.retrievers.external import Answer
    from rageval_action.retrievers.options import Options

CHOICES = ("similarity", "distance")


class ScoreDirection(Struct, frozen=True):
    """The option `scores`: what the scores are, and whether the user said so."""

    means: str
    given: bool

    @classmethod
    def of(cls, options: Options) -> ScoreDirection:
        """Read the option."""
        return cls(options.text("scores", "similarity", choices=CHOICES), options.given("scores"))


class ScoreReader:
    """Turns the distances of one run round, and compares the order of every answer with its scores."""

    def __init__(self, direction: ScoreDirection) -> None:
        self._means, self._given = direction.means, direction.given
        self._trends = Trends()
        self._answers = self._scored = 0

    def read(self, answer: Answer) -> list[tuple[str, float]]:
        """The results of one query with scores of which the larger is better; the query is counted."""
        if not answer.results:
            return answer.results
        self._answers += 1
        if not answer.scored:
            return answer.results
        self._scored += 1
        self._trends.add(answer.trend)
        if self._means == "similarity":
            return answer.results
        return [(name, 0.0 - score) for name, score in answer.results]

    def notices(self, where: str) -> tuple[Notice, ...]:
        """What a reader must know of the order listed; called after the last query.

        Args:
            where: the retriever or the file, for the messages.

        Raises:
            ConfigError: `retriever.score-direction` where most queries contradict their scores and `scores` was not
                given; `config.no-effect` where it was given and no result has a score.
        """
        if self._given and self._answers and not self._scored:
            text = f"`scores: {self._means}` has no effect: the results have no scores."
            raise ConfigError("config.no-effect", text, hint="Leave it out.", where=where)
        wrong: Trend = "rising" if self._means == "similarity" else "falling"
        against, decided = self._trends.count(wrong, "mixed"), self._trends.decided
        if not against:
            return ()
        share = f"{against} of {queries(decided)}"
        if not self._given and 2 * against > decided:
            raise refusal(self._trends, share, CURE, where)
        return (contradicted(share, f" (`scores: {self._means}`)"),)


CURE = (
    "Set the option `scores: distance` if a smaller score is better, or `scores: similarity` if a larger one is, "
    "whatever the order. Leave the scores out if the order decides."
)


def refusal(trends: Trends, share: str, cure: str, where: str) -> ConfigError:
    """The error for a run in which the order of the results contradicts their scores; `share` of its queries."""
    ordered = "ordered by rank" if trends.basis == "rank" else "listed best first"
    what = "rise" if 2 * trends.count("rising") > trends.decided else "have another order"
    text = f"the results are {ordered}, but their scores {what} in {share}."
    return ConfigError("retriever.score-direction", text, hint=cure, where=where)


def contradicted(share: str, means: str = "") -> Notice:
    """The notice for the queries in which the scores decide against the order of the results."""
    text = f"the order of the results contradicts their scores in {share}; the scores decide{means}"
    return Notice(code="retriever.order-contradicts", text=text)
