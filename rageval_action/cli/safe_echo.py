"""What commands print of texts that others wrote: ids, paths, a server's words."""

from __future__ import annotations

import click


def say(text: str, *, err: bool = False) -> None:
    """Print `text`; nothing in it moves the cursor, hides a word, or is taken for a workflow command."""
    from rageval_action.core.wording.escape import log_text

    click.echo(log_text(text), err=err)
