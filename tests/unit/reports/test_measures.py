"""Every measure on every surface: in a code face, in its order, and judged only where a rise is an improvement."""

from __future__ import annotations

import io
import re

import pytest
from msgspec.structs import replace

from rageval_action.core.judging.outcomes import FloorFinding, Outcome
from rageval_action.core.judging.policy import FloorGate
from rageval_action.core.judging.sentences.gate_text import full
from rageval_action.core.measuring.measures import MEASURES, in_order, is_measure
from rageval_action.core.model.record import Mean
from rageval_action.core.series import history
from rageval_action.core.series.matrix import Against, Configuration, Matrix, Measured
from rageval_action.reports import history as history_report
from rageval_action.reports import matrix as matrix_report
from rageval_action.reports.comment_and_summary import comment, summary
from rageval_action.reports.html_report import html, page
from rageval_action.reports.markdown_templates import prose
from rageval_action.reports.terminal import plain, show
from rageval_action.reports.view import view
from tests.small_project import ROOT
from tests.unit.reports.situations import GOOD, judged, lowered, old, record
from tests.unit.reports.test_terminal import Screen

PACKAGE = ROOT / "rageval_action"

NAMES = [
    spelt
    for name, entry in MEASURES.items()
    for spelt in (name, f"{name}@5", f"{name}@10", f"{name}@1000000")
    if ("@" in spelt and entry.cutoff != "forbidden") or ("@" not in spelt and entry.cutoff != "required")
]
UNJUDGED = {name for name in NAMES if not MEASURES[name.partition("@")[0]].more_is_better}
SHOWN = ["recall@5", *(name for name in NAMES if name != "recall@5")]
"""The headline, then all others in the order of the registry, each from the smallest cutoff up."""

VERDICTS = re.compile(r"\b(worse|better|best|drop|lost|won)\b|[▼▲]")


def _documents(direction: int):
    """A comparison in which every measure moved by 10 points, all the same way."""
    told = judged(old(record(GOOD)), record(lowered(GOOD, range(1, 40, 4), 9)))
    (row,) = [row for row in told.document.measures if row.slice is None and row.measure == "recall@5"]
    low, high = sorted((0.05 * direction, 0.15 * direction))
    row = replace(
        row,
        delta=0.1 * direction,
        ci=(low, high),
        reading="better" if direction > 0 else "worse",
        better=4,
        worse=3,
    )
    measures = {name: Mean(mean=0.5, n=60) for name in reversed(NAMES)}
    after = replace(told.after, record=replace(told.after.record, measures=measures))
    rows = tuple(replace(row, measure=name) for name in reversed(NAMES))
    return replace(told, document=replace(told.document, measures=rows), after=after)


@pytest.fixture(scope="module", params=[-1, 1], ids=["fall", "rise"])
def moved(request):
    return _documents(request.param)


@pytest.fixture(params=["comment", "summary", "terminal", "screen", "page"])
def lines(request, moved, monkeypatch):
    """The rows of measures on one surface: name -> its line."""
    monkeypatch.setenv("COLUMNS", "400")
    shown = view(moved.document, moved.after.record)
    if request.param == "page":
        made = page(moved.document, moved.after)
        assert "data" in html(made)
        rows = [(row.measure, f"{row.reading} {row.tone} {row.counts}") for row in made.view.measures]
        return dict(rows)
    if request.param in ("comment", "summary"):
        made = {"comment": comment, "summary": summary}[request.param](shown, limit=10**9)
        found = re.findall(r"^\| \**(\S+?)\** \| (.*)$", made, re.MULTILINE)
        faced = [(name.strip("`"), line) for name, line in found if name.startswith("`")]
        return dict(faced)
    if request.param == "terminal":
        made = "\n".join(plain(shown))
    else:
        screen = Screen()
        show(shown, screen)
        made = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    rows = [line.split(maxsplit=1) for line in made.splitlines() if line.split()]
    return {words[0]: words[1] for words in rows if is_measure(words[0]) and words[1][0].isdigit()}


