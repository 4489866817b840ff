"""`rageval golden merge`: two annotators, one set."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_action.cli.golden_common import refuse_existing
from rageval_action.cli.options import json_option, text_option
from rageval_action.cli.safe_echo import say

if TYPE_CHECKING:
    from rageval_action.golden.agreement import Agreement
    from rageval_action.golden.merging import OnConflict

SHOWN = 20
"""Conflicts spelled out; `--json` has them all."""


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@text_option("--out", "FILE", "The resolved set; without it only agreement is shown.")
@click.option(
    "--on-conflict",
    default="pending",
    show_default=True,
    type=click.Choice(["pending", "a", "b", "strict"]),
    help="What becomes of rows seen differently: they wait, one decides, or only what both say stays.",
)
@json_option("the outcome")
@click.option("--force", is_flag=True, help="Overwrite --out.")
def merge(a: str, b: str, out: str, on_conflict: OnConflict, json_target: str, *, force: bool) -> None:
    """Compare two reviewed copies of a golden set, show agreement and conflicts, and join them."""
    from rageval_action.cli.output import errors_as_json, write_json
    from rageval_action.golden.canonical_file import RowFile, encode_row, write_lines
    from rageval_action.golden.merging import merge as join

    with errors_as_json(json_target):
        merged = join(RowFile.open(Path(a)), RowFile.open(Path(b)), on_conflict)
        if out:
            write_lines(refuse_existing(out, force=force), [encode_row(row) for row in merged.rows])
        if json_target:
            write_json(json_target, merged)
    if json_target == "-":
        return
    _tell("accept or reject", merged.decisions)
    _tell("grades", merged.grades)
    say(
        f"{len(merged.conflicts)} conflicts; {len(merged.only_a)} rows only in A, {len(merged.only_b)} only in B."
    )
    for conflict in merged.conflicts[:SHOWN]:
        say(f"  {conflict.id} {conflict.what}: A {conflict.a!r}, B {conflict.b!r}")
    if len(merged.conflicts) > SHOWN:
        say(f"  … and {len(merged.conflicts) - SHOWN} more (--json)")
    if out:
        say(f"{len(merged.rows)} rows to {out}.")


def _tell(name: str, found: Agreement) -> None:
    if not found.n:
        say(f"{name}: nothing that both judged.")
        return
    say(
        f"{name}: {found.observed:.0%} the same over {found.n}; Cohen's kappa {_beyond_chance(found.kappa)}, "
        f"Krippendorff's alpha ({found.level}) {_beyond_chance(found.alpha)}."
    )


def _beyond_chance(value: float) -> str:
    """A coefficient; where one and the same answer was given throughout, chance would agree as well."""
    return "not defined (all answers are the same)" if math.isnan(value) else f"{value:.2f}"
