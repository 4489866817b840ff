"""Where what was fetched, imported or embedded once is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rageval_action.world import REAL_ENVIRONMENT


def cache_folder(environ: Mapping[str, str] = REAL_ENVIRONMENT) -> Path:
    """`RAGEVAL_CACHE`, else `rageval/snapshots` in the user's cache folder."""
    own = environ.get("RAGEVAL_CACHE", "")
    if own:
        return Path(own)
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rageval" / "snapshots"
