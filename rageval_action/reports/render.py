"""A view rendered to Markdown. Text from outside is escaped here, at the border, by filters that templates must use."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rageval_action.core import escape
from rageval_action.reports.view import QueryLine, ReportView

COMMENT_BYTES = 60_000
"""Most bytes of UTF-8 a comment may have: GitHub refuses 65,536 characters, and a caller adds a marker and links."""


class Links(Struct, frozen=True, kw_only=True):
    """Where the golden set can be seen; empty strings make plain text instead of links."""

    server_url: str = ""
    repository: str = ""
    sha: str = ""


def markdown(view: ReportView, links: Links | None = None) -> str:
    """The comparison as GitHub-flavoured Markdown, at most `COMMENT_BYTES` long, cut on row boundaries."""
    text = _render(view, links or Links())
    kept = len(view.lost)
    while len(text.encode()) > COMMENT_BYTES and kept:
        kept //= 2
        text = _render(_shorter(view, kept), links or Links())
    return text


def _shorter(view: ReportView, kept: int) -> ReportView:
    """The view with fewer query rows, notes and slices, the counts of what is left out kept true."""
    from msgspec.structs import replace

    left = len(view.warnings) - kept
    notes = view.warnings[:kept] + ((f"{left} more notes are in the record",) if left > 0 else ())
    return replace(
        view,
        lost=view.lost[:kept],
        lost_more=view.lost_more + len(view.lost) - len(view.lost[:kept]),
        gained=view.gained[:kept],
        gained_more=view.gained_more + len(view.gained) - len(view.gained[:kept]),
        warnings=notes,
        slices=view.slices[: 10 * kept],
    )


def _render(view: ReportView, links: Links) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rageval_action.reports", "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown, not HTML: every outside text goes through `cell`
        trim_blocks=False,
        keep_trailing_newline=True,
    )

    def query_link(row: QueryLine) -> str:
        if not (links.repository and links.sha and row.line):
            return escape.markdown(row.id, 120)
        url = escape.blob_url(links.server_url, links.repository, links.sha, view.golden_path, row.line)
        return escape.markdown_link(row.id, url)

    def cells(values: Sequence[str]) -> str:
        return ", ".join(escape.markdown(value, 120) for value in values)

    environment.filters.update(cell=escape.markdown, cells=cells, query_link=query_link)
    text = environment.get_template("comment.md.j2").render(view=view)
    return _tidy(text)


def _tidy(text: str) -> str:
    """No more than one blank line in a row."""
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.rstrip()
        if bare or (lines and lines[-1]):
            lines.append(bare)
    return "\n".join(lines).strip("\n") + "\n"
