"""Near-duplicate texts: pairs whose character shingles overlap by at least a threshold.

Prefix filter (Chaudhuri, Ganti, Kaushik 2006; Bayardo, Ma, Srikant 2007): with tokens ordered from rare to common,
two sets of Jaccard similarity t or more share a token among the first |x| - ceil(t·|x|) + 1 of each. So only texts
that share a rare shingle are compared.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.core.labels.tokens import has_cjk
from rageval_action.golden.shared_words import jaccard, shingles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

THRESHOLD = 0.8
"""Jaccard similarity of shingles from which two queries ask the same for a reader."""


RECENT = 200
"""Texts remembered for one shingle; more common ones belong to a template and tell texts apart badly."""

LIKELIEST = 40
"""Texts looked at when more than `RECENT` share a shingle with one."""


class Pair(Struct, frozen=True):
    """Two texts by their positions, first < second, and how alike they are, in [0, 1]."""

    first: int
    second: int
    similarity: float


def query_shingles(text: str) -> frozenset[str]:
    """Shingles of a query: three characters, two where it is written in CJK characters."""
    return shingles(text, 2 if has_cjk(text) else 3)


def near_pairs(texts: Sequence[str], threshold: float = THRESHOLD, *, most: int = 5) -> list[Pair]:
    """Pairs with a similarity of `threshold` or more, in order of positions.

    A set made from a template has pairs by the square; so a text is paired with at most `most` earlier ones, and
    looked for only among the last `RECENT` texts of each shingle and the `LIKELIEST` of those. Where no shingle of
    a text's prefix is that common the list is complete.
    """
    sets = [query_shingles(text) for text in texts]
    counts = Counter(shingle for one in sets for shingle in one)
    seen: dict[str, deque[int]] = {}
    found: list[Pair] = []
    for at, one in enumerate(sets):
        prefix = _prefix(one, counts, threshold)
        found += islice(_matches(at, one, _candidates(prefix, seen), sets, threshold), most)
        for shingle in prefix:
            seen.setdefault(shingle, deque(maxlen=RECENT)).append(at)
    return sorted(found, key=lambda pair: (pair.first, pair.second))


def _matches(
    at: int, one: frozenset[str], candidates: Iterable[int], sets: Sequence[frozenset[str]], threshold: float
) -> Iterator[Pair]:
    for earlier in candidates:
        other = sets[earlier]
        if min(len(one), len(other)) >= threshold * max(len(one), len(other)):
            similarity = jaccard(one, other)
            if similarity >= threshold:
                yield Pair(earlier, at, similarity)


def _candidates(prefix: Sequence[str], seen: Mapping[str, deque[int]]) -> list[int]:
    """Earlier positions that share a shingle of the prefix; of very many, those that share most."""
    shared: Counter[int] = Counter()
    for shingle in prefix:
        shared.update(seen.get(shingle, ()))
    if len(shared) <= RECENT:
        return list(shared)
    return [earlier for earlier, _ in shared.most_common(LIKELIEST)]


class Index:
    """Texts that can be asked for the nearest of another one."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._sets = [query_shingles(text) for text in texts]

    def nearest(self, text: str) -> tuple[int, float]:
        """Position and similarity of the most similar text; (-1, 0) for an empty index."""
        wanted = query_shingles(text)
        scored = ((jaccard(wanted, one), -at) for at, one in enumerate(self._sets))
        similarity, at = max(scored, default=(0.0, 1))
        return -at, similarity

    def add(self, text: str) -> None:
        """Put another text at the end."""
        self._sets.append(query_shingles(text))


def _prefix(one: frozenset[str], counts: Counter[str], threshold: float) -> list[str]:
    """The rarest shingles, enough that any set as similar as `threshold` has one of them in its own prefix."""
    size = len(one) - math.ceil(threshold * len(one)) + 1
    return sorted(one, key=lambda shingle: (counts[shingle], shingle))[:size]
