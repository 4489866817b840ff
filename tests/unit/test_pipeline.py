"""The pipeline's own decisions."""

from __future__ import annotations

import pytest

from rageval_action.config import load
from rageval_action.ranker import access_mode


@pytest.mark.parametrize(
    ("retriever", "access", "expected"),
    [
        ("dense", "auto", "enforce"),
        ("bm25", "auto", "enforce"),
        ({"name": "hybrid", "of": ["dense", "bm25"]}, "auto", "enforce"),
        ("http", "auto", "audit"),
        ("run-file", "auto", "audit"),
        ({"name": "hybrid", "of": ["dense", "http"]}, "auto", "audit"),
        ({"name": "rerank", "of": "pgvector"}, "auto", "audit"),
        ("http", "enforce", "enforce"),
        ("dense", "audit", "audit"),
    ],
)
def test_foreign_retrievers_are_audited_unless_told_otherwise(
    retriever: object, access: str, expected: str
) -> None:
    config = load({}, {}, {"retriever": retriever, "access": access})
    assert access_mode(config) == expected
