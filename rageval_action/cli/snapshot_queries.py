"""`rageval snapshot add-queries`: vectors of more questions for a snapshot that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from rageval_action.cli.golden_texts import golden_texts
from rageval_action.cli.options import golden_sets_option, json_option, query_embeddings_option, text_option
from rageval_action.cli.output import STANDARD_OUTPUT, errors_as_json, write_json
from rageval_action.cli.safe_echo import say_notices
from rageval_action.core.wording.lists import plural
from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rageval_action.core.model.snapshot import Snapshot
    from rageval_action.core.model.types import Notice


class QueriesAdded(Struct, frozen=True, kw_only=True):
    """What `rageval snapshot add-queries` did; counts of different texts.

    Attributes:
        added: texts that have a vector now. known: those that had one before.
        without_text: questions whose record keeps no text (`texts: false`), so that nothing can be added.
        query_vectors: vectors in the snapshot now.
    """

    added: int
    known: int
    without_text: int
    query_vectors: int


@click.command("add-queries")
@click.argument("snapshot", metavar="SNAPSHOT")
@click.option(
    "--from-record",
    "records",
    multiple=True,
    metavar="RECORD",
    help="Folder or zip of a record whose questions are added; repeatable.",
)
@golden_sets_option("Golden set whose questions are added; repeatable.")
@text_option("--model", "NAME", "Name or folder of the embedding model.  [default: the snapshot's]")
@query_embeddings_option("Vectors (.npy) instead of a model: rows go by records, then golden sets.")
@json_option("the counts")
def add_queries(
    snapshot: str,
    records: tuple[str, ...],
    queries: tuple[str, ...],
    model: str,
    query_embeddings: str,
    json_target: str,
) -> int:
    """Add query vectors to a snapshot folder.

    With the vectors of a baseline's questions in the snapshot, an evaluation can ask them without a model.
    """
    from rageval_action.snapshots.queries import keyed
    from rageval_action.snapshots.read import read_snapshot
    from rageval_action.snapshots.stored_queries import add_vectors, read_stored

    with errors_as_json(json_target):
        _check(records, queries, model, query_embeddings)
        folder = Path(snapshot.removeprefix("folder:"))
        opened = read_snapshot(folder)
        texts = _asked(records, queries)
        made, notices = _vectors(opened, texts, model, query_embeddings)
        say_notices(notices)
        if made:
            add_vectors(folder, made)
        different = len(keyed(dict.fromkeys(filter(None, texts)), opened.manifest))
        told = QueriesAdded(
            added=len(made),
            known=different - len(made),
            without_text=texts.count(""),
            query_vectors=len(read_stored(folder).vectors),
        )
        _show(told, json_target)
    return 0


def _check(records: Sequence[str], queries: Sequence[str], model: str, query_embeddings: str) -> None:
    if not records and not queries:
        hint = "Give --from-record RECORD, --queries GOLDEN, or both."
        raise ConfigError("config.missing", "no questions were given.", hint=hint)
    if model and query_embeddings:
        message = "--model and --query-embeddings exclude each other: vectors are made, or they are given."
        raise ConfigError("config.query-embeddings", message)


def _asked(records: Sequence[str], golden: Sequence[str]) -> list[str]:
    """Texts of the records' own questions, then of the golden sets; empty where a record keeps no text."""
    from rageval_action.core.measuring.record_summary import query_sha256
    from rageval_action.records import read_record

    texts = []
    for record in records:
        rows = read_record(record).queries
        texts += [row.query if query_sha256(row.query) == row.query_sha256 else "" for row in rows]
    more, notices = golden_texts(golden)
    say_notices(notices)
    return texts + more


def _vectors(
    snapshot: Snapshot, texts: Sequence[str], model: str, query_embeddings: str
) -> tuple[Mapping[str, NDArray[np.float32]], Sequence[Notice]]:
    """Text -> vector of the texts that have none yet.

    Raises:
        SnapshotError: `snapshot.no-vectors`, or given vectors that do not fit.
        CannotMeasureError: there is no model, or it does not fit the snapshot.
    """
    from rageval_action.errors import SnapshotError
    from rageval_action.snapshots.build import open_vectors
    from rageval_action.snapshots.encoder import query_encoder
    from rageval_action.snapshots.queries import check_query_vectors, keyed

    about = snapshot.manifest
    if not about.dimension:
        message = "the snapshot holds no vectors, so no question needs one."
        raise SnapshotError("snapshot.no-vectors", message, where=snapshot.path)
    keys = keyed({text: text for text in texts if text}, about)
    missing = [text for key, text in keys.items() if key not in snapshot.query_vectors]
    if query_embeddings:
        given, notices = open_vectors(Path(query_embeddings), "--query-embeddings")
        check_query_vectors(given, len(texts), about.dimension)
        rows = dict(zip(texts, given.astype("float32"), strict=True))
        return {text: rows[text] for text in missing}, notices
    encode = query_encoder(snapshot, model_path=model)
    return dict(zip(missing, encode(missing), strict=True)), encode.notices if missing else ()


def _show(told: QueriesAdded, json_target: str) -> None:
    if json_target:
        write_json(json_target, told)
    if json_target != STANDARD_OUTPUT:
        had = f"; {told.known:,} had one" if told.known else ""
        click.echo(
            f"{plural(told.added, 'query vector')} added{had}. The snapshot holds {told.query_vectors:,}."
        )
        if told.without_text:
            left = plural(told.without_text, "question")
            click.echo(f"{left} could not be added: the record keeps no text of them (`texts: false`).")
