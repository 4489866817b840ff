"""A progress bar where a person watches, and single lines on standard error for what keeps everybody waiting."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

from rageval_action.core.wording.escape import log_line

Item = TypeVar("Item")

SMALL = 20
"""Fewer steps than this are over before a bar helps."""


def track(items: Sequence[Item], label: str) -> Iterator[Item]:
    """The items, with a bar on standard error when that is a terminal."""
    if len(items) < SMALL or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as shown

    yield from shown(items, description=label, console=Console(stderr=True), transient=True)


def say(text: str) -> None:
    """One line on standard error, at once; a program's last words may be in it."""
    sys.stderr.write(log_line(f"rageval: {text}") + "\n")
    sys.stderr.flush()
