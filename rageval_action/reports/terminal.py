"""The same view on a terminal: by rich where somebody watches, plain lines where nobody does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from rageval_action.core.wording import columns, escape, lists
from rageval_action.reports.view import ReportView
from rageval_action.reports.view_types import MeasureLine, QueryLine

if TYPE_CHECKING:
    from rich.table import Table as RichTable

STYLES = {"CAUTION": "bold red", "WARNING": "bold yellow", "NOTE": "bold cyan", "TIP": "bold green"}
TONES = {"worse": "red", "better": "green", "unclear": "yellow"}
NUMERIC = ("n", "base", "PR", "score", "change", "queries", "rank")

MOST_GAINED = 5
MOST_SMALL = 8
QUERY, NAME = 48, 28
"""Columns that a query's text and an id may take, so that a row stays on one line of a usual terminal."""


class Table(Struct, frozen=True):
    """One table: `tones[i]` colours the last column of row i where colours are shown."""

    title: str
    head: list[str]
    body: list[list[str]]
    tones: list[str] = []


def show(view: ReportView, out: TextIO) -> None:
    """Print `view` to `out`."""
    if out.isatty():
        _rich(view, out)
    else:
        out.writelines(line + "\n" for line in plain(view))


def _head(view: ReportView) -> Iterator[str]:
    """What stands above the tables, below the title."""
    for reason in view.also:
        yield f"  - {reason}"
    if view.hardest:
        yield view.hardest
    if view.overridden:
        yield view.overridden
    base = f"{view.baseline_sha[:10]} (base) is " if view.baseline_sha and view.compared else ""
    yield f"{'Baseline: ' if view.compared else ''}{base}{view.baseline}"
    for change in view.changed:
        yield f"Changed: {change.name}: {change.before} → {change.after}"
    if view.compared and view.unchanged:
        yield f"{'Unchanged' if view.changed else 'Nothing in the set-up changed'}: {', '.join(view.unchanged)}"
    for caveat in view.caveats:
        yield f"Note: {caveat}"


def _measures(title: str, rows: Sequence[MeasureLine], *, sliced: bool, compared: bool) -> Table:
    head = ["slice" if sliced else "measure", "n"]
    head += ["base", "PR", "change", "95 % interval", "worse/better", "reading"] if compared else ["score"]
    body = []
    for row in rows:
        cells = [escape.cap(row.slice, NAME) if sliced else row.measure, row.n]
        note = f" ({row.note})" if row.note else ""
        cells += (
            [row.before, row.after, row.delta, row.interval, _short(row.counts), row.reading + note]
            if compared
            else [row.after]
        )
        body.append(cells)
    return Table(title, head, body, [row.tone for row in rows])


def _short(counts: str) -> str:
    """`24 worse, 10 better` -> `24/10`; what is neither stays in words."""
    worse, found, better = counts.partition(" worse, ")
    return f"{worse}/{better.removesuffix(' better')}" if found else counts if "," in counts else "–"


def _queries(title: str, rows: Sequence[QueryLine], *, up: bool) -> Table:
    was = "was " if up else ""
    body = [
        [
            escape.cap(row.id, NAME),
            escape.cap(row.query, QUERY),
            escape.cap(row.item, NAME),
            row.move or "–",
            _why(row, was),
        ]
        for row in rows
    ]
    return Table(title, ["query", "text", "should find", "rank", "why it was missing" if up else "why"], body)


def _why(row: QueryLine, was: str) -> str:
    by = f" {row.link} {escape.cap(row.by[0], NAME)}" if row.by else ""
    return f"{was}{row.cause}{by}" if row.cause else "–"


def _tables(view: ReportView) -> Iterator[Table]:
    if view.measures:
        yield _measures("", view.measures, sliced=False, compared=view.compared)
    if view.lost:
        yield _queries(_title("Lost or worse", view.lost_total, len(view.lost)), view.lost, up=False)
    if view.gained:
        gained = view.gained[:MOST_GAINED]
        yield _queries(_title("Gained or better", view.gained_total, len(gained)), gained, up=True)
    if view.slices:
        yield _measures(f"{view.headline} by slice", view.slices, sliced=True, compared=True)
    if view.gates:
        yield Table("Gates", ["result", "gate"], [[gate.name, gate.text] for gate in view.gates])


