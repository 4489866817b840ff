"""`rageval snapshot import`: another store as a snapshot folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_action.cli.golden_texts import golden_texts
from rageval_action.cli.options import json_option, out_option, query_vector_options
from rageval_action.cli.output import STANDARD_OUTPUT, errors_as_json, write_json
from rageval_action.cli.safe_echo import say_notices
from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


def _asked(golden: tuple[str, ...], embeddings: str) -> Mapping[str, NDArray[np.float32]]:
    """Query texts with their vectors."""
    if bool(golden) != bool(embeddings):
        text = "--queries and --query-embeddings belong together: an imported store brings no model."
        raise ConfigError("config.query-embeddings", text)
    if not golden:
        return {}
    from rageval_action.snapshots.build import open_vectors
    from rageval_action.snapshots.queries import check_query_vectors

    texts, _ = golden_texts(golden)
    vectors, _ = open_vectors(Path(embeddings), "--query-embeddings")
    check_query_vectors(vectors, len(texts), vectors.shape[1])
    return dict(zip(texts, vectors.astype("float32"), strict=True))


@click.command("import")
@click.argument("location", metavar="SCHEME:PLACE")
@out_option("the snapshot")
@query_vector_options
@json_option("the manifest")
def import_(
    location: str, out: str, queries: tuple[str, ...], query_embeddings: str, json_target: str
) -> int:
    """Write another store as a snapshot.

    A location is `chroma:./db`, `faiss:index.faiss?chunks=chunks.jsonl`, `lancedb:./db?table=docs` and so on.
    Options follow a question mark: `?doc=source&id=chunk_id` name the fields that hold a chunk's document and id,
    `metric=` overrules the store's. The same locations may stand wherever a snapshot is asked for.
    """
    from rageval_action.snapshots.importers.stores import import_store

    with errors_as_json(json_target):
        manifest, notices = import_store(location, Path(out), _asked(queries, query_embeddings))
        say_notices(notices)
        if json_target:
            write_json(json_target, manifest)
        if json_target != STANDARD_OUTPUT:
            click.echo(f"{out}: {manifest.chunks:,} chunks in {manifest.documents:,} documents, ", nl=False)
            click.echo(f"{manifest.dimension} x {manifest.dtype}, metric {manifest.metric}")
    return 0
