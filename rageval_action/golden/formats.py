"""The registry of golden-set formats and the one function that reads a golden set."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from rageval_action.errors import ConfigError
from rageval_action.golden import files

if TYPE_CHECKING:
    from pathlib import Path

    from rageval_action.core.types import GoldenSet
    from rageval_action.golden.interface import Parts, Reader

FORMATS: dict[str, str] = {
    "canonical": "rageval_action.golden.canonical:read",
    "trec": "rageval_action.golden.trec:read",
}
"""Format -> `module:function`, a `golden.interface.Reader`; looked up only when that format is read."""


def read_golden(location: str | Path, *, format: str = "auto") -> GoldenSet:  # noqa: A002 - the user's own word
    """Read a golden set.

    Args:
        location: a path, or `topics=FILE,qrels=FILE` for TREC topics and judgments.
        format: a name in `FORMATS`, or `auto` to decide by what the files hold.

    Raises:
        ConfigError: `config.unknown-format` for a format that is not in `FORMATS`.
        GoldenError: the set cannot be used; the message lists its problems with file and line.
    """
    if format != "auto" and format not in FORMATS:
        raise ConfigError(
            "config.unknown-format",
            f'there is no golden-set format "{format}".',
            hint=f"Choose one of: auto, {', '.join(sorted(FORMATS))}.",
        )
    parts = files.load(location)
    return _reader(detect(parts) if format == "auto" else format)(parts)


def detect(parts: Parts) -> str:
    """Name in `FORMATS` of the format that the files look like."""
    return "canonical" if "rows" in parts else "trec"


def _reader(name: str) -> Reader:
    module, _, attribute = FORMATS[name].partition(":")
    reader: Reader = getattr(importlib.import_module(module), attribute)
    return reader
