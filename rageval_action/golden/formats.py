"""The registry of golden-set formats and the one function that reads a golden set."""

from __future__ import annotations

import hashlib
import importlib
from typing import TYPE_CHECKING

import msgspec

from rageval_action.core.model.types import GoldenSet, Notice
from rageval_action.core.wording.problem_list import Problems
from rageval_action.errors import ConfigError, GoldenError
from rageval_action.golden import input_files
from rageval_action.golden.query_builder import asker, judgments_of
from rageval_action.golden.reader_types import ReadOptions

if TYPE_CHECKING:
    from pathlib import Path

    from rageval_action.core.model.types import Query
    from rageval_action.golden.input_files import Place
    from rageval_action.golden.reader_types import Parts, Reader

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
    """Read a golden set; several files are one set, in which an id occurs once.

    Args:
        location: a path, a folder, a pattern, or `queries=FILE,qrels=FILE`; several on lines of their own
            (`golden.input_files.find`).
        format: a name in `FORMATS`, or `auto` to decide by what the files hold.
        options: what the files do not say themselves.

    Raises:
        ConfigError: `config.unknown-format` for a format that is not in `FORMATS`, `config.no-effect` for something
            declared in `options` that no file needs.
        GoldenError: the set cannot be used; the message lists its problems with file and line.
    """
    if format != "auto" and format not in FORMATS:
        raise ConfigError(
            "config.unknown-format",
            f'there is no golden-set format "{format}".',
            hint=f"Choose one of: auto, {', '.join(sorted(FORMATS))}.",
        )
    options = options or ReadOptions()
    read: list[tuple[GoldenSet, Parts]] = []
    problems = Problems(GoldenError)
    for place in input_files.find(location):
        try:
            read.append(_read_one(place, format, options))
        except GoldenError as error:
            problems.add_error(error)
            last = error
    if len(problems) == 1 and not read:
        raise last
    problems.raise_if_any()
    unused = [name for name in options.declared() if name not in options.used]
    if unused:
        formats = ", ".join(dict.fromkeys(golden.format for golden, _ in read))
        raise ConfigError(
            "config.no-effect",
            f"{', '.join(unused)} has no effect on this golden set ({formats}).",
            hint="Take it out, or name what it is meant for.",
            where=str(location),
        )
    return read[0][0] if len(read) == 1 else _joined(read)


def _read_one(place: Place, name: str, options: ReadOptions) -> tuple[GoldenSet, Parts]:
    parts = input_files.load(place.files)
    where = input_files.joint_path(parts)
    with input_files.no_deeper_than_we_can(where):
        if name == "auto":
            from rageval_action.golden.format_detection import detect

            name = detect(parts)
            if name == "canonical" and (options.fields or options.id_template or options.separator):
                name = (
                    "jsonl"  # what is declared of fields and ids is declared of rows as anybody writes them
                )
        golden = _reader(name)(parts, options)
    if place.beside:
        text = f"Not used: {', '.join(place.beside)}."
        notice = Notice(code="golden.files-beside", text=text)
        golden = msgspec.structs.replace(golden, notices=(*golden.notices, notice))
    return golden, parts


def _joined(read: list[tuple[GoldenSet, Parts]]) -> GoldenSet:
    """Several sets as one: every query knows its file.

    Raises:
        GoldenError: `golden.duplicate-id`.
    """
    problems = Problems(GoldenError)
    queries: list[Query] = []
    by_id: dict[str, Query] = {}
    by_text: dict[object, Query] = {}
    again: list[Query] = []
    for golden, _ in read:
        for one in golden.queries:
            query = msgspec.structs.replace(one, file=golden.path)
            earlier = by_id.setdefault(query.id, query)
            if earlier is not query:
                text = f'the id "{query.id}" was used before, in {earlier.file}:{earlier.line}.'
                problems.add("golden.duplicate-id", f"{query.file}:{query.line}", text)
                continue
            earlier = by_text.setdefault((query.text, asker(query.acl)), query)
            if earlier.file != query.file:
                again.append(query)
            queries.append(query)
    problems.raise_if_any()
    notices = [notice for golden, _ in read for notice in golden.notices]
    if again:
        other = sum(
            judgments_of(query) != judgments_of(by_text[query.text, asker(query.acl)]) for query in again
        )
        text = (
            f"{len(again)} rows repeat a question of another file, {other} with other judgments; each counts."
        )
        code = "golden.conflicting-judgments" if other else "golden.repeated-queries"
        notices.append(Notice(code=code, text=text, where=f"{again[0].file}:{again[0].line}"))
    digest = hashlib.sha256()
    for _, parts in read:
        for role in input_files.ROLES:
            if role in parts:
                digest.update(parts[role].raw)
    formats = dict.fromkeys(golden.format for golden, _ in read)
    return GoldenSet(
        queries=tuple(queries),
        format=", ".join(formats),
        path=", ".join(golden.path for golden, _ in read),
        sha256=digest.hexdigest(),
        notices=tuple(notices),
    )


def _reader(name: str) -> Reader:
    module, _, attribute = FORMATS[name].partition(":")
    reader: Reader = getattr(importlib.import_module(module), attribute)
    return reader
