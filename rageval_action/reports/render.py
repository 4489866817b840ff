"""A view rendered to Markdown. Text from outside is escaped here, at the border, by filters that templates must use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core import escape
from rageval_action.reports.view import Fact, QueryLine, ReportView

if TYPE_CHECKING:
    import jinja2

COMMENT_BYTES = 60_000
"""Most bytes of UTF-8 a comment may have: GitHub refuses 65,536 characters, and a caller adds a marker and links."""

MOST_ROWS = 256
"""Rows of one table when the first cut is made; each further cut halves them."""


class Links(Struct, frozen=True, kw_only=True):
    """Where the golden set can be seen; empty strings make plain text instead of links."""

    server_url: str = ""
    repository: str = ""
    sha: str = ""


def markdown(view: ReportView, links: Links | None = None) -> str:
    """The comparison as GitHub-flavoured Markdown, at most `COMMENT_BYTES` long, cut on row boundaries."""
    text = _render(view, links or Links())
    rows = MOST_ROWS
    while len(text.encode()) > COMMENT_BYTES and rows:
        rows //= 2
        text = _render(_shorter(view, rows), links or Links())
    return text


def _shorter(view: ReportView, rows: int) -> ReportView:
    """The view with at most `rows` rows a table; what is left out is counted."""
    return replace(
        view,
        lost=view.lost[:rows],
        lost_more=view.lost_more + len(view.lost[rows:]),
        gained=view.gained[:rows],
        gained_more=view.gained_more + len(view.gained[rows:]),
        caveats=_cut(view.caveats, rows, "more notes"),
        warnings=_cut(view.warnings, rows, "more notes"),
        measures=view.measures[: max(rows, 1)],
        slices=view.slices[:rows],
        small_slices=_cut_facts(view.small_slices, rows, "more slices"),
        gates=_cut_facts(view.gates, rows, "more gates"),
        changes=_cut_facts(view.changes, rows, "more changes"),
        latency=_cut_facts(view.latency, rows, "more stages"),
    )


def _cut(texts: tuple[str, ...], rows: int, what: str) -> tuple[str, ...]:
    left = len(texts) - rows
    return (*texts[:rows], f"{left} {what} are in the full report") if left > 0 else texts


def _cut_facts(facts: tuple[Fact, ...], rows: int, what: str) -> tuple[Fact, ...]:
    left = len(facts) - rows
    return (*facts[:rows], Fact("…", f"{left} {what} are in the full report")) if left > 0 else facts


def _render(view: ReportView, links: Links) -> str:
    text = _environment().get_template("comment.md.j2").render(view=view, links=links)
    return _tidy(text)


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rageval_action.reports", "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown, not HTML: every outside text goes through `cell`
        keep_trailing_newline=True,
    )
    environment.filters.update(cell=escape.markdown, cells=_cells, measure=_measure, query_link=_query_link)
    return environment


def _query_link(row: QueryLine, links: Links, path: str) -> str:
    """The query's id, linked to its line in the golden file where that can be seen."""
    label = escape.markdown(row.id, 120)
    if not row.line:
        return label
    url = escape.blob_url(links.server_url, links.repository, links.sha, path, row.line)
    return escape.markdown_link(label, url)


def _cells(values: Sequence[str]) -> str:
    return ", ".join(escape.markdown(value, 120) for value in values)


def _measure(name: str) -> str:
    """A measure in a code face; a name that is none (a document may be anybody's) is escaped."""
    known = re.fullmatch(r"[a-z_-]{1,30}(@[0-9]{1,9})?", name)
    return f"`{name}`" if known else escape.markdown_code(name)


def _tidy(text: str) -> str:
    """No more than one blank line in a row."""
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.rstrip()
        if bare or (lines and lines[-1]):
            lines.append(bare)
    return "\n".join(lines).strip("\n") + "\n"
