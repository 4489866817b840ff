"""The same view on a terminal: by rich where somebody watches, plain lines where nobody does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from rageval_action.core import escape
from rageval_action.reports.view import MeasureLine, QueryLine, ReportView

STYLES = {"CAUTION": "bold red", "WARNING": "bold yellow", "NOTE": "bold cyan", "TIP": "bold green"}


def show(view: ReportView, out: TextIO) -> None:
    """Print `view` to `out`."""
    if out.isatty():
        _rich(view, out)
    else:
        out.writelines(line + "\n" for line in plain(view))


def _measures(rows: Sequence[MeasureLine], *, sliced: bool) -> tuple[list[str], list[list[str]]]:
    compared = any(row.before for row in rows)
    head = (
        ["measure", "n", "base", "PR", "Δ", "95 % interval", "reading"]
        if compared
        else ["measure", "n", "score"]
    )
    body = []
    for row in rows:
        name = f"{row.slice} {row.measure}" if sliced else row.measure
        full = [name, row.n, row.before, row.after, row.delta, row.interval, row.reading]
        body.append(full if compared else [name, row.n, row.after])
    return head, body


def _queries(rows: Sequence[QueryLine]) -> tuple[list[str], list[list[str]]]:
    body = [
        [
            row.id,
            escape.cap(row.query, 60),
            row.move,
            row.cause,
            ", ".join(row.by[:2]),
        ]
        for row in rows
    ]
    return ["query", "text", "rank", "cause", "by"], body


def _tables(view: ReportView) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    if view.measures:
        yield "", *_measures(view.measures, sliced=False)
    if view.lost:
        yield "Lost or worse", *_queries(view.lost)
    if view.gained:
        yield "Gained or better", *_queries(view.gained)
    if view.gates:
        yield "Gates", ["result", "gate"], [[gate.name, gate.text] for gate in view.gates]
    if view.slices:
        yield "Slices", *_measures(view.slices, sliced=True)


def _tail(view: ReportView) -> Iterator[str]:
    if view.blast:
        yield view.blast
    if view.missed:
        yield view.missed
    for slice_ in view.small_slices:
        yield f"{slice_.name}: {slice_.text}"
    for change in view.changes:
        yield f"Changed: {change.name}: {change.text}"
    for stage in view.latency:
        yield f"Latency, {stage.name}: {stage.text}"
    yield view.acl
    if view.no_answer:
        yield view.no_answer
    for warning in view.warnings:
        yield f"Note: {warning}"
    if view.power:
        yield view.power
    yield view.footer


def plain(view: ReportView) -> Iterator[str]:
    """The report line by line, columns aligned, without any control character from outside."""
    yield escape.log_line(f"{view.title}. {view.sentence}")
    if view.overridden:
        yield escape.log_line(view.overridden)
    yield escape.log_line(view.baseline)
    for caveat in view.caveats:
        yield escape.log_line(f"Note: {caveat}")
    for title, head, body in _tables(view):
        yield ""
        if title:
            yield title
        yield from _aligned(head, body)
    yield ""
    for line in _tail(view):
        yield escape.log_line(line)


def _aligned(head: list[str], body: list[list[str]]) -> Iterator[str]:
    rows = [[escape.log_line(cell) for cell in row] for row in [head, *body]]
    widths = [max(_width(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def _width(text: str) -> int:
    """Columns on a terminal: wide East Asian characters take two."""
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _rich(view: ReportView, out: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=out)
    title = Text(view.title, style=STYLES[view.alert])
    console.print(title, Text(escape.visible(view.sentence)))
    if view.overridden:
        console.print(Text(escape.visible(view.overridden)))
    console.print(Text(escape.visible(view.baseline), style="dim"))
    for caveat in view.caveats:
        console.print(Text(f"Note: {escape.visible(caveat)}", style="yellow"))
    for name, head, body in _tables(view):
        table = Table(title=name or None, title_justify="left", title_style="bold", header_style="dim")
        for column in head:
            numeric = column in ("n", "base", "PR", "score", "Δ")
            table.add_column(column, justify="right" if numeric else "left")
        for row in body:
            table.add_row(*(Text(escape.visible(cell)) for cell in row))
        console.print(table)
    for line in _tail(view):
        console.print(Text(escape.visible(line)))
