"""`rageval snapshot`: build, verify, info."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_action.cli.golden_texts import golden_texts
from rageval_action.cli.options import json_option, out_option, query_vector_options, text_option
from rageval_action.cli.output import STANDARD_OUTPUT, errors_as_json, write_json
from rageval_action.cli.safe_echo import say_notices
from rageval_action.cli.snapshot_import import import_
from rageval_action.cli.snapshot_queries import add_queries
from rageval_action.cli.value_types import integer
from rageval_action.core.wording.escape import log_line
from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from rageval_action.core.model.types import Chunk
    from rageval_action.snapshots.build import Built, Plan
    from rageval_action.snapshots.verify import SnapshotReport

_JSON = json_option("the report")


@click.group(commands=[import_, add_queries])
def snapshot() -> None:
    """Index snapshots: build one, import one, add queries to one, verify one, look at one."""


@snapshot.command()
@click.option("--corpus", required=True, metavar="FILE", help="Chunks, one JSON object a line.")
@click.option("--model", default="", help="Name or folder of a sentence-transformers model.")
@text_option("--embeddings", "FILE", "Vectors (.npy), row i for line i of the corpus.")
@query_vector_options
@text_option("--keep-queries-of", "DIR", "Snapshot whose query vectors are kept, where one model made both.")
@out_option("the snapshot")
@text_option(
    "--model-name", "NAME", "What the manifest calls the model.  [default: from --model]", "model_label"
)
@click.option("--revision", default="", help="Revision of the model.")
@click.option("--query-prefix", default=None, help="Put before a query.  [default: by model]")
@click.option("--document-prefix", default=None, help="Put before a chunk.  [default: by model]")
@click.option(
    "--metric",
    type=click.Choice(["ip", "cosine", "l2"]),
    default=None,
    help="How vectors are compared.  [default: ip for unit vectors, else cosine]",
)
@click.option("--dtype", type=click.Choice(["float32", "float16"]), default="float32", show_default=True)
@click.option("--chunker", default="", help="Name and settings of the chunker, for the record.")
@click.option("--build-id", default="", help="For the record.")
@click.option("--source-commit", default="", help="Commit of the content, for the record.")
@click.option("--batch-size", type=integer(1), default=32, show_default=True, help="Of the model.")
@click.option(
    "--shard-rows", type=integer(most=2**31), default=0, help="Rows of one file.  [default: about 1 GiB]"
)
@_JSON
def build(json_target: str, **given: Any) -> int:
    """Build a snapshot from chunks and their vectors, or embed the chunks.

    With --queries an evaluation of that golden set needs no model. With --keep-queries-of, the new snapshot also has
    the query vectors of the one it replaces, so the baseline's questions can still be asked. A build that was stopped
    goes on where it was when it is started again.
    """
    from rageval_action.snapshots.build import Plan
    from rageval_action.snapshots.given_chunks import read_given_chunks
    from rageval_action.snapshots.verify import describe
    from rageval_action.snapshots.write import check_target

    with errors_as_json(json_target):
        _check(given)
        named = {name: given[name] for name in Plan.__struct_fields__ if given[name] is not None}
        plan = Plan(**{**named, "out": Path(given["out"])})
        check_target(plan.out)
        corpus = read_given_chunks(Path(given["corpus"]))
        say_notices(corpus.notices)
        queries, notices = golden_texts(given["queries"])
        say_notices(notices)
        built = _build(plan, corpus.chunks, queries, given)
        say_notices(built.notices)
        _show(describe(plan.out), json_target)
    return 0


def _check(given: dict[str, Any]) -> None:
    """Refuse combinations of options that say nothing or two things."""
    if bool(given["model"]) == bool(given["embeddings"]):
        raise ConfigError(
            "config.embedding-source",
            "either --model or --embeddings must be given.",
            hint="--model embeds the corpus; --embeddings takes vectors that you have.",
        )
    if given["query_embeddings"] and not (given["queries"] and given["embeddings"]):
        message = "--query-embeddings needs --queries, whose vectors it holds, and --embeddings."
        raise ConfigError("config.query-embeddings", message)
    if given["embeddings"] and given["queries"] and not given["query_embeddings"]:
        message = "--queries with --embeddings needs --query-embeddings: there is no model to embed the queries with."
        raise ConfigError("config.query-embeddings", message)


def _build(plan: Plan, chunks: Sequence[Chunk], queries: list[str], given: dict[str, Any]) -> Built:
    from rageval_action.snapshots.build import build_from_vectors, build_with_model, open_vectors
    from rageval_action.snapshots.model import load_model
    from rageval_action.snapshots.stored_queries import read_stored

    keep = read_stored(Path(given["keep_queries_of"])) if given["keep_queries_of"] else None
    if plan.model:
        embedder = load_model(plan.model, plan.revision, plan.batch_size)
        with _Progress() as advance:
            return build_with_model(plan, chunks, queries, embedder, advance, keep)
    vectors, notices = open_vectors(Path(given["embeddings"]), "--embeddings")
    say_notices(notices)
    asked = None
    if given["query_embeddings"]:
        asked, notices = open_vectors(Path(given["query_embeddings"]), "--query-embeddings")
        say_notices(notices)
    return build_from_vectors(plan, chunks, vectors, queries, asked, keep)


def _silent(done: int, total: int) -> None:
    """Say nothing about progress."""


class _Progress:
    """A progress bar on a terminal, nothing elsewhere."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> Callable[[int, int], None]:
        if not sys.stderr.isatty():
            return _silent
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._bar.start()
        task = self._bar.add_task("embedding", total=None)
        return lambda done, total: self._bar.update(task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


@snapshot.command()
@click.argument("folder", metavar="DIR")
@_JSON
def verify(folder: str, json_target: str) -> int:
    """Check a snapshot folder: files, checksums, counts, vectors, ids, fingerprint. Ends with 2 when it is unusable."""
    from rageval_action.snapshots.verify import verify as check

    return _report(check, folder, json_target)


@snapshot.command()
@click.argument("folder", metavar="DIR")
@_JSON
def info(folder: str, json_target: str) -> int:
    """Say what a snapshot folder holds, without comparing checksums."""
    from rageval_action.snapshots.verify import describe

    return _report(describe, folder, json_target)


def _report(look: Callable[[Path], SnapshotReport], folder: str, json_target: str) -> int:
    with errors_as_json(json_target):
        report = look(_folder(folder))
        say_notices(report.notices)
        _show(report, json_target)
    return 0


def _folder(location: str) -> Path:
    """The folder of a snapshot; a store has none to look at.

    Raises:
        ConfigError: `config.no-folder`.
    """
    from rageval_action.snapshots.interface import SOURCES

    scheme, mark, place = location.partition(":")
    if not mark or scheme not in SOURCES or Path(location).exists():
        return Path(location)
    if scheme == "folder":
        return Path(place)
    text = "verify and info look at snapshot folders; this is another store."
    hint = f"Make a folder of it first: rageval snapshot import {shlex.quote(location)} --out DIR."
    raise ConfigError("config.no-folder", text, hint=hint, where=location)


def _show(report: SnapshotReport, json_target: str) -> None:
    if json_target:
        write_json(json_target, report)
    if json_target != STANDARD_OUTPUT:
        for name, value in _lines(report):
            click.echo(f"{name:<12} {log_line(value)}")


def _lines(report: SnapshotReport) -> list[tuple[str, str]]:
    """What a person wants to know of a snapshot, a line each; what is not known is left out."""
    manifest = report.manifest
    vectors = f"{manifest.dimension} x {manifest.dtype}, metric {manifest.metric}"
    if manifest.dimension:
        vectors += f", norms {report.smallest_norm:.4g} to {report.largest_norm:.4g}"
    lines = [
        ("snapshot", f"{report.path} ({report.checked} checked)"),
        ("chunks", f"{manifest.chunks:,} in {manifest.documents:,} documents"),
        ("vectors", vectors if manifest.dimension else "none (lexical retrieval only)"),
        ("zero", f"{report.zero_vectors} vectors, never returned" if report.zero_vectors else ""),
        (
            "queries",
            f"{report.query_vectors:,} cached vectors" if report.query_vectors else "no cached vectors",
        ),
        ("model", f"{manifest.model} {manifest.revision}".strip()),
        ("prefixes", _prefixes(manifest.query_prefix, manifest.document_prefix)),
        ("chunker", manifest.chunker),
        ("build", manifest.build_id),
        ("commit", manifest.source_commit),
        ("fingerprint", manifest.fingerprint),
    ]
    return [(name, value) for name, value in lines if value]


def _prefixes(query: str, document: str) -> str:
    return f"query {query!r}, document {document!r}" if query or document else ""
