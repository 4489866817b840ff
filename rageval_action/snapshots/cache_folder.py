"""Where what was fetched, imported or embedded once is kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`RAGEVAL_CACHE`, else `rageval/snapshots` in the user's cache folder."""
    own = os.environ.get("RAGEVAL_CACHE", "")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rageval" / "snapshots"
