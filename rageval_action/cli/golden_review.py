"""`rageval golden review`: accept, edit or reject rows, on a page or on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_action.cli.golden_common import chunks_of
from rageval_action.cli.options import text_option
from rageval_action.cli.safe_echo import say
from rageval_action.cli.value_types import integer

if TYPE_CHECKING:
    from rageval_action.golden.review.session import Session


@click.command()
@click.argument("file", metavar="FILE")
@text_option("--snapshot", "DIR", "Index whose passages are shown beside the questions.")
@text_option("--by", "NAME", "Put into the rows you decide.", "reviewer")
@click.option("--port", type=integer(most=65_535), default=0, help="Of the page; default: any free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--terminal", is_flag=True, help="Review here instead of on a page.")
def review(file: str, snapshot: str, reviewer: str, port: int, *, no_browser: bool, terminal: bool) -> None:
    """Review a canonical golden set by keyboard, question beside passage.

    The page is served to this machine only, behind a token. Every decision is written to FILE at once, one line a
    row, so that it can be reviewed as a diff.
    """
    from rageval_action.golden.review.session import Session

    session = Session(Path(file), chunks_of(snapshot), reviewer)
    if terminal:
        from rageval_action.golden.review import terminal as text

        text.review(session, key=_key, line=lambda prompt: click.prompt(prompt, default=""), show=say)
        return
    _serve(session, port, no_browser=no_browser)


def _key() -> str:
    """One key.

    Raises:
        ConfigError: `review.no-terminal`.
    """
    from rageval_action.errors import ConfigError

    try:
        return click.getchar()
    except OSError as error:
        hint = "Leave --terminal out to review on a page."
        raise ConfigError(
            "review.no-terminal", "there is no terminal to read keys from.", hint=hint
        ) from error


def _serve(session: Session, port: int, *, no_browser: bool) -> None:
    import webbrowser

    from rageval_action.golden.review.server import ReviewServer

    server = ReviewServer(session, port)
    say(f"Review {session.path} at {server.url}")
    say("Ctrl-C ends it; every decision is in the file already.")
    if not no_browser:
        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        counts = session.counts()
        say(f"\n{counts['accepted']} accepted, {counts['rejected']} rejected, {counts['pending']} pending.")
    finally:
        server.server_close()
