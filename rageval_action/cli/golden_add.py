"""`rageval golden add`: candidate rows from the queries people really asked."""

from __future__ import annotations

from pathlib import Path

import click

from rageval_action.cli.safe_echo import say
from rageval_action.cli.value_types import integer, number_option

SHOWN = 10


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--from", "log", required=True, metavar="LOG", help="Query log: JSON Lines, a JSON array or CSV."
)
@number_option("--min-times", integer(), 1, "Leave out what was asked less often.")
@number_option("--min-users", integer(), 1, "Leave out what fewer people asked.")
@click.option("--dry-run", is_flag=True, help="Show what would be added.")
def add(file: str, log: str, min_times: int, min_users: int, *, dry_run: bool) -> None:
    """Add queries of a log, with the documents that were clicked or praised, to FILE as rows to be reviewed.

    E-mail addresses are replaced, and with the extra [check] phone numbers and keys; who asked is never written down.
    """
    from rageval_action.core.wording.problem_list import Problems
    from rageval_action.errors import GoldenError
    from rageval_action.golden import containers, input_files
    from rageval_action.golden.canonical_file import RowFile
    from rageval_action.golden.privacy import Detector
    from rageval_action.golden.query_log import from_log

    part = input_files.load_rows(log)
    problems = Problems(GoldenError)
    start = part.data.lstrip()[:1]
    readers = {b"[": containers.read_json, b"{": containers.read_jsonl}
    read = readers.get(start, containers.read_csv)
    with input_files.no_deeper_than_we_can(log):
        lines = read(part, problems)
    problems.raise_if_any()
    target = RowFile.open_or_new(Path(file))
    detector = Detector()
    found = from_log(
        lines,
        detector,
        path=log,
        existing=[str(row["query"]) for row in target],
        least_times=min_times,
        least_users=min_users,
    )
    fresh = [row for row in found.rows if str(row["id"]) not in target]
    for row in fresh:
        target.append(row)
    if not dry_run and fresh:
        target.save()
    say(
        f"{len(fresh)} rows {'would be ' if dry_run else ''}added to {file} from {found.lines} lines of {log}."
    )
    for reason, count in sorted(found.left_out.items()):
        click.echo(f"  {count:>5} questions left out: {reason}")
    if found.redacted:
        click.echo(f"  {found.redacted:>5} questions had personal data or keys replaced.")
    for name in detector.missing:
        click.echo(f'  {name} were not looked for: install "rag-eval-action[check]".')
    for row in fresh[:SHOWN] if dry_run else ():
        say(f"  {row['query']!r} → {', '.join(row['relevant'])}")
