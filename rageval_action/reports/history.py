"""A history as Markdown, as one HTML file, as a badge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from rageval_action.core.measuring.measures import more_is_better
from rageval_action.core.series.history import (
    SHORTEST,
    TOLERANCE,
    Creep,
    History,
    Mark,
    Point,
    Series,
    comparable,
)
from rageval_action.core.wording import escape, lists, numbers
from rageval_action.reports.html_file import document
from rageval_action.reports.mermaid_charts import THEME, label

MOST_ROWS = 30
MOST_DRAWN = 60
MOST_SERIES = 400

LABEL = "#555"
COLOURS = {"brightgreen": "#2f7d1e", "orange": "#b35900", "lightgrey": "#6b6b6b"}
"""Names that shields.io knows -> colours on which white text can be read (contrast of 4.5 and more)."""


class Endpoint(Struct, frozen=True, rename="camel"):
    """What shields.io's endpoint badge reads."""

    label: str
    message: str
    color: str
    schema_version: Literal[1] = 1


def sentence(alarm: Creep, points: Sequence[Point]) -> str:
    """One alarm in words; ids of commits are shortened."""
    names = {one.run_id: one.sha[:10] or one.run_id[:10] for one in points}
    name = f"{alarm.measure} of {alarm.slice}" if alarm.slice else alarm.measure
    reference = "the last release" if alarm.reference == "release" else "its best"
    return (
        f"{name} has crept down by {numbers.points(alarm.drop)} since {reference} at {names[alarm.since]}, from "
        f"{numbers.score(alarm.before)} to {numbers.score(alarm.after)}, in {lists.plural(alarm.steps, 'step')} of "
        f"at most {numbers.points(alarm.largest_step)}; chance alone would order the scores so in "
        f"{numbers.share(alarm.p)} of cases"
    )


def markdown(history: History) -> str:
    """Alarms, the trend as a chart, and the last records, newest first."""
    if not history.points:
        return "No record was found.\n"
    lines = _alarms(history)
    lines += [
        "",
        *_chart(history),
        "",
        f"| record | {history.headline} | change | what changed |",
        "|:--|--:|--:|:--|",
    ]
    rows = list(_rows(history))
    lines += reversed(rows[-MOST_ROWS:])
    if len(rows) > MOST_ROWS:
        lines += ["", f"{len(rows) - MOST_ROWS:,} older records are not shown here."]
    return "\n".join(lines).strip("\n") + "\n"


class _Calm(Struct, frozen=True):
    """What is said where nothing is creeping: that nothing is, or that nobody could tell."""

    kind: Literal["tip", "note"]
    word: str
    title: str
    text: str


def _calm(history: History) -> _Calm:
    n = comparable(history)
    since = f"{lists.plural(n, 'record')} since the golden set, k or the release last changed"
    if n < SHORTEST:
        return _Calm(
            "note", "No verdict", "Too few records to tell.", f"{since}; at least {SHORTEST} are needed."
        )
    return _Calm("tip", "No creep", "Nothing has fallen in small steps.", f"{since}.")


def _alarms(history: History) -> list[str]:
    if not history.creep:
        calm = _calm(history)
        return [f"> [!{calm.kind.upper()}]", f"> **{calm.title}** {calm.text}"]
    alarms = [f"> - {escape.markdown(sentence(alarm, history.points), 500)}" for alarm in history.creep[:10]]
    small = all(alarm.largest_step <= TOLERANCE + 1e-9 for alarm in history.creep)
    how = f", though no single step was over {numbers.points(TOLERANCE)}" if small else ""
    return [
        "> [!WARNING]",
        f"> **Retrieval is creeping down**{how}.",
        ">",
        *alarms,
    ]


