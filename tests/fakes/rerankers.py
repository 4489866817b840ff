"""Hosted rerankers that score by shared words and know their vendors' documented request fields, and no others."""

from __future__ import annotations

import re

import msgspec

from tests.fakes.server import FakeService, RefusedError, Request

KEY = "test-key"


class CohereRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /v2/rerank."""

    model: str
    query: str
    documents: list[str]
    top_n: int | None = None
    max_tokens_per_doc: int = 4096
    priority: int = 0


class VoyageRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /v1/rerank."""

    query: str
    documents: list[str]
    model: str
    top_k: int | None = None
    return_documents: bool = False
    truncation: bool = True


class JinaRequest(msgspec.Struct, forbid_unknown_fields=True):
    """POST /v1/rerank."""

    model: str
    query: str
    documents: list[str]
    top_n: int | None = None
    return_documents: bool = True


def relevance(query: str, text: str) -> float:
    """Share of the query's words that the text has."""
    asked = set(query.lower().split())
    return len(asked & set(text.lower().split())) / max(1, len(asked))


def _ranked(query: str, documents: list[str]) -> list[dict[str, object]]:
    if not documents or len(documents) > 1000:
        raise RefusedError(400, "between 1 and 1000 documents")
    scored = [{"index": at, "relevance_score": relevance(query, text)} for at, text in enumerate(documents)]
    return sorted(scored, key=lambda entry: -float(str(entry["relevance_score"])))


def cohere(request: Request, _: re.Match[str]) -> object:
    """Cohere v2."""
    request.bearer(KEY)
    asked = request.read(CohereRequest)
    ranked = _ranked(asked.query, asked.documents)
    return {"id": "1", "results": ranked, "meta": {"billed_units": {"search_units": 1}}}


def voyage(request: Request, _: re.Match[str]) -> object:
    """Voyage v1."""
    request.bearer(KEY)
    asked = request.read(VoyageRequest)
    ranked = _ranked(asked.query, asked.documents)
    return {"object": "list", "data": ranked, "model": asked.model, "usage": {"total_tokens": 7}}


def jina(request: Request, _: re.Match[str]) -> object:
    """Jina v1."""
    request.bearer(KEY)
    asked = request.read(JinaRequest)
    ranked = _ranked(asked.query, asked.documents)
    return {"model": asked.model, "results": ranked, "usage": {"total_tokens": 7}}


def service(vendor: str) -> FakeService:
    """One vendor's reranker."""
    path, handler = {
        "cohere": ("/v2/rerank", cohere),
        "voyage": ("/v1/rerank", voyage),
        "jina": ("/v1/rerank", jina),
    }[vendor]
    return FakeService({f"POST {path}": handler})
