"""A view whose every string and every list is hostile: nothing gets out of its place, nothing outgrows its surface."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.core.model.hashing import text_hash
from rageval_action.core.wording.limits import COMMENT_BYTES, SUMMARY_BYTES
from rageval_action.reports import mermaid_charts, table_rows
from rageval_action.reports.comment_and_summary import comment, summary
from rageval_action.reports.html_report import SNIPPET, page
from rageval_action.reports.links import Links
from rageval_action.reports.view import ALL, ReportView, view
from rageval_action.reports.view_types import ChangeLine, Fact, MeasureLine, QueryLine, SmallSlice, UnitLine
from tests.unit.reports.situations import HEAD, NASTY, spoilt
from tests.unit.reports.test_comment_and_summary import whole

gfm = pytest.importorskip("tests.unit.reports.gfm", reason="cmarkgfm is not installed", exc_type=ImportError)

LINKS = Links(
    server_url="https://github.com", repository="acme/kb", sha=HEAD, report_url="https://github.com/acme/kb"
)
MANY = 5000
LONG = "字" * 290

QUERY = QueryLine(
    id=LONG,
    query=LONG,
    line=3,
    change="lost",
    item=LONG,
    move="2 → 14",
    cause="outranked",
    explanation="",
    link="by",
    by=(LONG,) * 5,
    tags=(LONG,),
    snippet=LONG,
)
MEASURE = MeasureLine(
    measure="recall@5",
    slice="",
    headline=False,
    n="60",
    before="0.8",
    after="0.7",
    delta="−0.1",
    interval="[−0.2, 0]",
    reading="worse",
    tone="worse",
    counts="6 worse, 0 better",
    note="",
    before_value=0.8,
    after_value=0.7,
)
SLICE = replace(MEASURE, slice=LONG)
ROWS: dict[str, Any] = {
    "also": LONG,
    "changed": ChangeLine(name="model", before=LONG, after=LONG),
    "caveats": LONG,
    "measures": MEASURE,
    "units": UnitLine(unit="document", measure="mrr", before="0.1", after="0.2"),
    "lost": QUERY,
    "gained": replace(QUERY, change="gained"),
    "missed": LONG,
    "gates": Fact("fail", LONG),
    "slices": SLICE,
    "small_slices": SmallSlice(name=LONG, n=3, worse=1, better=1),
    "warnings": LONG,
}
LEFT = {
    "changed": "more changes or caveats",
    "caveats": "more changes or caveats",
    "measures": "more measures",
    "units": "more measures",
    "missed": "more, in",
    "gates": "more gates",
    "slices": "more slices",
    "small_slices": "more slices",
    "warnings": "more notes",
}


@pytest.fixture
def base(situation) -> ReportView:
    told = situation("by-document")
    return view(told.document, told.after.record, before=told.before.record, most=ALL)


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("render", [comment, summary])
def test_no_string_of_a_view_gets_out_of_its_place(text, render, base):
    made = render(spoilt(base, text), LINKS)
    shown = gfm.page(re.sub(r"```mermaid\n.*?```", "", made, flags=re.DOTALL))
    assert shown.faults == []
    assert all(link.startswith("https://github.com/acme/kb") for link in shown.links)
    for table in re.findall(r"(?:^\|.*\n)+", made, re.MULTILINE):
        assert len(set(gfm.page(table).rows)) == 1


@pytest.mark.parametrize("render", [comment, summary])
def test_no_string_of_a_view_is_shown_at_any_length(render, base):
    made = render(spoilt(base, "x" * 30_000), LINKS, limit=10**9)
    assert "x" * 40 in made
    assert "x" * 500 not in made


@pytest.mark.slow
@pytest.mark.parametrize("field", [*ROWS, "clusters"])
def test_no_list_outgrows_a_comment_or_a_summary(field, base, situation):
    row = ROWS[field] if field in ROWS else base.clusters[0]
    flooded = replace(base, **{field: (row,) * MANY, "lost_total": MANY, "gained_total": MANY})
    for render, limit in ((comment, COMMENT_BYTES), (summary, SUMMARY_BYTES)):
        made = render(flooded, LINKS)
        assert 0 < len(made.encode()) <= limit
        assert flooded.title in made
        whole(re.sub(r"```mermaid\n.*?```", "", made, flags=re.DOTALL))


@pytest.mark.slow
def test_all_lists_together_do_not_either(base):
    flooded = replace(
        base, **{name: (row,) * MANY for name, row in ROWS.items()}, lost_total=MANY, gained_total=MANY
    )
    for render, limit in ((comment, COMMENT_BYTES), (summary, SUMMARY_BYTES)):
        made = render(flooded, LINKS)
        assert 0 < len(made.encode()) <= limit
        assert flooded.title in made


@pytest.mark.parametrize(("field", "words"), LEFT.items())
def test_what_a_comment_leaves_out_is_counted(field, words, base):
    made = comment(replace(base, **{field: (ROWS[field],) * MANY}), LINKS)
    found = re.search(rf"([\d,]+) {words}", made)
    assert found
    assert MANY - 100 < int(found[1].replace(",", "")) <= MANY + 10


def test_a_snippet_is_short_and_on_one_line(situation):
    made = table_rows.query(situation("fail-drop").document.queries[0], "a\nb\x1b[31m\u202e" + "字" * 500)
    assert len(made.snippet) == table_rows.SNIPPET
    assert made.snippet.startswith("a b [31m\ufffd字")


def test_a_snippet_of_the_page_is_short_and_on_one_line(situation):
    told = situation("fail-drop")
    made = page(
        told.document,
        told.after,
        told.before,
        texts={text_hash("text of f1"): "a\nb\u202e" + "字" * 500, text_hash("text of f2"): "a\nb" * 500},
    )
    assert made.texts
    for text in made.texts.values():
        assert len(text) <= SNIPPET
        assert "\n" not in text
        assert "\u202e" not in text


@pytest.mark.parametrize("text", [*NASTY, 'a"] ```\nb', "x" * 99])
def test_a_name_cannot_end_a_chart(text, base):
    row = replace(SLICE, slice=text)
    drawn = mermaid_charts.mermaid(
        replace(base, slices=tuple(replace(row, after_value=0.7 - at / 100) for at in range(20)))
    ).slices
    assert drawn.count("\n") == 5
    assert drawn.count('"') == 2 * mermaid_charts.MOST_BARS + THEME_QUOTES
    assert "`" not in drawn
    assert max(len(name) for name in re.findall(r'"([^"]*)"', drawn.split("x-axis")[1])) <= 40


THEME_QUOTES = mermaid_charts.THEME.count('"') + 4
"""Those of the theme, of the title and of the axis."""