def _chart(history: History) -> list[str]:
    series = next((one for one in history.series if not one.slice and one.measure == history.headline), None)
    values = [value for value in series.values if value is not None][-MOST_DRAWN:] if series else []
    if len(values) < 2:
        return []
    low, high = min(values), max(values)
    room = max((high - low) / 10, 0.005)
    return [
        "```mermaid",
        THEME,
        "xychart-beta",
        f'  title "{label(history.headline)}, the last {len(values)} records"',
        f'  x-axis "record" 1 --> {len(values)}',
        f'  y-axis "score" {max(low - room, 0):.3f} --> {min(high + room, 1):.3f}',
        f"  line [{', '.join(f'{numbers.rounded(value, 4):.4f}' for value in values)}]",
        "```",
    ]


def _rows(history: History) -> list[str]:
    marks: dict[str, list[Mark]] = {}
    for mark in history.marks:
        marks.setdefault(mark.run_id, []).append(mark)
    rows, before = [], None
    for one in history.points:
        found = one.measures.get(history.headline)
        value = found.mean if found else None
        change = numbers.delta(value - before) if value is not None and before is not None else "–"
        what = "; ".join(f"{mark.kind}: {mark.text}" for mark in marks.get(one.run_id, []))
        name = escape.markdown_code(one.sha[:10] or one.run_id[:10])
        changed = escape.markdown(what, 300) or "–"
        rows.append(f"| {name} {one.created_at:%Y-%m-%d} | {numbers.score(value)} | {change} | {changed} |")
        before = value if value is not None else before
    return rows


class _Drawn(Struct, frozen=True, kw_only=True):
    """What the page is given: columns by record, the name of each series' highest value, the alarms in words."""

    headline: str
    dates: list[str]
    names: list[str]
    marks: tuple[Mark, ...]
    runs: list[str]
    series: tuple[Series, ...]
    highest: list[str]
    creep: tuple[Creep, ...]
    sentences: list[str]
    calm: _Calm


def html(history: History) -> str:
    """The history as one self-contained page."""
    shown = history.series[:MOST_SERIES]
    drawn = _Drawn(
        headline=history.headline,
        dates=[one.created_at.isoformat() for one in history.points],
        names=[one.sha[:10] or one.run_id[:10] for one in history.points],
        marks=history.marks,
        runs=[one.run_id for one in history.points],
        series=tuple(map(_thinned, shown)),
        highest=["best" if more_is_better(one.measure) else "highest" for one in shown],
        creep=history.creep,
        sentences=[sentence(alarm, history.points) for alarm in history.creep],
        calm=_calm(history),
    )
    count = lists.plural(len(history.points), "record")
    return document(
        "history.html",
        ("d3", "plot", "charts", "history"),
        drawn,
        title="Retrieval history",
        footer=f"{count} of one branch.",
    )


def _thinned(series: Series) -> Series:
    return msgspec.structs.replace(
        series, values=tuple(None if value is None else numbers.rounded(value, 5) for value in series.values)
    )


def endpoint(history: History) -> Endpoint:
    """The headline score of the last record, for shields.io; orange when something is creeping down."""
    found = history.points[-1].measures.get(history.headline) if history.points else None
    if found is None or found.mean is None:
        return Endpoint(label=history.headline or "retrieval", message="no record", color="lightgrey")
    creeping = any(alarm.measure == history.headline for alarm in history.creep)
    message = f"{numbers.score(found.mean)}{' and creeping down' if creeping else ''}"
    return Endpoint(label=history.headline, message=message, color="orange" if creeping else "brightgreen")


def badge(history: History) -> str:
    """The same as an SVG picture; its title says it in words."""
    made = endpoint(history)
    left, right = 7 * len(made.label) + 12, 7 * len(made.message) + 12
    title = escape.html(f"{made.label}: {made.message}")
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{7 * len(text)}" lengthAdjust="spacingAndGlyphs">{escape.html(text)}</text>'
        for x, text in ((left / 2, made.label), (left + right / 2, made.message))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{left}" height="20" fill="{LABEL}"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{COLOURS[made.color]}"/></g>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,sans-serif" font-size="11">{texts}</g></svg>\n'
    )
