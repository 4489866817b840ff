"""What commands print of texts that others wrote: ids, paths, a server's words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rageval_action.core.model.types import Notice


def say(text: str, *, err: bool = False) -> None:
    """Print `text`; nothing in it moves the cursor, hides a word, or is taken for a workflow command."""
    from rageval_action.core.wording.escape import log_text

    click.echo(log_text(text), err=err)


def say_notices(notices: Iterable[Notice]) -> None:
    """Print each notice with its place and code to standard error."""
    for notice in notices:
        place = f"{notice.where}: " if notice.where else ""
        say(f"note: {place}{notice.text} [{notice.code}]", err=True)
