"""How much a question copies the passage it should find. Such questions flatter lexical search.

Measured on folded text (NFKC, case) with words, and pairs of characters for CJK: `core.labels.tokens`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.core.labels.tokens import is_cjk, tokens
from rageval_action.golden.shared_words import content_tokens, longest_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RARE_LENGTH = 5


class Parroting(Struct, frozen=True, kw_only=True):
    """One question against one passage.

    Attributes:
        overlap: share of the question's distinct content tokens that the passage holds, in [0, 1].
        content: how many distinct content tokens the question has.
        copied: length of the longest run of tokens that both have; a CJK run of n characters counts n - 1.
        run: that run.
        leaked: rare identifiers of the corpus that the question gives away.
    """

    overlap: float
    content: int
    copied: int
    run: tuple[str, ...] = ()
    leaked: tuple[str, ...] = ()

    @property
    def rank(self) -> tuple[float, int]:
        """Sorts passages by how much is copied."""
        return self.overlap, self.copied


class Limits(Struct, frozen=True, kw_only=True):
    """From where a question counts as copied.

    Attributes:
        overlap: more than this share of content tokens, for questions of `few` of them or more.
        few: below this many content tokens overlap says nothing (a keyword query must share its keyword).
        copied: a run of this many words or more; of CJK characters, `copied_cjk` pairs or more; a run of both when its
            shares of the two make up a whole.
    """

    overlap: float = 0.9
    few: int = 5
    copied: int = 8
    copied_cjk: int = 13

    def complaint(self, found: Parroting) -> str:
        """Why the question is too close to the passage; empty when it is not."""
        pairs = sum(map(is_cjk, found.run))
        if (found.copied - pairs) / self.copied + pairs / self.copied_cjk >= 1:
            return f"copies {found.copied} tokens in a row"
        if found.content >= self.few and found.overlap > self.overlap:
            return f"{found.overlap:.0%} of its content words are the passage's"
        return f"gives away {', '.join(found.leaked)}" if found.leaked else ""


def score(question: str, passage: str, identifiers: Sequence[str] = ()) -> Parroting:
    """Measure one question against one passage; `identifiers` are those of the passage (see `rare_identifiers`)."""
    asked = set(content_tokens(question))
    run = longest_run(question, passage)
    shared = asked & set(tokens(passage))
    return Parroting(
        overlap=len(shared) / len(asked) if asked else 0.0,
        content=len(asked),
        copied=len(run),
        run=tuple(run),
        leaked=tuple(sorted(shared & set(identifiers))),
    )


def document_frequencies(texts: Sequence[str]) -> dict[str, int]:
    """Token -> number of texts that hold it."""
    counts: dict[str, int] = {}
    for text in texts:
        for token in set(tokens(text)):
            counts[token] = counts.get(token, 0) + 1
    return counts


def rare_identifiers(passage: str, frequencies: Mapping[str, int], *, at_most: int = 1) -> frozenset[str]:
    """Tokens of a passage that look like identifiers and stand in at most `at_most` passages of the corpus.

    A question that holds one has only one possible answer in the index, whatever else it says: error codes,
    hashes, version and part numbers, dotted or snake-case names.
    """
    return frozenset(
        token
        for token in tokens(passage)
        if frequencies.get(token, 0) <= at_most and _looks_like_identifier(token)
    )


def _looks_like_identifier(token: str) -> bool:
    if len(token) < _RARE_LENGTH or is_cjk(token):
        return False
    digits = any(character.isdigit() for character in token)
    letters = any(character.isalpha() for character in token)
    joined = any(character in "_/#@" for character in token) or ("." in token.strip(".") and letters)
    return (digits and letters) or joined or (digits and "-" in token)
