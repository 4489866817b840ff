"""Embedding services that know their vendors' documented request fields, and no others.

A text's vector counts its words, hashed; the role moves it a little, so that a role that is lost shows.
"""

from __future__ import annotations

import hashlib
import re

import msgspec
import numpy as np

from tests.fakes.server import FakeService, RefusedError, Request

KEY = "test-key"
DIMENSION = 16


class OpenaiRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /v1/embeddings."""

    model: str
    input: list[str]
    encoding_format: str = "float"
    dimensions: int | None = None
    user: str | None = None


class VoyageRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /v1/embeddings."""

    model: str
    input: list[str]
    input_type: str | None = None
    truncation: bool = True
    output_dimension: int | None = None


class CohereRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /v2/embed."""

    model: str
    texts: list[str]
    input_type: str
    embedding_types: list[str]
    truncate: str = "END"


def embed(text: str, role: str = "") -> list[float]:
    """Word counts by hash."""
    made = np.full(DIMENSION, 0.01)
    for word in text.lower().split():
        made[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSION] += 1
    made[0] += {"query": 0.5, "search_query": 0.5}.get(role, 0.0)
    return [float(value) for value in made / np.linalg.norm(made)]


def _checked(texts: list[str], most: int) -> list[str]:
    if not 1 <= len(texts) <= most:
        raise RefusedError(400, f"between 1 and {most} texts")
    if not all(texts):
        raise RefusedError(400, "an input is empty")
    return texts


def openai(request: Request, _: re.Match[str]) -> object:
    """OpenAI; at most 2,048 inputs; items may come in any order."""
    request.bearer(KEY)
    asked = request.read(OpenaiRequest)
    data = [
        {"object": "embedding", "index": at, "embedding": embed(text)}
        for at, text in enumerate(_checked(asked.input, 2048))
    ]
    usage = {"prompt_tokens": 3, "total_tokens": 3 * len(data)}
    return {"object": "list", "data": data[::-1], "model": asked.model, "usage": usage}


def voyage(request: Request, _: re.Match[str]) -> object:
    """Voyage; at most 1,000 inputs."""
    request.bearer(KEY)
    asked = request.read(VoyageRequest)
    if asked.input_type not in {None, "query", "document"}:
        raise RefusedError(400, "input_type")
    data = [
        {"object": "embedding", "index": at, "embedding": embed(text, asked.input_type or "")}
        for at, text in enumerate(_checked(asked.input, 1000))
    ]
    return {"object": "list", "data": data, "model": asked.model, "usage": {"total_tokens": 3 * len(data)}}


def cohere(request: Request, _: re.Match[str]) -> object:
    """Cohere v2; at most 96 texts."""
    request.bearer(KEY)
    asked = request.read(CohereRequest)
    if asked.input_type not in {"search_query", "search_document"} or asked.embedding_types != ["float"]:
        raise RefusedError(400, "input_type")
    vectors = [embed(text, asked.input_type) for text in _checked(asked.texts, 96)]
    meta = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 3 * len(vectors)}}
    return {"id": "1", "embeddings": {"float": vectors}, "texts": asked.texts, "meta": meta}


def service(vendor: str) -> FakeService:
    """One vendor's embeddings."""
    path, handler = {
        "openai": ("/v1/embeddings", openai),
        "voyage": ("/v1/embeddings", voyage),
        "cohere": ("/v2/embed", cohere),
    }[vendor]
    return FakeService({f"POST {path}": handler})


def base(vendor: str, found: FakeService) -> str:
    """The address as `VENDOR_BASE_URL` has it."""
    return f"{found.url}/{'v2' if vendor == 'cohere' else 'v1'}"
