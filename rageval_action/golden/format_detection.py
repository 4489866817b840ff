"""Tells formats apart by what the files hold; names only break a tie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rageval_action.errors import GoldenError
from rageval_action.golden.canonical import KEYS
from rageval_action.golden.containers import not_json
from rageval_action.golden.input_files import PARQUET

if TYPE_CHECKING:
    from rageval_action.golden.reader_types import Part, Parts

_ENOUGH = ("id", "query")


def detect(parts: Parts) -> str:
    """Name in `FORMATS` of the format that the files look like.

    Raises:
        GoldenError: `golden.bad-json` for a broken JSON file, `golden.no-queries` for judgments alone,
            `golden.unknown-format` when nothing fits.
    """
    if "topics" in parts or "qrels" in parts:
        return "trec"
    part = next(iter(parts.values()))
    if part.data.startswith(PARQUET):
        return "parquet"
    start = part.data.lstrip()[:1]
    if start == b"{":
        return _json_lines(part) or _json_object(part)
    if start == b"[":
        return "json"
    if part.path.lower().endswith((".yaml", ".yml")):
        return "yaml"
    return _columns(part)


def _json_lines(part: Part) -> str:
    """`canonical` or `jsonl` when the first line is an object of its own, else empty."""
    first = part.data.lstrip().partition(b"\n")[0]
    rest = part.data.lstrip()[len(first) :].strip()
    named = part.path.lower().endswith((".jsonl", ".ndjson"))
    try:
        row = msgspec.json.decode(first, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return "canonical" if named else ""
    if not rest and not named:
        return ""
    known = set(row) & KEYS
    return "canonical" if all(name in row for name in _ENOUGH) and len(known) > len(_ENOUGH) else "jsonl"


def _json_object(part: Part) -> str:
    try:
        table = msgspec.json.decode(part.data, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError as fault:
        raise GoldenError("golden.bad-json", not_json(fault), where=part.path) from fault
    if {"queries", "relevant_docs"} <= set(table):
        return "llamaindex"
    if "data" in table and b'"paragraphs"' in bytes(table["data"]):
        return "squad"
    if "query" in table or "question" in table:
        return "jsonl"
    values = [bytes(value)[:1] for value in table.values()]
    if values and all(value == b"{" for value in values):
        raise _judgments_alone(part, "this is a map of query, document and grade (as ranx writes it)")
    return "json"


def _columns(part: Part) -> str:
    """CSV when the first line looks like a header, else judgments in columns, which need their queries."""
    lines = [line for line in part.data.decode().split("\n") if line.strip() and not line.startswith("#")]
    first = (lines or [""])[0].rstrip("\r")
    last = first.split()[-1] if first.split() else ""
    width = len(first.split("\t")) if "\t" in first else len(first.split())
    numeric = last.lstrip("+-").isdigit()
    if width in (3, 4) and (numeric or first.lower().startswith(("query-id", "query_id\t", "qid\t"))):
        raise _judgments_alone(part, "these are judgments in columns")
    if any(mark in first for mark in ",;\t") or part.path.lower().endswith((".csv", ".tsv")):
        return "csv"
    if ":" in part.data.decode():
        return "yaml"
    raise GoldenError(
        "golden.unknown-format",
        "the file is none of the formats that are told apart by their content.",
        hint="Name it: --format canonical, jsonl, json, csv or yaml.",
        where=part.path,
    )


def _judgments_alone(part: Part, what: str) -> GoldenError:
    return GoldenError(
        "golden.no-queries",
        f"{what}, without the texts of the queries.",
        hint=f"Name the queries too: queries=FILE,qrels={part.path}.",
        where=part.path,
    )
