"""Where the real corpora lie, when they lie beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared(name: str) -> Path:
    """The folder or file `name` of the shared data; skips the calling test, by name, where it is absent."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"shared data not beside this checkout: {name}")
    return path
