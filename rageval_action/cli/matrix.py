"""`rageval matrix`: several configurations over one golden set, side by side."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rageval_action.cli.configuration import world
from rageval_action.cli.options import html_option, json_option, markdown_option
from rageval_action.cli.output import STANDARD_OUTPUT, errors_as_json, one_on_stdout, write_json, write_text
from rageval_action.cli.safe_echo import say
from rageval_action.config import BY_NAME, Config, beside, content, load, parse_file
from rageval_action.errors import ConfigError, RagevalError

KEY = "configurations"


@click.command()
@click.option("--config", "path", required=True, metavar="FILE", help="What to measure: see docs/matrix.md.")
@json_option("the matrix")
@markdown_option("the matrix")
@html_option("the matrix")
def matrix(path: str, json_target: str, markdown: str, html_target: str) -> int:
    """Measure several configurations and put them into one table.

    The file holds the options that all share (golden, snapshot, k, measures, …) and, under `configurations`, a name
    for each with the options that are its own. The first one is what the others are compared with. A configuration
    that cannot run says so in its row and does not stop the others; the command ends with 3 when none could.
    """
    from rageval_action.core.series.matrix import tabulate

    with errors_as_json(json_target):
        one_on_stdout(json_target, markdown)
        settings = _settings(Path(path))
        outcomes = [(name, _outcome(name, config)) for name, config in settings.items()]
        shared = next(iter(settings.values()))
        made = tabulate(outcomes, _measures(shared), shared.golden)
        _report(made, json_target, markdown, html_target)
        return 0 if any(row.retriever for row in made.configurations) else 3


def _settings(path: Path) -> dict[str, Config]:
    """The checked configuration of every row."""
    values = parse_file(content(path), where=str(path), more=frozenset({KEY}))
    own = values.pop(KEY, None)
    if not isinstance(own, Mapping) or not own:
        hint = "Write `configurations:` with a name and its options for each, for example `lexical: {retriever: bm25}`."
        raise ConfigError(
            "config.no-configurations", "there is nothing to compare.", hint=hint, where=str(path)
        )
    return {str(name): _one(str(name), values, options, path) for name, options in own.items()}


def _one(name: str, shared: Mapping[str, object], own: object, path: Path) -> Config:
    where = f"{path}: {KEY}: {name}"
    if not isinstance(own, Mapping):
        raise ConfigError("config.bad-value", "a configuration is a mapping of options.", where=where)
    for key in own:
        if key not in BY_NAME:
            raise ConfigError("config.unknown-key", f'there is no option "{key}".', where=where)
        if key in {"golden", "k", "measures", "unit", "review"}:
            text = f"{key} is the same for all configurations, or they could not be compared."
            raise ConfigError("config.bad-value", text, where=where)
    values = {**shared, **own}
    for option in ("golden", "snapshot"):
        if not values.get(option):
            raise ConfigError("config.missing", f"no {option} was given.", where=where)
        values[option] = beside(path, str(values[option]))
    return load({}, {}, values, where=where)


def _outcome(name: str, config: Config) -> Any:
    """The record of one configuration, or why there is none."""
    from rageval_action import pipeline
    from rageval_action.core.series.matrix import NotRun
    from rageval_action.errors import GoldenError

    if sys.stderr.isatty():
        say(f"measuring {name}", err=True)
    try:
        return pipeline.evaluate(config, world())
    except GoldenError:
        raise  # nothing can be measured with it
    except RagevalError as error:
        say(f"{name}: not run: {error}", err=True)
        return NotRun(reason=f"{error.message} [{error.code}]")


def _measures(config: Config) -> list[str]:
    """The ladder or what was asked for, the headline measure first."""
    from rageval_action import pipeline
    from rageval_action.core.measuring.measures import headline_measure, in_order

    return in_order(map(str, pipeline.chosen_measures(config)), headline_measure(config.k))


def _report(made: Any, json_target: str, markdown: str, html_target: str) -> None:
    from rageval_action.reports import matrix as report

    if json_target:
        write_json(json_target, made)
    if markdown:
        write_text(markdown, report.markdown(made))
    if html_target:
        write_text(html_target, report.page(made))
    if STANDARD_OUTPUT not in {json_target, markdown, html_target}:
        report.show(made, sys.stdout)
