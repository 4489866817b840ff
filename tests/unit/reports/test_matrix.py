"""The matrix with hostile names, notes and paths, on each of its surfaces."""

from __future__ import annotations

import io
import re

import pytest

from rageval_action.core.model.types import Notice
from rageval_action.core.series.matrix import Against, Configuration, Matrix, Measured, NotRun
from rageval_action.reports.matrix import markdown, notes, page, show
from tests.unit.reports.situations import NASTY
from tests.unit.reports.test_terminal import Screen

gfm = pytest.importorskip("tests.unit.reports.gfm", reason="cmarkgfm is not installed", exc_type=ImportError)

CONTROL = "a\nb\x1b[31mred\u202e [bold]x[/bold]"
SCORE = Measured(mean=0.5, n=10, ci=(0.4, 0.6))


def hostile(text: str) -> Matrix:
    rows = (
        Configuration(name=text, retriever=text, scores={text: SCORE}, cost={text: 1.0}, queries=10),
        Configuration(name=text, retriever="", scores={text: NotRun(reason=text)}),
    )
    note = Notice(code="x", text=text)
    return Matrix(
        golden=text, queries=10, unit="document", measures=(text,), configurations=rows, warnings=(note,)
    )


@pytest.mark.parametrize("text", [*NASTY, CONTROL])
def test_markdown_is_a_table_and_a_list_of_literal_text(text):
    made = gfm.page(markdown(hostile(text)))
    assert made.faults == []
    assert made.links == []
    assert len(set(made.rows)) == 1
    assert len(made.rows) == 3
    shown = "".join(made.text)
    assert not re.search(r"@\w", shown)


@pytest.mark.parametrize("text", [*NASTY, CONTROL])
def test_the_page_holds_no_element_but_ours(text):
    made = page(hostile(text))
    assert "default-src 'none'" in made
    tags = set(re.findall(r"<(\w+)", made.split("</style>")[1]))
    assert tags == {"main", "h1", "div", "table", "thead", "tr", "th", "tbody", "td", "ul", "li"}
    assert re.findall(r"<title>([^<]*)</title>", made)
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", made)


@pytest.mark.parametrize("text", [*NASTY, CONTROL])
def test_a_terminal_gets_no_control_character(text, monkeypatch):
    out = io.StringIO()
    show(hostile(text), out)
    assert all(
        line.isprintable() or set(line) <= {"\u200b"}
        for line in re.split("\n", out.getvalue().replace("\u200b", ""))
    )
    assert not any(line.lstrip().startswith("::") for line in out.getvalue().splitlines())
    assert "##[" not in out.getvalue()
    assert len(out.getvalue().splitlines()) == 7


def test_a_screen_shows_control_characters_and_markup_as_text(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    screen = Screen()
    show(hostile(CONTROL), screen)
    shown = screen.getvalue()
    assert "\x1b[31mred" not in shown
    assert "\u202e" not in shown
    assert "[bold]x[/bold]" in shown
    assert "a b" in shown


def test_only_comparisons_that_were_made_are_counted():
    against = Against(n=10, delta=0.1, ci=(0.0, 0.2), p=0.02, p_adjusted=0.02, better=1, worse=0, same=9)
    rows = (
        Configuration(name="first", retriever="dense", scores={"mrr": SCORE}, queries=10),
        Configuration(
            name="second", retriever="bm25", scores={"mrr": SCORE}, against={"mrr": against}, queries=10
        ),
        Configuration(name="third", retriever="", scores={"mrr": NotRun(reason="no key")}),
    )
    table = Matrix(golden="g", queries=10, unit="document", measures=("mrr",), configurations=rows)
    assert notes(table)[0].endswith("p is adjusted for 1 comparison.")
