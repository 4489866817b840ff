"""`rageval export`: a record in other people's formats."""

from __future__ import annotations

from pathlib import Path

import click

from rageval_action.cli.options import out_option
from rageval_action.cli.safe_echo import say
from rageval_action.core.measuring.trec_files import TrecRanking, format_qrels, format_run
from rageval_action.core.model.ranking import unit_scores
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.types import Grades, Unanswerable
from rageval_action.errors import RecordError


@click.group()
def export() -> None:
    """Write a record in another format."""


@export.command()
@click.argument("record")
@out_option("qrels.txt and run.txt")
def trec(record: str, out: str) -> None:
    """Write RECORD as TREC qrels and run; trec_eval 10 then gives the record's numbers.

    Ids are those of the record's unit. Queries judged by groups or evidence have no TREC form: they are refused by
    name rather than left out.
    """
    from rageval_action.records import read_record, write_files

    files = trec_files(read_record(record), where=record)
    write_files(Path(out), files)
    say(f"{out}: {', '.join(sorted(files))}")


def trec_files(run: RunRecord, *, where: str) -> dict[str, bytes]:
    """`qrels.txt` and `run.txt` of a record, at its unit and to its depth.

    Raises:
        RecordError: `export.not-graded` when a query is judged by groups or evidence, which qrels cannot say.
    """
    rows = [row for row in run.queries if not isinstance(row.judgments, Unanswerable)]
    qrels = {row.query_id: row.judgments.grades for row in rows if isinstance(row.judgments, Grades)}
    if len(qrels) < len(rows):
        other = next(row.query_id for row in rows if row.query_id not in qrels)
        text = f'{len(rows) - len(qrels)} queries are judged by groups or evidence, "{other}" the first.'
        hint = "Qrels hold graded ids only."
        raise RecordError("export.not-graded", text, hint=hint, where=where)
    unit, depth = run.record.golden.unit, run.record.retriever.depth
    rankings = {}
    for row in rows:
        ids, scores = unit_scores(row.results, unit)
        rankings[row.query_id] = TrecRanking(ids[:depth], scores[:depth])
    return {"qrels.txt": format_qrels(qrels).encode(), "run.txt": format_run(rankings).encode()}
