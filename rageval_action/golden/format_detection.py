"""Tells formats apart by what the files hold; names only break a tie."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from rageval_action.errors import GoldenError
from rageval_action.golden.canonical import JUDGED
from rageval_action.golden.containers import CONTAINERS, bad_json, delimiter_of
from rageval_action.golden.field_names import TARGETS, normalise
from rageval_action.golden.input_files import PARQUET
from rageval_action.golden.json_values import not_json
from rageval_action.golden.judgment_file import is_a_run, looks_like_a_run

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
    name = part.path.lower()
    if name.endswith((".yaml", ".yml")):
        return "yaml"
    if name.endswith((".jsonl", ".ndjson", ".json")):
        raise _not_json(part)
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
    judged = any(name in row for name in (*JUDGED, "answerable"))
    return "canonical" if judged and all(name in row for name in _ENOUGH) else "jsonl"


def _json_object(part: Part) -> str:
    try:
        table = msgspec.json.decode(part.data, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError as fault:
        raise bad_json(fault, part) from fault
    if {"queries", "relevant_docs"} <= set(table):
        return "llamaindex"
    if "data" in table and b'"paragraphs"' in bytes(table["data"]):
        return "squad"
    if any(normalise(name) in TARGETS["query"] for name in table) and not set(CONTAINERS) & set(table):
        return "jsonl"
    values = [bytes(value)[:1] for value in table.values()]
    if values and all(value == b"{" for value in values):
        if looks_like_a_run(msgspec.json.decode(part.data)):
            raise is_a_run("every query has fractions as scores, as ranx writes it", part.path)
        raise _judgments_alone(part, "this is a map of query, document and grade (as ranx writes it)")
    return "json"


def _not_json(part: Part) -> GoldenError:
    """A file that is called JSON and starts otherwise: its first line that is none."""
    for number, line in enumerate(part.data.split(b"\n"), start=1):
        if line.strip():
            try:
                msgspec.json.decode(line)
            except msgspec.DecodeError as fault:
                return GoldenError("golden.bad-json", not_json(fault, line), where=f"{part.path}:{number}")
            break
    return GoldenError("golden.bad-json", "the file holds no objects.", where=f"{part.path}:{number}")


_GRADE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_SPEAKER = re.compile(r"(user|assistant|system|human|ai|bot|agent|customer)\s*:", re.IGNORECASE)
_YAML = re.compile(r"(---|- |-$|%YAML|[\w.-]+:(\s|$))")


def _columns(part: Part) -> str:
    """CSV when the first line looks like a header, else judgments in columns, which need their queries."""
    lines = [line for line in part.data.decode().split("\n") if line.strip() and not line.startswith("#")]
    first = (lines or [""])[0].rstrip("\r")
    cells = first.split("\t") if "\t" in first else first.split()
    numeric = bool(cells) and _GRADE.fullmatch(cells[-1].strip()) is not None
    if len(cells) >= 6 and cells[1].upper() == "Q0":
        raise is_a_run("six columns, as TREC writes a ranking", part.path)
    if len(cells) in (3, 4) and (numeric or first.lower().startswith(("query-id", "query_id\t", "qid\t"))):
        raise _judgments_alone(part, "these are judgments in columns")
    if _SPEAKER.match(first):
        raise GoldenError(
            "golden.unknown-format",
            f"this is a chat transcript: its first line is {first[:40]!r}.",
            hint="Write a row for each question, with the ids of what should be found.",
            where=f"{part.path}:1",
        )
    if part.path.lower().endswith((".csv", ".tsv")) or first.startswith("sep="):
        return "csv"
    if _YAML.match(first) and len(next(iter(first.split(delimiter_of(first))))) == len(first):
        return "yaml"
    if any(mark in first for mark in ",;\t"):
        return "csv"
    if _YAML.match(first):
        return "yaml"
    raise GoldenError(
        "golden.unknown-format",
        f"the first line is {first[:60]!r}, which starts none of the formats that are told apart by their content.",
        hint="Name it: --format canonical, jsonl, json, csv or yaml.",
        where=f"{part.path}:1",
    )


def _judgments_alone(part: Part, what: str) -> GoldenError:
    return GoldenError(
        "golden.no-queries",
        f"{what}, without the texts of the queries.",
        hint=f"Name the queries too: queries=FILE,qrels={part.path}.",
        where=part.path,
    )