def test_every_measure_has_its_place(lines):
    assert list(lines) == SHOWN[: len(lines)]
    assert len(lines) >= 20


def test_only_measures_with_a_direction_are_judged(lines):
    for name, line in lines.items():
        assert bool(VERDICTS.search(line)) != (name in UNJUDGED), line
        assert ("changed" in line) == (name in UNJUDGED)


def test_what_nobody_can_tell_is_not_called_no_drop(moved):
    rows = tuple(replace(row, reading="not_worse") for row in moved.document.measures)
    shown = view(replace(moved.document, measures=rows), moved.after.record)
    for row in shown.measures:
        assert row.reading == ("cannot tell" if row.measure in UNJUDGED else "no drop over 2 points")


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_shows_a_measure_as_code_and_starts_with_it(name):
    assert prose(f"{name} dropped; see ({name}).") == f"`{name}` dropped; see &#40;`{name}`&#41;."
    assert prose(f"x{name} and {name}x and a:{name}").count("`") == 0
    finding = FloorFinding(value=0.25, floor=0.5)
    low = Outcome(gate=FloorGate(measure=name, min=0.5), state="fail", code="floor", finding=finding)
    assert full(low).startswith(f"{name} is 0.250")


def _falling(name: str):
    points = []
    for at in range(12):
        made = history.point(record(GOOD, run_id=f"r{at:02}").record)
        scores = {"recall@5": Mean(mean=0.9, n=60), name: Mean(mean=0.9 - at / 50, n=60)}
        stamp = made.created_at.replace(year=2020 + at)
        points.append(replace(made, created_at=stamp, measures=scores, slices={}))
    return history.history(points)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "recall@5"])
def test_only_what_should_rise_creeps_down(name):
    told = _falling(name)
    assert [series.measure for series in told.series] == ["recall@5", name]
    assert bool(told.creep) == (name not in UNJUDGED)
    assert ("creeping down" in history_report.markdown(told)) == (name not in UNJUDGED)
    assert f'"highest":["best","{"highest" if name in UNJUDGED else "best"}"]' in history_report.html(told)


def test_a_history_lists_measures_in_their_order():
    made = history.point(record(GOOD).record)
    named = {name: Mean(mean=0.9, n=60) for name in reversed(NAMES)}
    told = history.history([replace(made, measures=named, slices={})])
    assert [series.measure for series in told.series] == SHOWN


@pytest.mark.parametrize("name", NAMES)
def test_a_matrix_wins_and_loses_only_by_what_should_rise(name):
    against = Against(n=9, delta=0.1, ci=(0.0, 0.2), p=0.02, p_adjusted=0.02, better=1, worse=0, same=8)
    score = Measured(mean=0.5, n=9, ci=(0.4, 0.6))
    rows = (
        Configuration(name="a", retriever="dense", scores={name: score}, queries=9),
        Configuration(name="b", retriever="bm25", scores={name: score}, against={name: against}, queries=9),
    )
    table = Matrix(golden="g", queries=9, unit="document", measures=(name,), configurations=rows)
    out = io.StringIO()
    matrix_report.show(table, out)
    for made in (matrix_report.markdown(table), matrix_report.page(table), out.getvalue()):
        assert ("won/lost" in made) == (name not in UNJUDGED)
        assert ("higher/lower" in made) == (name in UNJUDGED)


def test_the_order_is_the_registry_and_names_it_does_not_know_are_last():
    known = list(MEASURES)
    assert in_order(["zzz@5", *reversed(known)], "mrr") == [
        "mrr",
        *(name for name in known if name != "mrr"),
        "zzz@5",
    ]


def test_the_headline_measure_is_spelt_in_one_place():
    sources = [path for kind in ("py", "js", "j2") for path in PACKAGE.rglob(f"*.{kind}")]
    spelt = [path.name for path in sources if re.search(r"recall@\$?\{", path.read_text("utf-8"))]
    assert spelt == ["measures.py"]
