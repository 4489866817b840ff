"""`rageval evaluate`: measure, record, and with a baseline compare and judge."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rageval_action.cli.configuration import configure, flags, world
from rageval_action.cli.options import json_option, markdown_option, out_option, text_option
from rageval_action.cli.output import errors_as_json, one_on_stdout, write_json, write_text
from rageval_action.cli.safe_echo import say

EVALUATE_FLAGS = (
    "golden",
    "snapshot",
    "unit",
    "k",
    "measures",
    "depth",
    "retriever",
    "access",
    "model",
    "no-answer-threshold",
    "threads",
    "texts",
    "review",
    "region",
)


@click.command()
@flags(*EVALUATE_FLAGS)
@out_option("the run record")
@text_option("--baseline", "RECORD", "Record (folder or zip) to compare with and be judged by.")
@json_option("the record's summary", " The comparison with --baseline is in DIR/comparison.json.")
@markdown_option("the comparison")
def evaluate(config: str, out: str, baseline: str, json_target: str, markdown: str, **given: Any) -> int:
    """Measure a retriever on a golden set and write the run record.

    With --baseline the record is compared and judged, and the exit code says what came out: 0 pass, no baseline or
    inconclusive, 1 regression, 2 bad input, 3 cannot measure.
    """
    from rageval_action import pipeline
    from rageval_action.core.judging.document import encode_document
    from rageval_action.core.judging.outcomes import NoBaseline
    from rageval_action.core.model.record import encode
    from rageval_action.records import check_out, read_record, write_files

    with errors_as_json(json_target):
        one_on_stdout(json_target, markdown)
        settings = configure(given, config)
        pipeline.require(settings, "golden", "snapshot")
        check_out(Path(out))
        before = (
            pipeline.Baseline(record=read_record(baseline))
            if baseline
            else NoBaseline("no baseline was given")
        )
        own = before.record if isinstance(before, pipeline.Baseline) else None
        candidate = pipeline.evaluate(settings, world(), own)
        document = pipeline.conclude(candidate, before, settings.policy, today=world().today())
        files = encode(candidate)
        if baseline:
            files["comparison.json"] = encode_document(document)
        write_files(Path(out), files)
        old = before.record.record if isinstance(before, pipeline.Baseline) else None
        show_comparison(document, candidate, json_target, markdown, candidate.record, before=old)
        if baseline and "-" not in (json_target, markdown):
            say("\n" + "\n".join(next_steps(document, out, baseline, settings.snapshot, config)))
        return document.exit_code


def next_steps(document: Any, record: str, baseline: str, snapshot: str, config: str) -> Iterator[str]:
    """Where to look next: the commands that show every query, and the worst one."""
    both = f"{shlex.quote(record)} --baseline {shlex.quote(baseline)}"
    if Path(snapshot).is_dir():
        both += f" --snapshot {shlex.quote(snapshot)}"
    policy = f" --config {shlex.quote(config)}" if config else ""
    yield "See every query with both rankings in a browser:"
    yield f"  rageval report {both}{policy} --out report.html"
    if document.queries:
        yield "Look at one of them closely:"
        yield f"  rageval explain {shlex.quote(document.queries[0].id)} {both}"


def show_comparison(
    document: Any, run: Any, json_target: str, markdown: str, summary: object, *, before: Any = None
) -> None:
    """Tell the result on every surface that was asked for; standard output holds one of them.

    `run` is the candidate's record, `before` the summary of the baseline's.
    """
    from rageval_action.reports.view import view

    texts = {}
    if markdown:
        from rageval_action.cli.rival_snippets import snippets

        texts = snippets(document, run)
    shown = view(document, run.record, before=before, snippets=texts)
    if json_target:
        write_json(json_target, summary)
    if markdown:
        from rageval_action.reports.comment_and_summary import comment

        write_text(markdown, comment(shown))
    if "-" not in (json_target, markdown):
        from rageval_action.reports.terminal import show

        show(shown, sys.stdout)
