"""Golden sets in containers of rows: JSON Lines, JSON, CSV, YAML, Parquet, with whatever field names they use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rageval_action.core.model.types import GoldenSet
from rageval_action.errors import GoldenError
from rageval_action.golden import containers, field_names, nested_fields
from rageval_action.golden.corpus_file import read_corpus
from rageval_action.golden.field_refusals import no_query, no_relevance, no_such_field
from rageval_action.golden.input_files import joint_path, joint_sha256, require
from rageval_action.golden.judgment_rows import ids_of_judgments, judgment_fields
from rageval_action.golden.query_builder import QueryBuilder
from rageval_action.golden.row_reader import RowReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rageval_action.core.wording.problem_list import Problems
    from rageval_action.golden.containers import Line, Rows
    from rageval_action.golden.reader_types import Part, Parts, ReadOptions


def read_jsonl(parts: Parts, options: ReadOptions) -> GoldenSet:
    """JSON Lines with any field names."""
    return _read(parts, options, "jsonl", containers.read_jsonl)


def read_json(parts: Parts, options: ReadOptions) -> GoldenSet:
    """A JSON array, bare or inside an object."""
    return _read(parts, options, "json", containers.read_json)


def read_csv(parts: Parts, options: ReadOptions) -> GoldenSet:
    """CSV with a header: comma, semicolon or tab."""
    return _read(parts, options, "csv", containers.read_csv)


def read_yaml(parts: Parts, options: ReadOptions) -> GoldenSet:
    """A YAML sequence, bare or inside a mapping."""
    return _read(parts, options, "yaml", containers.read_yaml)


def read_parquet(parts: Parts, options: ReadOptions) -> GoldenSet:
    """Parquet, as AutoRAG writes it (extra `[parquet]`)."""
    return _read(parts, options, "parquet", containers.read_parquet)


def _read(
    parts: Parts, options: ReadOptions, name: str, rows_of: Callable[[Part, Problems], Rows]
) -> GoldenSet:
    (part,) = require(parts, "rows", optional=("corpus",))
    builder = QueryBuilder(part.path)
    lines = rows_of(part, builder.problems)
    if "corpus" in parts and not options.corpus:
        options = msgspec.structs.replace(options, corpus=read_corpus(parts["corpus"]))
    return from_lines(lines, parts, options, name, builder)


def from_lines(
    lines: Rows, parts: Parts, options: ReadOptions, name: str, builder: QueryBuilder
) -> GoldenSet:
    """Turn rows into a golden set; shared with the shapes that are unfolded into rows first."""
    part = parts["rows"]
    if not lines:
        builder.problems.raise_if_any()
        raise GoldenError("golden.empty", "the file holds no rows.", where=part.path)
    names = list(dict.fromkeys(key for line in lines for key in line.row))
    check_mapped(lines, names, options, part.path)
    single = judgment_fields(lines, names, options.fields)
    found, rivals = field_names.choose(
        [key for key in names if key != single.get("grade")], {**single, **options.fields}
    )
    if "query" not in found:
        raise no_query(names, part.path, lines)
    if rivals or not any(field in found for field in field_names.JUDGING):
        raise no_relevance(names, part.path, lines, rivals)
    if options.merge_equal:
        builder.join = "always"
    elif single:
        builder.join = "same-id"
    if (
        single
        and "id" not in options.fields
        and "id" in found
        and ids_of_judgments(lines, found["id"], found["query"])
    ):
        del found["id"]
    reader = RowReader(builder, found, options, cells=name == "csv")
    reader.check_shape(names, part.path)
    reader.check_words(lines)
    for line in lines:
        reader.read(line)
    queries, notices = builder.finish()
    return GoldenSet(
        queries=queries,
        format=name,
        path=joint_path(parts),
        sha256=joint_sha256(parts),
        notices=(reader.detected(f"read as {name}", lines, part.path), *notices, *reader.left_out(part.path)),
    )


def check_mapped(lines: Sequence[Line], names: list[str], options: ReadOptions, path: str) -> None:
    """Refuse a `--map` whose field no row has.

    Raises:
        GoldenError: `golden.no-field`.
    """
    for ours, theirs in options.fields.items():
        if theirs in names or any(nested_fields.at(line.row, theirs) is not None for line in lines):
            continue
        nested = nested_fields.nested_names(line.row for line in lines)
        if theirs not in nested:
            raise no_such_field(f"{ours}={theirs}", theirs, [*names, *nested], path)