def _title(words: str, total: int, shown: int) -> str:
    return f"{words}: {lists.queries(total)}" + (f", the first {shown}" if shown < total else "")


def _tail(view: ReportView) -> Iterator[str]:
    if view.blast:
        yield f"{view.blast} {view.causes}".strip()
    if view.missed:
        found = lists.plural(len(view.missed), "query finds", "queries find")
        yield f"{found} nothing relevant in the top {view.k} on either side: {lists.listed(list(view.missed), 8)}."
    yield from _small(view)
    for stage in view.latency:
        before = (
            f"{stage.before_p50} → " if stage.before_p50 else "",
            f"{stage.before_p95} → " if stage.before_p95 else "",
        )
        yield f"Latency, {stage.stage}: p50 {before[0]}{stage.p50}, p95 {before[1]}{stage.p95} ({stage.n} timed)."
    if view.units:
        scores = (
            f"{row.measure} {f'{row.before} → ' if row.before else ''}{row.after}" for row in view.units
        )
        yield f"By {view.units[0].unit} instead (no gate looks at it): {', '.join(scores)}"
    yield view.acl
    if view.no_answer:
        yield view.no_answer
    for warning in view.warnings:
        yield f"Note: {warning}"
    if view.power:
        yield view.power
    yield f"{view.footer} · verdict {view.verdict}, exit code {view.exit_code}"


def _small(view: ReportView) -> Iterator[str]:
    """Slices too small for a percentage on one line: those with changes by name, the others counted."""
    moved = [row for row in view.small_slices if row.worse or row.better]
    if not view.small_slices:
        return
    changed = [f"{row.name} {row.worse} worse, {row.better} better of {row.n}" for row in moved[:MOST_SMALL]]
    left = len(view.small_slices) - len(changed)
    rest = f"{left} more" if left and changed else f"{left} unchanged" if left else ""
    yield f"Slices of fewer than 20 queries: {'; '.join([*changed, rest] if rest else changed)}."


def plain(view: ReportView) -> Iterator[str]:
    """The report line by line, columns aligned, without any control character from outside."""
    yield escape.log_line(f"{view.title}. {view.sentence}")
    yield from (indented(line) for line in _head(view))
    for table in _tables(view):
        yield ""
        if table.title:
            yield escape.log_line(table.title)
        yield from aligned(table)
    yield ""
    for line in _tail(view):
        yield escape.log_line(line)


def indented(line: str) -> str:
    """A line made safe, its own indentation kept."""
    bare = line.lstrip(" ")
    return " " * (len(line) - len(bare)) + escape.log_line(bare)


def aligned(table: Table) -> Iterator[str]:
    """The rows of a table with their columns in line, indented."""
    rows = [[escape.log_line(cell) for cell in row] for row in [table.head, *table.body]]
    right = {at for at, name in enumerate(table.head) if name in NUMERIC}
    for line in columns.in_line(rows, right=right):
        yield f"  {line}"


def on_screen(table: Table) -> RichTable:
    """A table as rich draws it; nothing from outside is markup in it."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(
        title=Text(escape.visible(table.title)) if table.title else None,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in table.head:
        number = name in NUMERIC
        shown.add_column(
            Text(escape.visible(name)), justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    for place, row in enumerate(table.body):
        tone = TONES.get(table.tones[place], "") if table.tones else ""
        cells = [Text(escape.visible(cell)) for cell in row[:-1]]
        shown.add_row(*cells, Text(escape.visible(row[-1]), style=tone))
    return shown


def _rich(view: ReportView, out: TextIO) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out)
    console.print(
        Text(escape.visible(f"{view.title}."), style=STYLES[view.alert]), Text(escape.visible(view.sentence))
    )
    for line in _head(view):
        console.print(Text(indented(line), style="" if line.startswith("  -") else "dim"))
    for table in _tables(view):
        console.print(on_screen(table))
    for line in _tail(view):
        console.print(Text(escape.visible(line)))
