"""Ids that almost agree: named to the user, never taken for one another."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_PADDING = re.compile(r"(?<!\d)0+(?=\d)")


def _trimmed(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).split())


def _caseless(name: str) -> str:
    return _trimmed(name).casefold()


def _unpadded(name: str) -> str:
    return _PADDING.sub("", _caseless(name))


def _base(name: str) -> str:
    """Without the folders, unless nothing else is left."""
    unpadded = _unpadded(name)
    return re.split(r"[/\\]", unpadded.rstrip("/\\"))[-1] or unpadded


_FOLDS: tuple[Callable[[str], str], ...] = (_trimmed, _caseless, _unpadded, _base)
"""Each forgives what the one before it does and one thing more: blanks and Unicode form, case, zeros, folders."""


def near_misses(wanted: Sequence[str], known: Iterable[str]) -> dict[str, str]:
    """For each of a few `wanted` ids the closest of `known` that differs by a slip of the pen; one pass over `known`.

    Closest means the fewest kinds of difference, then the smallest id. Ids without such a neighbour are left out.
    """
    by_base: dict[str, list[str]] = {}
    for name in wanted:
        by_base.setdefault(_base(name), []).append(name)
    best: dict[str, tuple[int, str]] = {}
    for candidate in known:
        for name in by_base.get(_base(candidate), ()):
            level = next(level for level, fold in enumerate(_FOLDS) if fold(name) == fold(candidate))
            best[name] = min(best.get(name, (level, candidate)), (level, candidate))
    return {name: candidate for name, (_, candidate) in best.items()}
