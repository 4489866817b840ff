"""A view rendered to Markdown for pull request comments and job summaries, within their limits by construction."""

from __future__ import annotations

from collections.abc import Callable

from rageval_action.reports.links import Links
from rageval_action.reports.markup import OWN, Markdown, cell, check_template, environment
from rageval_action.reports.truncate import COMMENT_LADDER, SUMMARY_LADDER, Cut, cut
from rageval_action.reports.view import ReportView

__all__ = ["COMMENT_BYTES", "SUMMARY_BYTES", "Links", "markdown", "summary"]

COMMENT_BYTES = 60_000
"""Most bytes of UTF-8 a comment may have: GitHub refuses 65,536 characters, and a caller adds a marker and links."""

SUMMARY_BYTES = 1_040_000
"""Most bytes a job summary may have: GitHub drops a step's summary of more than 1 MiB whole."""

COMMENT, SUMMARY = "comment.md.j2", "summary.md.j2"

Render = Callable[[Cut], str]


def markdown(
    view: ReportView,
    links: Links | None = None,
    *,
    template: str = "",
    template_name: str = "",
    limit: int = COMMENT_BYTES,
) -> str:
    """The comparison as the comment of a pull request: GitHub-flavoured Markdown of at most `limit` bytes.

    Args:
        view: what to show.
        links: addresses; None makes plain text.
        template: source of a user's template that extends `comment.md.j2` block by block; it runs in a sandbox.
        template_name: its path, for messages.
        limit: bytes of UTF-8.

    Raises:
        ConfigError: `report.template` when the user's template cannot be used.
    """
    render = _renderer(view, links or Links(), COMMENT, template, template_name)
    text = _fitted(view, render, COMMENT_LADDER, limit)
    if not text:
        plain = _renderer(view, links or Links(), COMMENT, "", "")
        text = _fitted(view, plain, COMMENT_LADDER, limit)
    return text


def summary(view: ReportView, links: Links | None = None, *, limit: int = SUMMARY_BYTES) -> str:
    """The comparison as a job summary: every table in full, charts as Mermaid, at most `limit` bytes.

    Make the view with `most=view.ALL`, or the summary holds no more queries than the comment.
    """
    return _fitted(view, _renderer(view, links or Links(), SUMMARY, "", ""), SUMMARY_LADDER, limit)


def _fitted(view: ReportView, render: Render, ladder: tuple[Cut, ...], limit: int) -> str:
    """The richest rendering that fits; empty when not even the poorest does."""
    for rung in ladder:
        text = render(rung)
        size = len(text.encode())
        if size <= limit:
            return text
        if rung.scales:
            fewer = rung.scaled(view, limit / size)
            text = render(fewer)
            if len(text.encode()) <= limit:
                return text
    return ""


def _renderer(view: ReportView, links: Links, base: str, template: str, name: str) -> Render:
    import jinja2

    from rageval_action.errors import ConfigError
    from rageval_action.reports import charts

    if template:
        check_template(template, base, name)
    made = environment(template)
    where = (
        Markdown(f"[{cell(links.report_name)}]({links.report_url})")
        if links.report_url
        else Markdown(links.report_name)
    )

    def render(rung: Cut) -> str:
        shown, left = cut(view, rung)
        try:
            page = made.get_template(OWN if template else base)
            return _tidy(
                page.render(view=shown, left=left, links=links, where=where, charts=charts.mermaid(shown))
            )
        except jinja2.TemplateError as error:
            place = f"{name or 'template'}:{getattr(error, 'lineno', '') or ''}".rstrip(":")
            raise ConfigError(
                "report.template", f"{error}.", hint="See docs/reports.md.", where=place
            ) from error

    return render


def _tidy(text: str) -> str:
    """No more than one blank line in a row, none inside a table or an alert."""
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.rstrip()
        if bare or (lines and lines[-1]):
            lines.append(bare)
    return "\n".join(lines).strip("\n") + "\n"
