"""Texts compared as the checks and filters of golden sets do: by the words and runs of words that they share."""

from __future__ import annotations

from rageval_action.core.labels.tokens import fold_case, tokens

STOP_WORDS = frozenset({
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "between", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "done",
    "for", "from", "further", "get", "gets", "had", "has", "have", "having", "he", "her", "here", "hers", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "may", "me", "might", "more",
    "most", "must", "my", "no", "nor", "not", "of", "off", "on", "once", "one", "only", "or", "other", "our",
    "out", "over", "own", "same", "she", "should", "so", "some", "such", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "use",
    "used", "using", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "would", "you", "your", "tell", "explain", "describe", "list", "give", "show",
    "find", "make", "need", "want", "please",
})  # fmt: skip
"""English words that carry no topic. Chinese needs no list: function characters rarely form a pair of their own."""


def content_tokens(text: str) -> list[str]:
    """`tokens` without stop words."""
    return [token for token in tokens(text) if token not in STOP_WORDS]


def longest_run(query: str, passage: str) -> list[str]:
    """The longest run of the query's tokens that stands in the passage; the first of several."""
    asked, given = tokens(query), tokens(passage)
    ends: dict[int, int] = {}
    best, best_end = 0, 0
    places: dict[str, list[int]] = {}
    for at, token in enumerate(given):
        places.setdefault(token, []).append(at)
    for at, token in enumerate(asked):
        fresh: dict[int, int] = {}
        for place in places.get(token, ()):
            fresh[place] = ends.get(place - 1, 0) + 1
            if fresh[place] > best:
                best, best_end = fresh[place], at + 1
        ends = fresh
    return asked[best_end - best : best_end]


def shingles(text: str, size: int = 3) -> frozenset[str]:
    """Runs of `size` characters of the folded text without blanks and punctuation: what near-duplicates share."""
    plain = "".join(character for character in fold_case(text) if character.isalnum())
    if len(plain) <= size:
        return frozenset((plain,)) if plain else frozenset()
    return frozenset(plain[at : at + size] for at in range(len(plain) - size + 1))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared part of two sets, in [0, 1]."""
    union = len(left | right)
    return len(left & right) / union if union else 1.0
