"""What scores a (query, text) pair: local cross-encoders and hosted rerankers behind one call."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from rageval_action.errors import CannotMeasureError, ConfigError
from rageval_action.model_revision import model_revision
from rageval_action.retrievers.files import refuse_pointers
from rageval_action.retrievers.options import Options
from rageval_action.transport import Client, TransportError

BATCH = 16


class Scorer(Protocol):
    """Scores texts against one query; larger is better.

    Attributes:
        cost: what was used so far, by name (`rerank_calls`, `rerank_tokens`, `rerank_search_units`).
        revision: names the weights, as far as they can be named.
    """

    cost: dict[str, float]
    revision: str

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, in the order given."""
        ...


class SentenceTransformersScorer:
    """`sentence_transformers.CrossEncoder` on the CPU; the model is a name or a folder."""

    def __init__(self, model: str, max_length: int) -> None:
        try:
            from sentence_transformers import CrossEncoder

            model_logging = importlib.import_module("transformers.utils.logging")
        except ImportError:
            raise _missing("sentence-transformers", "embed") from None
        model_logging.disable_progress_bar()
        try:
            self._model: Any = CrossEncoder(model, device="cpu", max_length=max_length)
        except Exception as error:
            raise _not_loaded(model, error) from error
        self.cost: dict[str, float] = {}
        self.revision = model_revision(model, self._model if hasattr(self._model, "modules") else None)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """What the model predicts, by its own activation; the batch size is fixed, since it moves the last digits."""
        pairs = [(query, text) for text in texts]
        values = self._model.predict(pairs, batch_size=BATCH, show_progress_bar=False)
        return [float(value) for value in values]


class OnnxScorer:
    """A cross-encoder as `model.onnx` beside its `tokenizer.json`, run by onnxruntime: no torch."""

    def __init__(self, folder: str, max_length: int, threads: int) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError:
            raise _missing("onnxruntime and tokenizers", "onnx") from None
        model, tokenizer = Path(folder) / "model.onnx", Path(folder) / "tokenizer.json"
        if not model.is_file() or not tokenizer.is_file():
            raise ConfigError(
                "config.no-model", "the folder needs model.onnx and tokenizer.json.", where=str(folder)
            )
        refuse_pointers([model, tokenizer], "the model")
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(model), settings, providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        except Exception as error:
            raise _not_loaded(folder, error) from error
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._tokenizer.enable_truncation(max_length, strategy="only_second")
        self._tokenizer.enable_padding()
        self.cost: dict[str, float] = {}
        self.revision = model_revision(folder)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """The model's logit for each pair (a second output column is read as the positive class)."""
        import numpy as np

        scores: list[float] = []
        for start in range(0, len(texts), BATCH):
            encoded = self._tokenizer.encode_batch([(query, text) for text in texts[start : start + BATCH]])
            fed = {
                "input_ids": np.array([entry.ids for entry in encoded], dtype=np.int64),
                "attention_mask": np.array([entry.attention_mask for entry in encoded], dtype=np.int64),
                "token_type_ids": np.array([entry.type_ids for entry in encoded], dtype=np.int64),
            }
            logits = self._session.run(None, {name: fed[name] for name in self._inputs})[0]
            scores.extend(float(row) for row in logits.reshape(len(encoded), -1)[:, -1])
        return scores


class HostedScorer:
    """A reranking API. What Cohere's v2, Voyage's and Jina's differ in stands in `_HOSTED`."""

    def __init__(self, service: str, model: str, client: Client) -> None:
        self._path, self._list, self._usage = _HOSTED[service][1:]
        self._model = model
        self._client = client
        self.cost: dict[str, float] = {"rerank_calls": 0.0}
        self.revision = ""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """The service's relevance scores.

        Raises:
            TransportError: no usable answer, or one that does not score every text once.
        """
        answer = self._client.request(
            "POST", self._path, {"model": self._model, "query": query, "documents": list(texts)}
        )
        self.cost["rerank_calls"] += 1
        for name, read in self._usage.items():
            self.cost[name] = self.cost.get(name, 0.0) + read(answer)
        return _by_index(answer, self._list, len(texts))


def _not_loaded(model: str, error: Exception) -> CannotMeasureError:
    """Damaged weights end in whatever the library met first: an error of its own, a KeyError, a RuntimeError."""
    return CannotMeasureError(
        "rerank.model-not-loaded",
        f"the reranker {model} could not be loaded ({type(error).__name__}).",
        hint="Give a folder that holds it undamaged, or a name that can be reached from here.",
    )


def _by_index(answer: Any, name: str, count: int) -> list[float]:
    """The scores in the order of the texts that were sent."""
    scores = [math.nan] * count
    try:
        found = {int(entry["index"]): float(entry["relevance_score"]) for entry in answer[name]}
    except (KeyError, TypeError, ValueError):
        raise TransportError("rerank.bad-answer", "the reranker's answer has another shape.") from None
    for at, score in found.items():
        if 0 <= at < count:
            scores[at] = score
    if len(found) != count or not all(math.isfinite(score) for score in scores):
        raise TransportError("rerank.bad-answer", "the reranker did not score every text once.")
    return scores


def _deep(*names: str) -> Callable[[Any], float]:
    def read(answer: Any) -> float:
        for name in names:
            answer = answer.get(name, {}) if isinstance(answer, dict) else {}
        return float(answer) if isinstance(answer, (int, float)) else 0.0

    return read


_HOSTED: dict[str, tuple[str, str, str, dict[str, Callable[[Any], float]]]] = {
    "cohere": (
        "https://api.cohere.com", "/v2/rerank", "results",
        {"rerank_search_units": _deep("meta", "billed_units", "search_units")},
    ),
    "voyage": (
        "https://api.voyageai.com", "/v1/rerank", "data",
        {"rerank_tokens": _deep("usage", "total_tokens")},
    ),
    "jina": (
        "https://api.jina.ai", "/v1/rerank", "results",
        {"rerank_tokens": _deep("usage", "total_tokens")},
    ),
}  # fmt: skip
"""Service -> default address, path, name of the answer's list, usage counters (the API references)."""

BACKENDS = ("sentence-transformers", "onnx", *_HOSTED)


def scorer(options: Options, threads: int) -> Scorer:
    """The scorer that the options `backend`, `model`, `max_length`, `url`, `api_key_env` … ask for."""
    backend = options.text("backend", "sentence-transformers", choices=BACKENDS)
    model = options.text("model")
    if backend in _HOSTED:
        url = options.text("url", _HOSTED[backend][0])
        key = options.key("api_key_env", f"{backend.upper()}_API_KEY")
        client = Client(
            url,
            {"Authorization": f"Bearer {key}"},
            timeout_s=options.number("timeout_s", 30.0, least=0.01),
            retries=options.integer("retries", 3, most=20),
        )
        return HostedScorer(backend, model, client)
    length = options.integer("max_length", 512, least=8, most=65536)
    if backend == "onnx":
        return OnnxScorer(model, length, threads)
    return SentenceTransformersScorer(model, length)


def _missing(library: str, extra: str) -> ConfigError:
    return ConfigError(
        "config.missing-extra",
        f"this reranker needs {library}, which is not installed.",
        hint=f'Install it: pip install "rag-eval-action[{extra}]".',
    )
