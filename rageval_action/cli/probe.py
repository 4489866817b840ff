"""`rageval probe`: does a retriever give strangers what is guarded?"""

from __future__ import annotations

from typing import Any

import click

from rageval_action.cli.configuration import configure, flags, world
from rageval_action.cli.options import json_option
from rageval_action.cli.output import STANDARD_OUTPUT, errors_as_json, write_json
from rageval_action.cli.safe_echo import say
from rageval_action.cli.value_types import integer

SHOWN = 20


@click.command()
@flags("golden", "snapshot", "depth", "retriever", "access", "model", "threads", "review")
@click.option("--probes", type=integer(1), default=100, show_default=True, help="Queries to ask, at most.")
@json_option("the result")
def probe(config: str, probes: int, json_target: str, **given: Any) -> int:
    """Ask queries of the golden set as somebody whom no access list names, and judge every hit.

    Ends with 1 when anything guarded came back, with 3 when no probe was answered. Use `--access audit` for a
    retriever of your own: with `enforce` what came back is filtered before it is judged.
    """
    import msgspec

    from rageval_action import pipeline
    from rageval_action.core.labels.deny_probes import deny_probes, report
    from rageval_action.ranker import Ranker

    with errors_as_json(json_target):
        settings = configure(given, config)
        pipeline.require(settings, "golden", "snapshot")
        inputs = pipeline.read(settings)
        asked = deny_probes(inputs.golden.queries, probes)
        golden = msgspec.structs.replace(inputs.golden, queries=asked)
        run = Ranker(settings, inputs.snapshot, world()).rank(golden.queries, settings.depth)
        result = report(run, inputs.snapshot.chunks)
        if json_target:
            write_json(json_target, result)
        if json_target != STANDARD_OUTPUT:
            _show(result)
        return 1 if result.leaks else 0 if result.asked else 3


def _show(result: Any) -> None:
    say(f"{result.asked} probes answered, {result.failed} failed; {result.guarded:,} chunks are guarded")
    if not result.guarded:
        say("no chunk has an access list, so the probes prove nothing")
    for leak in result.leaks[:SHOWN]:
        say(f"leak: query {leak.query_id}, rank {leak.rank}: {leak.id}")
    if len(result.leaks) > SHOWN:
        say(f"… and {len(result.leaks) - SHOWN} more")
    say("nothing guarded came back" if not result.leaks else f"{len(result.leaks)} guarded hits came back")
