"""`rageval explain`: one query explained."""

from __future__ import annotations

import sys
from typing import Any

import click

from rageval_action.cli.options import json_option, text_option
from rageval_action.cli.output import errors_as_json, write_json
from rageval_action.cli.safe_echo import say
from rageval_action.cli.value_types import integer


@click.command()
@click.argument("query")
@click.argument("record")
@text_option("--baseline", "RECORD", "Record to compare with.")
@text_option("--snapshot", "DIR", "Snapshot of RECORD: shows texts and shared words.")
@click.option(
    "--show", type=integer(), default=0, metavar="N", help="Lines of each ranking. Default: k and five more."
)
@json_option("the explanation")
def explain(query: str, record: str, baseline: str, snapshot: str, show: int, json_target: str) -> None:
    """Explain what happened to QUERY (an id, or words of its text) in RECORD.

    Both rankings, where everything that should be found stands, what ranks above it and by how much, the best chunk
    of the right document, and what such a loss calls for.
    """
    from rageval_action.cli.report import chunk_texts
    from rageval_action.core.comparing.query_pairs import query_pairs
    from rageval_action.core.judging.explanation import explain as explained
    from rageval_action.records import read_record
    from rageval_action.reports.query_explanation import lines

    with errors_as_json(json_target):
        candidate = read_record(record)
        before = read_record(baseline) if baseline else None
        row = _one(candidate, query, record)
        pairs = query_pairs(candidate, before)
        pair = next(pair for pair in pairs if pair.after.row.query_id == row.query_id)
        change = _change(before, candidate, row.query_id) if before else None
        texts, note = chunk_texts(snapshot, candidate)
        explanation = explained(pair, change, texts, show)
        if note:
            say(f"note: {note}", err=True)
        if json_target:
            write_json(json_target, explanation)
        if json_target != "-":
            sys.stdout.writelines(line + "\n" for line in lines(explanation))


def _one(run: Any, query: str, where: str) -> Any:
    """The row that is meant.

    Raises:
        ConfigError: `explain.unknown-query`, `explain.several-queries`.
    """
    from rageval_action.core.judging.explanation import find
    from rageval_action.errors import ConfigError

    found = find(run.queries, query)
    if not found:
        near = _near(query, [row.query_id for row in run.queries])
        hint = f"Did you mean {near}?" if near else "Give an id, or words of its text."
        raise ConfigError("explain.unknown-query", f'no query is "{query}".', hint=hint, where=where)
    if len(found) > 1:
        ids = ", ".join(row.query_id for row in found[:10])
        text = f'{len(found)} queries hold "{query}": {ids}.'
        raise ConfigError("explain.several-queries", text, hint="Give the id of one.", where=where)
    return found[0]


def _near(query: str, ids: list[str]) -> str:
    import difflib

    return ", ".join(difflib.get_close_matches(query, ids, n=3))


def _change(before: Any, candidate: Any, query_id: str) -> Any:
    from rageval_action.core.comparing.comparison import compare
    from rageval_action.core.measuring.measures import headline_measure, parse_measures

    measures = parse_measures([headline_measure(candidate.record.k)])
    return next((one for one in compare(before, candidate, measures).queries if one.id == query_id), None)
