"""`rageval golden check`: what is wrong with a golden set, in a minute's reading."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_action.cli.golden_common import (
    chunks_of,
    golden_argument,
    read,
    reading_options,
    refuse_existing,
)
from rageval_action.cli.options import json_option, text_option
from rageval_action.core.wording.escape import log_text
from rageval_action.errors import EXIT_BAD_INPUT, EXIT_FAIL, ConfigError

if TYPE_CHECKING:
    from rageval_action.core.model.types import GoldenSet
    from rageval_action.golden.audit.findings import Finding
    from rageval_action.golden.audit.report import Audit

EXAMPLES = 3
"""Rows shown under a finding; `--all` and `--json` show every one."""


@click.command()
@golden_argument
@text_option("--snapshot", "DIR", "Index to compare the set with.")
@text_option("--synonyms", "FILE", "Words that mean the same: a line each, comma-separated.")
@text_option("--tag-variants", "FILE", "Write the set with the variants found as tags.")
@json_option("every finding")
@click.option("--all", "show_all", is_flag=True, help="Show every row of every finding.")
@click.option("--strict", is_flag=True, help="End with exit code 1 when there are warnings.")
@reading_options
def check(
    location: str,
    snapshot: str,
    synonyms: str,
    tag_variants: str,
    json_target: str,
    *,
    show_all: bool,
    strict: bool,
    **reading: Any,
) -> int:
    """Audit a golden set: labels that match nothing, copies, leaks, wording, and what it can prove.

    Exit code 2 when a finding makes scores wrong, else 0.
    """
    from rageval_action.cli.output import errors_as_json, write_json
    from rageval_action.golden.audit.report import audit

    with errors_as_json(json_target):
        chunks = chunks_of(snapshot)
        golden = read(location, chunks, reading)
        result = audit(golden, chunks, _synonyms(synonyms))
        if tag_variants:
            _write_tagged(golden, result, tag_variants)
        if json_target:
            write_json(json_target, result)
    if json_target != "-":
        show(result, compared=bool(chunks), show_all=show_all)
    if result.errors:
        return EXIT_BAD_INPUT
    return EXIT_FAIL if strict and result.warnings else 0


def show(result: Audit, *, compared: bool, show_all: bool) -> None:
    """The audit on the terminal; plain where there is none."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    colours = {"error": "bold red", "warning": "yellow", "info": "cyan"}
    signs = {"error": "✗ error  ", "warning": "! warning", "info": "· info   "}
    console.print(Text(log_text(f"{result.path}: {result.queries} queries ({result.format})"), style="bold"))
    for finding in result.findings:
        console.print(
            Text(signs[finding.severity], style=colours[finding.severity]), Text(log_text(finding.text))
        )
        for line in _rows(finding, show_all=show_all):
            console.print(Text(log_text(f"            {line}"), style="dim"))
        if finding.hint:
            console.print(Text(log_text(f"            → {finding.hint}"), style="dim"))
    verdict = f"{result.errors} errors, {result.warnings} warnings."
    if not compared:
        verdict += " Without --snapshot, ids, cover and wording could not be compared with the documents."
    console.print(Text(verdict, style="bold"))


def _rows(finding: Finding, *, show_all: bool) -> list[str]:
    limit = len(finding.rows) if show_all else EXAMPLES
    lines = [
        f"{row.id} ({row.file + ':' if row.file else 'line '}{row.line})"
        + (f": {row.detail}" if row.detail else "")
        for row in finding.rows[:limit]
    ]
    if len(finding.rows) > limit:
        lines.append(f"… and {len(finding.rows) - limit} more (--all)")
    return lines


def _synonyms(path: str) -> list[list[str]]:
    if not path:
        return []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        text = f"the synonyms cannot be read: {getattr(error, 'strerror', None) or 'this is not UTF-8'}."
        raise ConfigError("golden.bad-synonyms", text, where=path) from error
    groups = [[word.strip() for word in line.split(",") if word.strip()] for line in lines]
    return [group for group in groups if len(group) > 1]


def _write_tagged(golden: GoldenSet, result: Audit, out: str) -> None:
    import msgspec

    from rageval_action.golden.audit.variants import tagged
    from rageval_action.golden.canonical_file import encode_row, row_of, write_lines

    target = refuse_existing(out)
    queries = (
        msgspec.structs.replace(query, tags=tagged(query, result.tags.get(query.id, ())))
        for query in golden.queries
    )
    write_lines(target, (encode_row(row_of(query)) for query in queries))
