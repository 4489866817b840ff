"""Loads an embedding model (extra `[embed]`) and embeds texts with it, the same way every time."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rageval_action.errors import CannotMeasureError
from rageval_action.model_revision import model_revision
from rageval_action.world import REAL_ENVIRONMENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rageval_action.core.model.types import Notice

BATCH_SIZE = 32
"""Fixed: the size of a batch changes the last bits of a vector."""


class Embedder(Protocol):
    """Turns texts into vectors.

    Attributes:
        revision: names the weights, as far as they can be named.
        cost: calls and tokens so far, by name; empty when nobody is paid.
        notices: what the reader of a result must know about the vectors.
    """

    revision: str
    cost: dict[str, float]
    notices: tuple[Notice, ...]

    def count_cut(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than what the model reads; the rest of them is not in the vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension), as the model makes them; prefixes are the caller's."""
        ...


def model_name(given: str) -> str:
    """What a snapshot calls its model: a name as it is, a folder by its last parts, never a path of this machine.

    Given vectors may come without any name: then there is none, and not that of the folder one happens to be in.
    """
    path = Path(given)
    if not given or not path.is_dir():
        return given
    resolved = path.resolve()
    return f"{resolved.parent.name}/{resolved.name}"


def load_model(
    given: str,
    revision: str = "",
    batch_size: int = BATCH_SIZE,
    environ: Mapping[str, str] = REAL_ENVIRONMENT,
) -> Embedder:
    """Load a sentence-transformers model from a folder or by name, or a service as `embedding_api` names it.

    Loading by name asks the model hub unless `HF_HUB_OFFLINE` is set or the cache holds it. Code that comes with a
    model of the hub is not run; a folder may bring its own, so folders are loaded only when a person names them.

    Raises:
        CannotMeasureError: `snapshot.embed-extra-missing` or `snapshot.model-not-found`.
    """
    if ":" in given:
        from rageval_action.snapshots.cache_folder import cache_folder
        from rageval_action.snapshots.embedding_api import ApiEmbedder, is_api

        if is_api(given):
            return ApiEmbedder(given, cache_folder(environ) / "embeddings.sqlite", environ=environ)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        from sentence_transformers import SentenceTransformer

        model_logging = importlib.import_module("transformers.utils.logging")
    except ImportError as error:
        message = "texts must be embedded, and the library that does it is not installed."
        hint = 'Install it with: pip install "rag-eval-action[embed]".'
        raise CannotMeasureError("snapshot.embed-extra-missing", message, hint=hint) from error
    model_logging.disable_progress_bar()
    try:
        model = SentenceTransformer(given, revision=revision or None, device="cpu", trust_remote_code=False)
    except Exception as error:  # the library and the hub raise many kinds: missing, offline, malformed
        message = f'the model "{given}" cannot be loaded: {_first_line(error)}'
        hint = "Give a folder that holds the model, or fill the cache that HF_HOME names while online."
        raise CannotMeasureError("snapshot.model-not-found", message, hint=hint) from error
    return _SentenceTransformer(model, revision or model_revision(given, model), batch_size)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"


class _SentenceTransformer:
    """`Embedder` over a sentence-transformers model."""

    def __init__(self, model: Any, revision: str, batch_size: int) -> None:
        # A prompt in the model's own configuration would be put in front of our prefix.
        model.default_prompt_name = None
        self._model = model
        self._batch_size = batch_size
        self.revision = revision
        self.cost: dict[str, float] = {}
        self.notices: tuple[Notice, ...] = ()

    def count_cut(self, texts: Sequence[str]) -> int:
        most = int(getattr(self._model, "max_seq_length", None) or sys.maxsize)
        long = [text for text in texts if len(text) > most]
        if not long:
            return 0
        tokens = self._model.tokenizer(long, truncation=False, verbose=False)["input_ids"]
        return sum(len(one) > most for one in tokens)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = self._model.encode(
            list(texts), batch_size=self._batch_size, show_progress_bar=False, convert_to_numpy=True
        )
        return np.asarray(made, dtype=np.float32)
