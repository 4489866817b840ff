"""What a check run shows: a title, a summary, and remarks on lines of the golden set. Sending it is not done here."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rageval_action.core.wording import escape
from rageval_action.core.wording.limits import TITLE_CHARACTERS
from rageval_action.reports.comment_and_summary import comment
from rageval_action.reports.links import Links
from rageval_action.reports.view import ReportView
from rageval_action.reports.view_types import QueryLine

MESSAGE = 2000
"""Most characters of a remark."""


class Remark(Struct, frozen=True, kw_only=True):
    """A remark on a line of the golden set; plain text, `line` from 1. `level` is GitHub's word."""

    path: str
    line: int
    level: Literal["notice", "warning", "failure"]
    title: str
    message: str


class CheckText(Struct, frozen=True, kw_only=True):
    """What a check run shows. `summary` is Markdown; `title` and the remarks are plain text."""

    title: str
    summary: str
    remarks: tuple[Remark, ...]


def check(view: ReportView, links: Links | None = None, *, most: int = 500) -> CheckText:
    """The view as a check run.

    Args:
        view: made with as many queries as there should be remarks.
        links: addresses for the summary.
        most: remarks; the worst come first.
    """
    rows = [row for row in view.lost if row.line > 0 and view.golden_path][:most]
    return CheckText(
        title=escape.cap(escape.visible(f"{view.title}. {view.sentence}"), TITLE_CHARACTERS),
        summary=comment(view, links),
        remarks=tuple(_remark(row, view) for row in rows),
    )


def _remark(row: QueryLine, view: ReportView) -> Remark:
    what = {
        "lost": f"lost its last relevant result in the top {view.k}",
        "worse": f"finds less in the top {view.k}",
    }[row.change]
    by = f" {row.link} {', '.join(row.by[:3])}" if row.by else ""
    item = f"{row.item}: rank {row.move}" if row.item and row.move else ""
    cause = f"{row.cause}{by}: {row.explanation}" if row.cause else ""
    message = "\n".join(escape.visible(line) for line in (row.query, item, cause) if line)
    return Remark(
        path=view.golden_path,
        line=row.line,
        level="warning",
        title=escape.cap(escape.visible(f"{row.id} {what}"), TITLE_CHARACTERS),
        message=escape.cap(message, MESSAGE),
    )
