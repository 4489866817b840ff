"""The registry of golden-set formats and the one function that reads a golden set."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from rageval_action.errors import ConfigError
from rageval_action.golden import input_files
from rageval_action.golden.reader_types import ReadOptions

if TYPE_CHECKING:
    from pathlib import Path

    from rageval_action.core.model.types import GoldenSet
    from rageval_action.golden.reader_types import Reader

FORMATS: dict[str, str] = {
    "canonical": "rageval_action.golden.canonical:read",
    "jsonl": "rageval_action.golden.foreign_rows:read_jsonl",
    "json": "rageval_action.golden.foreign_rows:read_json",
    "csv": "rageval_action.golden.foreign_rows:read_csv",
    "yaml": "rageval_action.golden.foreign_rows:read_yaml",
    "parquet": "rageval_action.golden.foreign_rows:read_parquet",
    "trec": "rageval_action.golden.trec:read",
    "llamaindex": "rageval_action.golden.llamaindex:read",
    "squad": "rageval_action.golden.squad:read",
}
"""Format -> `module:function`, a `golden.reader_types.Reader`; looked up only when that format is read."""


def read_golden(
    location: str | Path,
    *,
    format: str = "auto",  # noqa: A002 - the user's own word
    options: ReadOptions | None = None,
) -> GoldenSet:
    """Read a golden set.

    Args:
        location: a path, a folder in BEIR's layout, or `queries=FILE,qrels=FILE`.
        format: a name in `FORMATS`, or `auto` to decide by what the files hold.
        options: what the files do not say themselves.

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
    parts = input_files.load(location)
    name = format
    with input_files.no_deeper_than_we_can(location):
        if format == "auto":
            from rageval_action.golden.format_detection import detect

            name = detect(parts)
        return _reader(name)(parts, options or ReadOptions())


def _reader(name: str) -> Reader:
    module, _, attribute = FORMATS[name].partition(":")
    reader: Reader = getattr(importlib.import_module(module), attribute)
    return reader
