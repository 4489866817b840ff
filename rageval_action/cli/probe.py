"""`rageval probe`: does a retriever give strangers what is guarded?"""

from __future__ import annotations

from typing import Any

import click

from rageval_action.cli.common import configure, flags, world
from rageval_action.cli.output import STANDARD_OUTPUT, errors_as_json, write_json
from rageval_action.cli.safe_echo import say

SHOWN = 20


@click.command()
@flags("golden", "snapshot", "depth", "retriever", "access", "model", "threads", "review")
@click.option(
    "--probes", type=click.IntRange(min=1), default=100, show_default=True, help="Queries to ask, at most."
)
@click.option("--json", "json_target", default="", metavar="FILE", help="Also write JSON; - is stdout.")
def probe(config: str, probes: int, json_target: str, **given: Any) -> int:
    """Ask queries of the golden set as somebody whom no access list names, and judge every hit.

    Ends with 1 when anything guarded came back, with 3 when no probe was answered. Use `--access audit` for a
    retriever of your own: with `enforce` what came back is filtered before it is judged.
    """
    import msgspec

    from rageval_action import pipeline
    from rageval_action.core.labels.deny_probes import deny_probes, report

    with errors_as_json(json_target):
        settings = configure(given, config)
        pipeline.require(settings, "golden", "snapshot")
        inputs = pipeline.read(settings)
        asked = deny_probes(inputs.golden.queries, probes)
        golden = msgspec.structs.replace(inputs.golden, queries=asked)
        run = pipeline.rank(settings, msgspec.structs.replace(inputs, golden=golden), settings.depth, world())
        told = report(run, inputs.snapshot.chunks)
        if json_target:
            write_json(json_target, told)
        if json_target != STANDARD_OUTPUT:
            _show(told)
        return 1 if told.leaks else 0 if told.asked else 3


def _show(told: Any) -> None:
    say(f"{told.asked} probes answered, {told.failed} failed; {told.guarded:,} chunks are guarded")
    if not told.guarded:
        say("no chunk has an access list, so the probes prove nothing")
    for leak in told.leaks[:SHOWN]:
        say(f"leak: query {leak.query_id}, rank {leak.rank}: {leak.id}")
    if len(told.leaks) > SHOWN:
        say(f"… and {len(told.leaks) - SHOWN} more")
    say("nothing guarded came back" if not told.leaks else f"{len(told.leaks)} guarded hits came back")
