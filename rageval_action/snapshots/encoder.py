"""Query vectors: those that came with the snapshot first, the model for the rest, each text embedded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rageval_action.core.model.hashing import query_key
from rageval_action.core.model.types import Notice
from rageval_action.core.wording.lists import plural
from rageval_action.errors import CannotMeasureError, SnapshotError
from rageval_action.snapshots.manifest import IMPORTED
from rageval_action.snapshots.model import load_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rageval_action.core.model.snapshot import Snapshot
    from rageval_action.snapshots.model import Embedder

Load: TypeAlias = "Callable[[str, str], Embedder]"
"""Folder or name of a model, and revision -> the model."""

_SAME_MODEL = 0.5
"""A model whose vector of a chunk is further than this cosine from the stored one did not make the snapshot."""

_LONGEST_NAME = 200
_SHOWN = 80

_EXTRA = 'pip install "rag-eval-action[embed]"'
_LIBRARY = f"install the model's library with: {_EXTRA}"

_OF_A_FOLDER = (
    "Either keep the query vectors beside the chunks: build the snapshot with --queries GOLDEN, or run "
    "`rageval snapshot add-queries SNAPSHOT --queries GOLDEN` (--from-record RECORD for a baseline's questions); or "
    f"{_LIBRARY}, and name the model with --model where it is not at hand under its own name."
)
_OF_A_STORE = (
    "A store keeps no query vectors. Either name the model that made its vectors, with --model or as ?model= in the "
    f"location, and {_LIBRARY}; or bring the vectors along with `rageval snapshot import … --queries GOLDEN "
    "--query-embeddings FILE`; or measure --retriever bm25, which needs none."
)


class QueryEncoder:
    """Texts -> vectors, as `core.model.snapshot.Encode`.

    Attributes:
        origin: where the vectors came from so far: `cached`, `model` or `mixed`.
        cost: what the model's service was paid so far, by name; empty when there is none.
        notices: what the model has to say about its vectors.
    """

    def __init__(self, snapshot: Snapshot, *, model_path: str, allow_model: bool, load: Load) -> None:
        self._snapshot = snapshot
        self._model_path = model_path
        self._allow_model = allow_model
        self._load = load
        self._model: Embedder | None = None
        self._embedded: dict[str, NDArray[np.float32]] = {}
        self._used_cache = False

    @property
    def origin(self) -> str:
        """Where the vectors came from so far."""
        if self._embedded:
            return "mixed" if self._used_cache else "model"
        return "cached"

    @property
    def cost(self) -> dict[str, float]:
        """Calls and tokens so far."""
        return {} if self._model is None else dict(self._model.cost)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a reader must know about the vectors."""
        if self._model is not None:
            return self._model.notices
        return self._unused() if self._used_cache else ()

    def _unused(self) -> tuple[Notice, ...]:
        """A model that was asked for by name and by which nothing was embedded; of a path only its end is told."""
        asked, made_by = Path(self._model_path).name, self._snapshot.manifest.model
        if not asked or asked == Path(made_by).name:
            return ()
        text = (
            f"the model {asked} was not used: all query vectors came with the snapshot, from {made_by or 'a model'}"
            f"{'' if made_by else ' that it does not name'}"
        )
        return (Notice(code="snapshot.model-unused", text=text),)

    @property
    def used(self) -> bool:
        """True once a retriever asked for a vector."""
        return bool(self._embedded) or self._used_cache

    def missing(self, texts: Sequence[str]) -> frozenset[str]:
        """The texts that have no vector yet and no model that is loaded already or was asked for by name."""
        if self._model is not None or self._model_path:
            return frozenset()
        known = self._snapshot.query_vectors
        return frozenset(text for text in texts if self._key(text) not in known)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension).

        Raises:
            CannotMeasureError: `snapshot.no-query-vectors` when some are neither cached nor computable.
            SnapshotError: `snapshot.dimension-mismatch`, `snapshot.not-finite` or `snapshot.model-mismatch` when the
                model does not fit the snapshot.
        """
        cached = self._snapshot.query_vectors
        keys = [self._key(text) for text in texts]
        missing = {
            key: text
            for key, text in zip(keys, texts, strict=True)
            if key not in cached and key not in self._embedded
        }
        if missing:
            self._embedded.update(zip(missing, self._embed(list(missing.values())), strict=True))
        self._used_cache |= any(key in cached for key in keys)
        found = [cached[key] if key in cached else self._embedded[key] for key in keys]
        if not found:
            return np.empty((0, self._snapshot.manifest.dimension), dtype=np.float32)
        return np.array(found, dtype=np.float32)

    def fresh(self, text: str) -> NDArray[np.float32] | None:
        """The vector of one text, embedded now by the model, for timing.

        None when it came with the snapshot, and when it would be paid for: a service is not asked twice, and its cache
        is no measure of it.
        """
        if self._model is None or self._model.cost or self._key(text) in self._snapshot.query_vectors:
            return None
        return self._model.encode([self._snapshot.manifest.query_prefix + text])

    def _key(self, text: str) -> str:
        about = self._snapshot.manifest
        return query_key(model=about.model, revision=about.revision, prefix=about.query_prefix, text=text)

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        model = self._loaded(texts)
        prefix = self._snapshot.manifest.query_prefix
        vectors = np.asarray(model.encode([prefix + text for text in texts]), dtype=np.float32)
        self._check(vectors, texts)
        return vectors

    def _loaded(self, texts: list[str]) -> Embedder:
        if self._model is None:
            self._model = self._open(texts)
            self._probe(self._model)
        return self._model

    def _open(self, texts: list[str]) -> Embedder:
        about = self._snapshot.manifest
        name = self._model_path or about.model
        if not self._allow_model or not name:
            raise self._nothing(texts, "no model may be used" if name else "the snapshot names no model")
        if not self._model_path and (len(name) > _LONGEST_NAME or not name.isprintable()):
            raise self._nothing(texts, "what the snapshot names as its model is no name")
        if not self._model_path and Path(name).exists():
            # The snapshot may come from a pull request, and a model folder may bring code.
            raise self._nothing(
                texts, "the snapshot names a folder as its model, and only --model may do that"
            )
        try:
            return self._load(name, "" if self._model_path else about.revision)
        except CannotMeasureError as error:
            told = error.message if _EXTRA in error.hint else f"{error.message} {error.hint}"
            raise self._nothing(texts, told.rstrip(" .")) from error

    def _nothing(self, texts: list[str], reason: str) -> CannotMeasureError:
        first = texts[0] if len(texts[0]) <= _SHOWN else texts[0][:_SHOWN] + "…"
        return CannotMeasureError(
            "snapshot.no-query-vectors",
            f"{plural(len(texts), 'query vector is', 'query vectors are')} neither in the snapshot nor computable, the "
            f'first for "{first}": {reason}.',
            hint=(_OF_A_STORE if self._snapshot.manifest.build_id.startswith(IMPORTED) else _OF_A_FOLDER),
            where=self._snapshot.path,
        )

    def _probe(self, model: Embedder) -> None:
        """Embed one chunk again: another model of the same dimension would rank at random without a word."""
        about = self._snapshot.manifest
        empty = set(self._snapshot.empty_rows)
        rows = (
            row for row, chunk in enumerate(self._snapshot.chunks) if row not in empty and chunk.text.strip()
        )
        row = next(rows, -1)
        if row < 0 or not self._snapshot.shards:
            return
        chunk = self._snapshot.chunks[row]
        made = np.asarray(model.encode([about.document_prefix + chunk.text]), dtype=np.float32)
        self._check(made, [chunk.text])
        stored = self._vector(row)
        cosine = float(made[0] @ stored / (np.linalg.norm(made[0]) * np.linalg.norm(stored) or 1.0))
        if cosine < _SAME_MODEL:
            raise SnapshotError(
                "snapshot.model-mismatch",
                f'the model does not make the vectors of this snapshot: for chunk "{chunk.id}" the cosine between the '
                f"vector it makes and the stored one is {cosine:.2f}.",
                hint=f'Give the model that built the snapshot ("{about.model}").',
                where=self._snapshot.path,
            )

    def _vector(self, row: int) -> NDArray[np.float32]:
        for shard in self._snapshot.shards:
            if row < len(shard):
                return np.asarray(shard[row], dtype=np.float32)
            row -= len(shard)
        raise IndexError(row)

    def _check(self, vectors: NDArray[np.float32], texts: list[str]) -> None:
        dimension = self._snapshot.manifest.dimension
        if vectors.ndim != 2 or vectors.shape[1] != dimension:
            width = vectors.shape[-1] if vectors.ndim else 0
            raise SnapshotError(
                "snapshot.dimension-mismatch",
                f"the model makes vectors of dimension {width}, the snapshot holds {dimension}.",
                hint=f'Use the model that built the snapshot ("{self._snapshot.manifest.model}").',
                where=self._snapshot.path,
            )
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise SnapshotError(
                "snapshot.not-finite",
                f'the model made NaN or infinity for "{texts[int(bad[0])][:_SHOWN]}".',
                where=self._snapshot.path,
            )


def query_encoder(
    snapshot: Snapshot, *, model_path: str = "", allow_model: bool = True, load: Load = load_model
) -> QueryEncoder:
    """An encoder for the queries of `snapshot`; no model is loaded before a vector is missing.

    Args:
        snapshot: its manifest names model, revision and query prefix; its cached vectors are used first.
        model_path: folder or name of the model, where the manifest's name does not lead to it.
        allow_model: False uses cached vectors only.
        load: loads the model.
    """
    return QueryEncoder(snapshot, model_path=model_path, allow_model=allow_model, load=load)
