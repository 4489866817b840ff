"""The command `rageval`. Commands live one file each and are imported only when called."""

from __future__ import annotations

from rageval_action.cli.main import main

__all__ = ["main"]
