"""Ids that almost agree: named to the user, never taken for one another."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Slip: TypeAlias = Literal["blanks", "invisible", "decimal", "case", "zeros", "folders", "fragment"]
"""The largest difference between two ids: blanks or Unicode form, invisible characters, `.0` behind a whole number,
letter case, leading zeros, the folders in front, the fragment of a URL."""

_PADDING = re.compile(r"(?<!\d)0+(?=\d)")
_DECIMAL = re.compile(r"(-?\d+)\.0+")


class Near(Struct, frozen=True):
    """The closest known id.

    Attributes:
        id: as it is known.
        slip: how it differs.
        alone: no other known id is as close.
    """

    id: str
    slip: Slip
    alone: bool = True


def _trimmed(name: str) -> str:
    return " ".join((name if name.isascii() else unicodedata.normalize("NFKC", name)).split())


def _seen(name: str) -> str:
    """Without format characters (zero-width blanks, direction and byte order marks, soft hyphens)."""
    if not name.isascii():
        name = "".join(one for one in name if unicodedata.category(one) != "Cf")
    return _trimmed(name)


def _whole(name: str) -> str:
    seen = _seen(name)
    number = _DECIMAL.fullmatch(seen)
    return number[1] if number else seen


def _caseless(name: str) -> str:
    return _whole(name).casefold()


def _unpadded(name: str) -> str:
    return _PADDING.sub("", _caseless(name))


def _base(name: str) -> str:
    """Without the folders, unless nothing else is left."""
    unpadded = _unpadded(name)
    return re.split(r"[/\\]", unpadded.rstrip("/\\"))[-1] or unpadded


def _page(name: str) -> str:
    """`_base` of a URL without its fragment."""
    url, mark, _ = name.partition("#")
    return _base(url) if mark and "://" in url else _base(name)


_FOLDS: dict[Slip, Callable[[str], str]] = {
    "blanks": _trimmed,
    "invisible": _seen,
    "decimal": _whole,
    "case": _caseless,
    "zeros": _unpadded,
    "folders": _base,
    "fragment": _page,
}
"""Each forgives what the one before it does and one thing more."""

_ORDER = {slip: place for place, slip in enumerate(_FOLDS)}


def near_misses(wanted: Sequence[str], known: Iterable[str]) -> dict[str, Near]:
    """For each `wanted` id the closest of `known` that differs by a slip of the pen; one pass over `known`.

    Closest means the fewest kinds of difference, then the most folders in common from the end, then the smallest id.
    Ids without such a neighbour are left out.
    """
    by_page: dict[str, list[str]] = {}
    for name in wanted:
        by_page.setdefault(_page(name), []).append(name)
    best: dict[str, tuple[tuple[int, int], Near]] = {}
    for candidate in known:
        for name in by_page.get(_page(candidate), ()):
            slip = _slip(name, candidate)
            if slip is None:
                continue
            rank = (_ORDER[slip], -_common(name, candidate) if slip == "folders" else 0)
            before = best.get(name)
            if before is None or rank < before[0]:
                best[name] = rank, Near(candidate, slip)
            elif rank == before[0]:
                best[name] = rank, Near(min(candidate, before[1].id), slip, alone=False)
    return {name: near for name, (_, near) in best.items()}


def _slip(name: str, candidate: str) -> Slip | None:
    """How two ids of the same page differ; two fragments of one page are no slip."""
    slip = next(slip for slip, fold in _FOLDS.items() if fold(name) == fold(candidate))
    return None if slip == "fragment" and "#" in name and "#" in candidate else slip


def _common(name: str, candidate: str) -> int:
    """How many folders and names the two have in common, from the end."""
    count = 0
    for one, other in zip(_parts(name), _parts(candidate), strict=False):
        if one != other:
            break
        count += 1
    return count


def _parts(name: str) -> list[str]:
    return re.split(r"[/\\]", _unpadded(name).rstrip("/\\"))[::-1]
