"""`rageval export`: a record in other people's formats."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def export() -> None:
    """Write a record in another format."""


@export.command()
@click.argument("record")
@click.option("--out", required=True, metavar="DIR", help="New or empty folder for qrels.txt and run.txt.")
def trec(record: str, out: str) -> None:
    """Write RECORD as TREC qrels and run; trec_eval 10 then gives the record's numbers.

    Ids are those of the record's unit. Queries judged by groups or evidence have no TREC form: they are refused by
    name rather than left out.
    """
    from rageval_action.pipeline import trec_files
    from rageval_action.records import read_record, write_files

    files = trec_files(read_record(record), where=record)
    write_files(Path(out), files)
    click.echo(f"{out}: {', '.join(sorted(files))}")
