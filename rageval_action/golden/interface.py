"""What every golden-set reader is given and gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from rageval_action.core.types import GoldenSet


class Part(Struct, frozen=True, kw_only=True):
    """One file of a golden set.

    Attributes:
        role: `rows` for a set that is one file; `topics` and `qrels` for a set that is two.
        path: as the user gave it; every message names it.
        raw: the bytes on disk.
        data: the same without a byte-order mark: UTF-8, never empty, never a Git LFS pointer.
    """

    role: str
    path: str
    raw: bytes
    data: bytes


Parts: TypeAlias = Mapping[str, Part]
"""Role -> file."""

Reader: TypeAlias = Callable[[Parts], GoldenSet]
"""Turns the files into a golden set, or raises `GoldenError` that lists every problem with its line."""
