"""Builds a snapshot from a corpus: embeds it (resumable) or takes given vectors, and caches query vectors."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from msgspec import Struct

from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.snapshot import BuildSettings
from rageval_action.core.model.types import Notice
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.arrays import Measured, measure, open_matrix
from rageval_action.snapshots.model import BATCH_SIZE, model_name
from rageval_action.snapshots.prefixes import Prefixes, known_prefixes
from rageval_action.snapshots.queries import check_query_vectors, keyed
from rageval_action.snapshots.row_checks import is_blank
from rageval_action.snapshots.stored_queries import kept
from rageval_action.snapshots.write import Contents, check_target, write_snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rageval_action.core.model.snapshot import FloatMatrix, Manifest, Metric
    from rageval_action.core.model.types import Chunk
    from rageval_action.snapshots.model import Embedder
    from rageval_action.snapshots.stored_queries import StoredQueries, Vectors

BLOCK_TEXTS = 256
"""Texts that are embedded between two savings of the work; also what a killed run loses at most."""

STATE = "state.json"
VECTORS = "vectors.f32"

Advance = Callable[[int, int], None]
"""Told how many texts are done, and how many there are."""


class Plan(Struct, frozen=True, kw_only=True):
    """What to build, beside the corpus.

    Attributes:
        out: new or empty folder.
        model: name or folder of the embedding model; empty when vectors are given.
        model_label: what the manifest calls the model; empty = derived from `model`.
        query_prefix, document_prefix: None = what the table of known models says.
        metric: empty = `ip` for vectors of norm 1, `cosine` for others.
    """

    out: Path
    model: str = ""
    model_label: str = ""
    revision: str = ""
    query_prefix: str | None = None
    document_prefix: str | None = None
    metric: Metric | Literal[""] = ""
    dtype: Literal["float32", "float16"] = "float32"
    chunker: str = ""
    build_id: str = ""
    source_commit: str = ""
    shard_rows: int = 0
    batch_size: int = BATCH_SIZE


class Built(Struct, frozen=True, kw_only=True):
    """The manifest that was written, and what its reader should know."""

    manifest: Manifest
    notices: tuple[Notice, ...]


def build_from_vectors(
    plan: Plan,
    chunks: Sequence[Chunk],
    vectors: FloatMatrix,
    queries: Sequence[str] = (),
    query_vectors: FloatMatrix | None = None,
    keep: StoredQueries | None = None,
) -> Built:
    """Build from vectors that somebody else computed; row i belongs to chunk i, query vector i to query i.

    Vectors of `keep` that still hold are kept as well; a vector that is given anew takes the place of an old one.

    Raises:
        SnapshotError: as `write.write_snapshot`; `snapshot.count-mismatch` or `snapshot.dimension-mismatch` for query
            vectors that do not fit.
    """
    check_target(plan.out)
    prefixes = Prefixes(query=plan.query_prefix or "", document=plan.document_prefix or "")
    settings, notices = _settings(plan, measure((vectors,)), plan.revision, prefixes)
    old, not_kept = kept(keep, settings, vectors.shape[1])
    cached = dict(old)
    if query_vectors is not None:
        check_query_vectors(query_vectors, len(queries), vectors.shape[1])
        cached |= keyed(dict(zip(queries, query_vectors.astype(np.float32), strict=True)), settings)
    contents = Contents(chunks=chunks, vectors=vectors, query_vectors=cached)
    manifest = write_snapshot(plan.out, contents, settings, dtype=plan.dtype, shard_rows=plan.shard_rows)
    return Built(manifest=manifest, notices=(*notices, *not_kept))


def build_with_model(
    plan: Plan,
    chunks: Sequence[Chunk],
    queries: Sequence[str],
    embedder: Embedder,
    advance: Advance,
    keep: StoredQueries | None = None,
) -> Built:
    """Embed a corpus and build.

    Texts are embedded once each, longest first, in blocks that depend on the texts alone: a run that was killed and
    started again writes the same bytes as one that was not. The work of a killed run lies in `OUT.partial` and is
    used again when corpus, model and prefixes are the same. A chunk without text gets a zero vector, which no search
    returns; what a model makes of nothing is near to everything. Queries whose vectors `keep` still holds are not
    embedded again.

    Raises:
        SnapshotError: as `write.write_snapshot`.
    """
    check_target(plan.out)
    prefixes = _prefixes(plan)
    texts = ["" if is_blank(chunk.text) else prefixes.document + chunk.text for chunk in chunks]
    unique = sorted(set(texts) - {""}, key=lambda text: (-len(text), text))
    work = _Work(plan, embedder, unique)
    made = work.embed(unique, embedder, advance)
    row = {text: at for at, text in enumerate(unique)}
    order = np.fromiter((row.get(text, -1) for text in texts), np.int64, len(texts))
    settings, notices = _settings(plan, measure((made,)), embedder.revision, prefixes)
    old, not_kept = kept(keep, settings, made.shape[1])
    cached = {**old, **_embed_queries(queries, old, settings, embedder)}
    contents = Contents(chunks=chunks, vectors=_gathered(made, order), query_vectors=cached)
    manifest = write_snapshot(plan.out, contents, settings, dtype=plan.dtype, shard_rows=plan.shard_rows)
    work.remove()
    told = (*_prefix_notices(plan), *notices, *not_kept, *_cut_notices(unique, embedder))
    return Built(manifest=manifest, notices=told)


def _prefixes(plan: Plan) -> Prefixes:
    """The prefixes given, else those of the table, else none."""
    known = known_prefixes(plan.model_label or plan.model) or Prefixes()
    return Prefixes(
        query=known.query if plan.query_prefix is None else plan.query_prefix,
        document=known.document if plan.document_prefix is None else plan.document_prefix,
    )


def _prefix_notices(plan: Plan) -> tuple[Notice, ...]:
    name = plan.model_label or model_name(plan.model)
    known, used = known_prefixes(plan.model_label or plan.model), _prefixes(plan)
    if known is None and plan.query_prefix is None and plan.document_prefix is None:
        text = f'"{name}" is not in the table of known models; no prefixes were used. If its model card asks for some, '
        return (
            Notice(code="snapshot.unknown-model", text=text + "give --query-prefix and --document-prefix."),
        )
    if known is not None and known != used:
        text = (
            f'"{name}" was trained with the query prefix {known.query!r} and the document prefix {known.document!r}, '
            f"but {used.query!r} and {used.document!r} were used; recall suffers where they differ."
        )
        return (Notice(code="snapshot.prefix-differs", text=text),)
    return ()


def _cut_notices(texts: Sequence[str], embedder: Embedder) -> tuple[Notice, ...]:
    cut = embedder.count_cut(texts)
    if not cut:
        return ()
    text = f"{cut} of {len(texts)} texts are longer than what the model reads; their ends cannot be found."
    return (Notice(code="snapshot.text-cut", text=text),)


def _settings(
    plan: Plan, measured: Measured, revision: str, prefixes: Prefixes
) -> tuple[BuildSettings, tuple[Notice, ...]]:
    notices: tuple[Notice, ...] = ()
    metric = plan.metric
    if not metric:
        metric = "ip" if measured.is_unit else "cosine"
        if metric == "cosine":
            text = (
                f"Vectors are not of unit length (norms from {measured.smallest:.6g} to {measured.largest:.6g}) and no "
                "--metric was given; they will be compared by cosine."
            )
            notices = (Notice(code="snapshot.metric-assumed", text=text),)
    settings = BuildSettings(
        metric=metric,
        model=plan.model_label or model_name(plan.model),
        revision=revision,
        query_prefix=prefixes.query,
        document_prefix=prefixes.document,
        chunker=plan.chunker,
        build_id=plan.build_id,
        source_commit=plan.source_commit,
    )
    return settings, notices


def _embed_queries(
    queries: Sequence[str], known: Vectors, settings: BuildSettings, embedder: Embedder
) -> Vectors:
    """Key -> vector of the queries that are not among `known`, each text embedded once."""
    missing = keyed({text: text for text in queries}, settings)
    texts = [text for key, text in missing.items() if key not in known]
    if not texts:
        return {}
    made = np.asarray(embedder.encode([settings.query_prefix + text for text in texts]), dtype=np.float32)
    return keyed(dict(zip(texts, made, strict=True)), settings)


class _State(Struct, frozen=True, kw_only=True):
    """What a work folder belongs to; `digest` covers texts, model and library-independent settings."""

    digest: str
    dimension: int


class _Work:
    """The folder beside the target in which vectors are kept as they are made."""

    def __init__(self, plan: Plan, embedder: Embedder, texts: Sequence[str]) -> None:
        self._folder = plan.out.with_name(f"{plan.out.name}.partial")
        made_by = [plan.model, embedder.revision, str(plan.batch_size)]
        self._digest = hashlib.sha256("\0".join([*made_by, *map(text_hash, texts)]).encode()).hexdigest()

    def embed(self, texts: Sequence[str], embedder: Embedder, advance: Advance) -> FloatMatrix:
        """Vectors of `texts` in a mapped file, continuing where a run of the same texts stopped."""
        state, done = self._resume()
        path = self._folder / VECTORS
        with path.open("ab") as stream:
            for start in range(done, len(texts), BLOCK_TEXTS):
                advance(start, len(texts))
                block = np.ascontiguousarray(embedder.encode(texts[start : start + BLOCK_TEXTS]), dtype="<f4")
                if state is None:
                    state = _State(digest=self._digest, dimension=block.shape[1])
                    (self._folder / STATE).write_bytes(msgspec.json.encode(state))
                stream.write(block.tobytes())
                stream.flush()
        advance(len(texts), len(texts))
        if state is None:
            raise SnapshotError("snapshot.empty", "no chunk of the corpus has any text to embed.")
        return np.memmap(path, dtype="<f4", mode="r", shape=(len(texts), state.dimension))

    def _resume(self) -> tuple[_State | None, int]:
        """State of the folder and number of texts whose vectors are whole; anything else in it is thrown away."""
        vectors = self._folder / VECTORS
        try:
            state = msgspec.json.decode((self._folder / STATE).read_bytes(), type=_State)
            width = 4 * state.dimension
            done = vectors.stat().st_size // (width * BLOCK_TEXTS) * BLOCK_TEXTS
            if state.digest == self._digest:
                with vectors.open("r+b") as stream:
                    stream.truncate(done * width)
                return state, done
        except (OSError, msgspec.MsgspecError, ZeroDivisionError):
            pass
        self.remove()
        self._folder.mkdir(parents=True)
        return None, 0

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _gathered(made: FloatMatrix, order: NDArray[np.int64]) -> Iterator[FloatMatrix]:
    """Rows of `made` in the order of the chunks, block by block; zeros where the order says -1."""
    step = BLOCK_TEXTS * 16
    for start in range(0, len(order), step):
        part = order[start : start + step]
        block = made[part]
        block[part < 0] = 0
        yield block


def open_vectors(path: Path, option: str) -> tuple[FloatMatrix, tuple[Notice, ...]]:
    """Map a user's `.npy` file of vectors; float64 is narrowed to float32, with a notice.

    Raises:
        SnapshotError: `snapshot.not-found`, those of `arrays.open_matrix`, or `snapshot.bad-array` for numbers that are
            not floating-point.
    """
    if not path.is_file():
        raise SnapshotError("snapshot.not-found", f"there is no such file ({option}).", where=str(path))
    matrix = open_matrix(path, str(path))
    if matrix.dtype.kind != "f":
        message = f"the numbers are {matrix.dtype.name}; vectors are float32 or float16."
        hint = "Quantised vectors must be turned back into floating-point numbers first."
        raise SnapshotError("snapshot.bad-array", message, hint=hint, where=str(path))
    if matrix.dtype.str in ("<f4", "<f2"):
        return matrix, ()  # type: ignore[return-value]
    with np.errstate(over="ignore"):
        narrowed = matrix.astype(np.float32)
    text = f"Numbers are {matrix.dtype.str}; they were narrowed to float32."
    return narrowed, (Notice(code="snapshot.narrowed", text=text, where=str(path)),)
