"""`rageval retrieve`: rankings only, for an earlier step of a workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rageval_action.cli.configuration import configure, flags, world
from rageval_action.cli.output import write_text
from rageval_action.cli.safe_echo import say


@click.command()
@flags("golden", "snapshot", "depth", "retriever", "access", "model", "threads", "review")
@click.option("--out", required=True, metavar="FILE", help="Where the rankings go: one JSON line a query.")
def retrieve(config: str, out: str, **given: Any) -> int:
    """Rank every query and write the rankings, without judging anything.

    The file is what the retriever `run-file` reads: it lets the step that can run a retriever be another one than the
    step that judges it. Ends with 3 when every query failed.
    """
    import msgspec

    from rageval_action import pipeline
    from rageval_action.errors import CannotMeasureError, ConfigError
    from rageval_action.ranker import Ranker

    settings = configure(given, config)
    pipeline.require(settings, "golden", "snapshot")
    if out != "-" and Path(out).exists():
        raise ConfigError(
            "output.exists", "the file exists already.", hint="Give a new one to --out.", where=out
        )
    inputs = pipeline.read(settings)
    run = Ranker(settings, inputs.snapshot, world()).rank(inputs.golden.queries, settings.depth)
    failed = [ranking for ranking in run.rankings if ranking.error]
    if len(failed) == len(run.rankings):
        raise CannotMeasureError("retrieve.all-failed", f"every query failed; the first: {failed[0].error}.")
    lines = (msgspec.json.encode(ranking).decode() + "\n" for ranking in run.rankings)
    write_text(out, "".join(lines))
    say(f"{out}: {len(run.rankings)} rankings, {len(failed)} failed", err=True)
    return 0
