"""Files that a retriever hands to a library: Git LFS pointers in their place are named before it fails on them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rageval_action.core.model import lfs_pointer
from rageval_action.errors import ConfigError


def refuse_pointers(paths: Iterable[Path], what: str) -> None:
    """Refuse files that are Git LFS pointers; `what` belongs in their place.

    Raises:
        ConfigError: `config.lfs-pointer`.
    """
    for path in paths:
        small = path.is_file() and path.stat().st_size < lfs_pointer.MOST_BYTES
        text = lfs_pointer.pointer_problem(path.read_bytes(), what) if small else ""
        if text:
            raise ConfigError("config.lfs-pointer", text, hint=lfs_pointer.HINT, where=str(path))
