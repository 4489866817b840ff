"""`rageval golden drift`: what a golden set lost when the index changed."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_action.cli.golden_common import chunks_of
from rageval_action.cli.options import json_option, text_option
from rageval_action.cli.safe_echo import say

if TYPE_CHECKING:
    from rageval_action.golden.canonical_file import RowFile

SHOWN = 20
"""Losses spelled out; `--json` has them all."""


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--snapshot", required=True, metavar="DIR", help="The index that the set must hold for.")
@text_option("--old-snapshot", "DIR", "The index it was made for: places lost ids.")
@text_option("--patch", "FILE", "Write the proposed changes as a unified diff; - shows it.")
@click.option("--apply", "apply_", is_flag=True, help="Write the proposed changes into FILE.")
@json_option("every loss")
def drift(file: str, snapshot: str, old_snapshot: str, patch: str, json_target: str, *, apply_: bool) -> int:
    """List rows that lost their evidence or documents, say why, and propose a patch. Exit code 1 when any did."""
    from rageval_action.cli.output import errors_as_json, write_json, write_text
    from rageval_action.golden.canonical_file import RowFile, open_golden
    from rageval_action.golden.drift import drift as compare

    with errors_as_json(json_target):
        golden = open_golden(Path(file))
        rows = RowFile.open(Path(file))
        found = compare(
            golden.queries,
            {str(row["id"]): row for row in rows},
            chunks_of(snapshot),
            chunks_of(old_snapshot),
        )
        if json_target:
            write_json(
                json_target,
                {"schema": "rageval.golden-drift/1", "counts": found.counts(), "losses": found.losses},
            )
        before = rows.lines()
        for name, row in found.patched.items():
            rows.replace(name, row)
        if patch:
            write_text(patch, _diff(file, before, rows))
        if apply_:
            rows.save()
    if "-" not in (json_target, patch):
        lost = len({loss.id for loss in found.losses})
        click.echo(
            f"{lost} of {len(golden.queries)} rows lost something; {len(found.patched)} can be mended by a patch."
        )
        for why, count in found.counts().items():
            click.echo(f"  {count:>5}  {why}")
        for loss in found.losses[:SHOWN]:
            to = f" → {loss.replacement}" if loss.replacement else ""
            say(f"  {file}:{loss.line} {loss.id} {loss.kind} {loss.why}: {loss.what!r}{to}")
        if len(found.losses) > SHOWN:
            click.echo(f"  … and {len(found.losses) - SHOWN} more (--json)")
        if not old_snapshot and any(
            loss.kind != "evidence" and loss.why == "deleted" for loss in found.losses
        ):
            click.echo(
                "Without --old-snapshot an id that was renamed or cut anew cannot be told from a deleted one."
            )
    return 1 if found.losses and not apply_ else 0


def _diff(file: str, before: list[bytes], rows: RowFile) -> str:
    """The change of the file as `git apply` takes it."""
    name = Path(file).as_posix().lstrip("/")
    old, new = ([line.decode() + "\n" for line in lines] for lines in (before, rows.lines()))
    return "".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"))
