from __future__ import annotations

import pytest

from rageval_action.retrievers import interface


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> str:
    """A dense retriever without FAISS, registered for one test."""
    monkeypatch.setitem(interface.RETRIEVERS, "exact", "tests.fakes.retrievers:ExactRetriever")
    return "exact"
