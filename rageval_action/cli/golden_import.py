"""`rageval golden import`: any golden set that can be read, as canonical JSON Lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from rageval_action.cli.golden_common import (
    chunks_of,
    golden_argument,
    read,
    reading_options,
    refuse_existing,
    tell,
)
from rageval_action.cli.options import text_option
from rageval_action.cli.safe_echo import say

if TYPE_CHECKING:
    from rageval_action.core.model.types import Chunk, GoldenSet


@click.command("import")
@golden_argument
@click.option("--out", required=True, metavar="FILE", help="Canonical JSON Lines to write.")
@text_option("--snapshot", "DIR", "Index to look ids, texts, spans and pages up in.")
@click.option(
    "--source",
    type=click.Choice(["human", "synthetic", "log", "unknown"]),
    help="Where the questions come from, if the file does not say. Default: unknown.",
)
@click.option(
    "--review",
    type=click.Choice(["accepted", "pending", "rejected"]),
    help="Review state of rows without one. Default: pending.",
)
@click.option("--force", is_flag=True, help="Overwrite --out.")
@reading_options
def import_(location: str, out: str, snapshot: str, *, force: bool, **reading: Any) -> None:
    """Read a golden set in whatever shape it is and write it in the canonical form.

    FILE is a path, a pattern, a folder, or queries=FILE,qrels=FILE (and corpus=FILE). Several are one set.
    """
    from rageval_action.golden.canonical_file import encode_row, row_of, write_lines

    target = refuse_existing(out, force=force)
    chunks = chunks_of(snapshot)
    golden = read(location, chunks, reading)
    write_lines(target, (encode_row(row_of(query)) for query in golden.queries))
    say(f"{len(golden.queries)} queries from {golden.path} ({golden.format}) to {out}.")
    say(f"  {counts(golden)}")
    say(f"  {provenance(golden)}")
    tell(golden.notices)
    if chunks:
        tell_overlap(golden, chunks)


def counts(golden: GoldenSet) -> str:
    """How many queries have which kind of judgment."""
    queries = golden.queries
    kinds = {
        "judged by ids": sum(bool(query.relevant) for query in queries),
        "by alternatives": sum(bool(query.any_of) for query in queries),
        "by evidence": sum(bool(query.evidence) for query in queries),
        "unanswerable": sum(not query.answerable for query in queries),
    }
    judgments = sum(len(query.relevant) + len(query.any_of) + len(query.evidence) for query in queries)
    return (
        ", ".join(f"{count} {name}" for name, count in kinds.items() if count) + f"; {judgments} judgments."
    )


def provenance(golden: GoldenSet) -> str:
    """Where the questions come from and whether anybody accepted them."""
    sources = Counter(query.source for query in golden.queries)
    reviews = Counter(query.review for query in golden.queries)
    return (
        "; ".join(
            f"{name}: " + ", ".join(f"{count} {word}" for word, count in found.items())
            for name, found in (("source", sources), ("review", reviews))
        )
        + "."
    )


def tell_overlap(golden: GoldenSet, chunks: tuple[Chunk, ...]) -> None:
    """How many of the judged ids the snapshot has, as chunks and as documents, and what else linking notices."""
    from rageval_action.core.labels.linking import link
    from rageval_action.errors import GoldenError

    wanted = {name for query in golden.queries for name in (*query.relevant, *sum(query.any_of, ()))}
    if wanted:
        as_chunks = len(wanted & {chunk.id for chunk in chunks})
        as_documents = len(wanted & {chunk.doc for chunk in chunks})
        say(f"  of {len(wanted)} judged ids, {as_chunks} are chunks and {as_documents} documents there.")
    try:
        tell(link(golden, chunks, "auto").notices)
    except GoldenError as error:
        say(f"  {error}")
