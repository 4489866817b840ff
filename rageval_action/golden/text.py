"""Text as the checks and filters see it: folded, cut into words (CJK: pairs of characters), compared by overlap."""

from __future__ import annotations

import re
import unicodedata

_CJK = "\u2e80-\u2fdf\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(rf"[{_CJK}]+|[^\W_]+(?:[-_.:/#@'’+][^\W_]+)*\+*", re.UNICODE)
_BLANKS = re.compile(r"\s+")

STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "done",
        "for",
        "from",
        "further",
        "get",
        "gets",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "may",
        "me",
        "might",
        "more",
        "most",
        "must",
        "my",
        "no",
        "nor",
        "not",
        "of",
        "off",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "use",
        "used",
        "using",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "tell",
        "explain",
        "describe",
        "list",
        "give",
        "show",
        "find",
        "make",
        "need",
        "want",
        "please",
    ]
)
"""English words that carry no topic. Chinese needs no list: function characters rarely form a pair of their own."""


def fold(text: str) -> str:
    """NFKC, case-folded, every run of white space one blank: two spellings that a reader takes for one text."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def tokens(text: str) -> list[str]:
    """Words of the folded text in order; a run of CJK characters gives its overlapping pairs (a single one: itself).

    Words keep inner hyphens, dots, colons and the like, so that an identifier (`STG-8815`, `os.path`) is one token.
    """
    found: list[str] = []
    for match in _WORD.finditer(fold(text)):
        word = match[0]
        if _CJK_RUN.fullmatch(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        else:
            found.append(word)
    return found


def content_tokens(text: str) -> list[str]:
    """`tokens` without stop words."""
    return [token for token in tokens(text) if token not in STOP_WORDS]


def has_cjk(text: str) -> bool:
    """True when the text holds Chinese, Japanese or Korean characters."""
    return _CJK_RUN.search(text) is not None


def is_cjk_token(token: str) -> bool:
    """True for a token that `tokens` made from CJK characters."""
    return _CJK_RUN.fullmatch(token) is not None


def containment(query: str, passage: str) -> float:
    """Share of the query's distinct content tokens that the passage holds, in [0, 1]; 0 for a query without any."""
    wanted = set(content_tokens(query))
    if not wanted:
        return 0.0
    return len(wanted & set(tokens(passage))) / len(wanted)


def longest_copied(query: str, passage: str) -> int:
    """Length in tokens of the longest run of the query that stands in the passage, token for token."""
    return len(longest_run(query, passage))


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
    plain = "".join(character for character in fold(text) if character.isalnum())
    if len(plain) <= size:
        return frozenset((plain,)) if plain else frozenset()
    return frozenset(plain[at : at + size] for at in range(len(plain) - size + 1))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared part of two sets, in [0, 1]."""
    union = len(left | right)
    return len(left & right) / union if union else 1.0
