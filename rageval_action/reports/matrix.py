"""The matrix as people read it: a table on a terminal, in Markdown, and as one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TextIO

from rageval_action.core.measuring.measures import more_is_better
from rageval_action.core.series.matrix import Against, Configuration, Matrix, Measured, NotRun
from rageval_action.core.wording import columns, escape, lists, numbers
from rageval_action.reports.terminal import Table, on_screen

NOT_RUN, NOT_TIMED = "not run", "not timed"
STAGES = ("embed", "retrieve", "rerank", "total")


def head(matrix: Matrix) -> list[str]:
    """The column names."""
    compared = [f"Δ {measure}" for measure in matrix.measures[:1]]
    return ["configuration", *matrix.measures, *compared, _counted(matrix), "p50/p95 ms", "cost", "failed"]


def body(matrix: Matrix) -> list[list[str]]:
    """A row a configuration. What did not happen is a word, never a number."""
    return [_row(matrix, row, is_first=at == 0) for at, row in enumerate(matrix.configurations)]


def notes(matrix: Matrix, quote: Callable[[str], str] = str) -> list[str]:
    """What stands under the table; `quote` is put around text that is not ours."""
    first = quote(matrix.configurations[0].name) if matrix.configurations else ""
    main = matrix.measures[0] if matrix.measures else ""
    compared = sum(main in row.against for row in matrix.configurations)
    judged = (
        f"{matrix.queries} answerable queries, judged by {matrix.unit}; 95 % intervals by bootstrap. Δ and "
        f"{_counted(matrix)} are against {first}; p is adjusted for {lists.plural(compared, 'comparison')}."
    )
    timed = (
        f"Times are per query, by stage ({', '.join(STAGES)}), after a warm-up, on one machine; a stage that a "
        "configuration does not have is left out."
    )
    lines = [judged, timed]
    for row in matrix.configurations:
        reasons = sorted({score.reason for score in row.scores.values() if isinstance(score, NotRun)})
        if reasons:
            lines.append(f"{quote(row.name)}: {NOT_RUN}: {quote('; '.join(reasons))}")
    return [*lines, *(f"Note: {quote(warning.text)}" for warning in matrix.warnings)]


def _counted(matrix: Matrix) -> str:
    """What the queries are called whose score is above and below the first configuration's."""
    return "won/lost" if all(map(more_is_better, matrix.measures[:1])) else "higher/lower"


def _row(matrix: Matrix, row: Configuration, *, is_first: bool) -> list[str]:
    scores = [_score(row, measure) for measure in matrix.measures]
    main = matrix.measures[0] if matrix.measures else ""
    against = row.against.get(main)
    if is_first:
        difference, counts = "the first", ""
    elif against is None:
        difference, counts = NOT_RUN, NOT_RUN
    else:
        difference, counts = _difference(against), f"{against.better}/{against.worse}"
    failed = NOT_RUN if not row.queries else str(row.errors)
    return [row.name, *scores, difference, counts, _latency(row), _cost(row), failed]


def _score(row: Configuration, measure: str) -> str:
    score = row.scores[measure]
    if not isinstance(score, Measured):
        return NOT_RUN
    return f"{numbers.score(score.mean)} [{numbers.score(score.ci[0])}, {numbers.score(score.ci[1])}]"


def _difference(against: Against) -> str:
    p = "p < 0.001" if against.p_adjusted < 0.001 else f"p = {numbers.fixed(against.p_adjusted)}"
    return f"{numbers.delta(against.delta)} {numbers.interval(*against.ci)}, {p}"


def _latency(row: Configuration) -> str:
    if not row.queries:
        return NOT_RUN
    timed = [
        f"{stage} {numbers.fixed(row.latency[stage].p50, 1)}/{numbers.fixed(row.latency[stage].p95, 1)}"
        for stage in STAGES
        if stage in row.latency
    ]
    return ", ".join(timed) or NOT_TIMED


def _cost(row: Configuration) -> str:
    if not row.queries:
        return NOT_RUN
    return ", ".join(f"{name} {amount:g}" for name, amount in sorted(row.cost.items())) or "none"


def show(matrix: Matrix, out: TextIO) -> None:
    """Print the matrix: by rich on a terminal, aligned plain text elsewhere."""
    if out.isatty():
        from rich.console import Console
        from rich.text import Text

        console = Console(file=out)
        console.print(on_screen(Table("", head(matrix), body(matrix))))
        for line in notes(matrix):
            console.print(Text(escape.visible(line)))
        return
    rows = [[escape.log_line(cell) for cell in row] for row in (head(matrix), *body(matrix))]
    out.writelines(line + "\n" for line in columns.in_line(rows))
    for line in notes(matrix):
        out.write(escape.log_line(line) + "\n")


def markdown(matrix: Matrix) -> str:
    """The matrix as a Markdown table with notes; text that is not ours cannot become markup or call anybody."""
    from rageval_action.reports.markdown_templates import ours

    names = [escape.markdown(name) for name in head(matrix)]
    rows = [
        names,
        ["---"] * len(names),
        *([escape.markdown(row[0]), *map(ours, row[1:])] for row in body(matrix)),
    ]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return table + "\n\n" + "\n".join(f"- {line}" for line in notes(matrix, escape.markdown)) + "\n"


def page(matrix: Matrix) -> str:
    """One HTML page that needs nothing from anywhere."""
    cells = "".join(f"<th scope=col>{escape.html(name)}</th>" for name in head(matrix))
    rows = "".join(_html_row(row) for row in body(matrix))
    items = "".join(f"<li>{escape.html(line)}</li>" for line in notes(matrix))
    title = escape.html(f"Retrieval matrix over {matrix.golden}")
    return (
        f'<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
        f"<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style><main><h1>{title}</h1><div class=wide><table>"
        f"<thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table></div><ul>{items}</ul></main></html>\n"
    )


def _html_row(row: Sequence[str]) -> str:
    first, *rest = (escape.html(cell) for cell in row)
    marked = "".join(
        f"<td class=none>{cell}</td>" if cell == NOT_RUN else f"<td>{cell}</td>" for cell in rest
    )
    return f"<tr><th scope=row>{first}</th>{marked}</tr>"


_STYLE = (
    ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}"
    "main{max-width:110rem;margin:2rem auto;padding:0 1rem}.wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.5rem .75rem;text-align:left;border-bottom:1px solid #8884;"
    "vertical-align:top;min-width:5rem}th{white-space:nowrap}.none{opacity:.7;font-style:italic}"
)
