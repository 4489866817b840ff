"""The same review on the terminal, for machines without a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_action.errors import RagevalError
from rageval_action.golden.review.session import Change

if TYPE_CHECKING:
    from collections.abc import Callable

    from rageval_action.golden.review.session import Detail, Session

HELP = "a accept · r reject · e edit · s skip · u undo · q quit"


def review(
    session: Session, *, key: Callable[[], str], line: Callable[[str], str], show: Callable[[str], None]
) -> None:
    """Go through the pending rows. `key` reads one key, `line` a line of text, `show` prints a line."""
    pending = [row.id for row in session.rows() if row.review == "pending"]
    at = 0
    while at < len(pending):
        detail = session.detail(pending[at])
        _present(detail, at + 1, len(pending), show)
        pressed = key().lower()
        if pressed == "q":
            break
        if pressed == "u" and at > 0:
            at -= 1
            session.undo(pending[at])
        elif pressed == "s" or (pressed in "are" and _decide(session, detail, pressed, line, show)):
            at += 1
    counts = session.counts()
    show(f"{counts['accepted']} accepted, {counts['rejected']} rejected, {counts['pending']} pending.")


def _decide(
    session: Session, detail: Detail, pressed: str, line: Callable[[str], str], show: Callable[[str], None]
) -> bool:
    """Apply a decision; False when it could not be, and the row is shown again."""
    change = Change(review="rejected" if pressed == "r" else "accepted")
    if pressed == "e":
        text = line("New question (empty: as it is): ")
        change = Change(review="accepted", query=text)
    try:
        session.decide(detail.id, change)
    except RagevalError as error:
        show(f"! {error}")
        return False
    return True


def _present(detail: Detail, number: int, total: int, show: Callable[[str], None]) -> None:
    show("")
    show(f"[{number}/{total}] {detail.query}")
    show("      " + " · ".join(text for text in (detail.type, detail.lang, *detail.tags) if text))
    for passage in detail.passages:
        show(f"  {passage.doc}" + ("" if passage.found else "  (not in the snapshot)"))
        text = "".join(f"»{piece.text}«" if piece.marked else piece.text for piece in passage.pieces)
        for row in text.splitlines():
            show(f"    {row}")
    if not detail.answerable:
        show("  nothing in the collection should answer this")
    show(HELP)
