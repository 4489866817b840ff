"""The comment of a pull request and the job summary: Markdown within GitHub's limits by construction."""

from __future__ import annotations

from rageval_action.core.wording.limits import COMMENT_BYTES, SUMMARY_BYTES
from rageval_action.reports.links import Links
from rageval_action.reports.markdown_templates import Markdown, cell, environment
from rageval_action.reports.mermaid_charts import mermaid
from rageval_action.reports.truncate import COMMENT_LADDER, SUMMARY_LADDER, Cut, cut
from rageval_action.reports.view import ReportView


def comment(view: ReportView, links: Links | None = None, *, limit: int = COMMENT_BYTES) -> str:
    """The comparison as the comment of a pull request: GitHub-flavoured Markdown of at most `limit` bytes.

    `links` are addresses; None makes plain text.
    """
    return _fitted("comment.md.j2", view, links or Links(), COMMENT_LADDER, limit)


def summary(view: ReportView, links: Links | None = None, *, limit: int = SUMMARY_BYTES) -> str:
    """The comparison as a job summary: every table in full, charts as Mermaid, at most `limit` bytes.

    Make the view with `most=view.ALL`, or the summary holds no more queries than the comment.
    """
    return _fitted("summary.md.j2", view, links or Links(), SUMMARY_LADDER, limit)


def _fitted(name: str, view: ReportView, links: Links, ladder: tuple[Cut, ...], limit: int) -> str:
    """The richest rendering of a template that fits; empty when not even the poorest does."""
    for rung in ladder:
        text = _rendered(name, view, links, rung)
        size = len(text.encode())
        if size <= limit:
            return text
        if rung.scales:
            text = _rendered(name, view, links, rung.scaled(view, limit / size))
            if len(text.encode()) <= limit:
                return text
    return ""


def _rendered(name: str, view: ReportView, links: Links, rung: Cut) -> str:
    report = Markdown(f"[{cell(links.report_name)}]({links.report_url})")
    where = report if links.report_url else Markdown(links.report_name)
    shown, left = cut(view, rung)
    page = environment().get_template(name)
    return _tidy(page.render(view=shown, left=left, links=links, where=where, charts=mermaid(shown)))


def _tidy(text: str) -> str:
    """No more than one blank line in a row, none inside a table or an alert."""
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.rstrip()
        if bare or (lines and lines[-1]):
            lines.append(bare)
    return "\n".join(lines).strip("\n") + "\n"
