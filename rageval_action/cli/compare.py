"""`rageval compare`: two records, one verdict."""

from __future__ import annotations

import click

from rageval_action.cli.configuration import config_option, configure, world
from rageval_action.cli.evaluate import show_comparison
from rageval_action.cli.options import json_option, markdown_option
from rageval_action.cli.output import errors_as_json, one_on_stdout


@click.command()
@click.argument("base")
@click.argument("candidate")
@click.option(
    "--golden", default="", help="Score both records under this golden set's labels instead of their own."
)
@config_option
@json_option("the comparison")
@markdown_option("the comparison")
def compare(base: str, candidate: str, golden: str, config: str, json_target: str, markdown: str) -> int:
    """Compare the record CANDIDATE with the record BASE and judge it by the policy.

    Both are folders (or zips) written by `rageval evaluate --out`.
    """
    from rageval_action import pipeline
    from rageval_action.core.measuring.measures import parse_measures
    from rageval_action.core.measuring.rescore import rejudged
    from rageval_action.golden.formats import read_golden
    from rageval_action.records import read_record

    with errors_as_json(json_target):
        one_on_stdout(json_target, markdown)
        before, after = read_record(base), read_record(candidate)
        settings = configure({}, config)
        if golden:
            labels = read_golden(golden)
            before, after = (
                rejudged(run, labels, parse_measures(run.record.measures)) for run in (before, after)
            )
        document = pipeline.conclude(
            after,
            pipeline.Baseline(record=before),
            settings.policy,
            today=world().today(),
        )
        show_comparison(document, after, json_target, markdown, document, before=before.record)
        return document.exit_code
