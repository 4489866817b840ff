"""Rendered Markdown: nothing from outside gets out of its cell, limits hold."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from rageval_action.core.wording.limits import COMMENT_BYTES, SUMMARY_BYTES
from rageval_action.reports.comment_and_summary import comment, summary
from rageval_action.reports.links import Links
from rageval_action.reports.markdown_templates import Markdown, prose
from rageval_action.reports.view import ALL, view
from tests.unit.reports.situations import HEAD, crowd

gfm = pytest.importorskip("tests.unit.reports.gfm", reason="cmarkgfm is not installed", exc_type=ImportError)

LINKS = Links(
    server_url="https://github.com", repository="acme/kb", sha=HEAD, report_url="https://github.com/acme/kb"
)
ZERO_WIDTH = "\u200b"


def _view(situation, most=10):
    before = situation.before.record if situation.before else None
    return view(situation.document, situation.after.record, before=before, most=most)


@pytest.fixture(params=["comment", "summary"])
def render(request):
    if request.param == "comment":
        return lambda situation: comment(_view(situation), LINKS)
    return lambda situation: summary(_view(situation, ALL), LINKS)


def test_every_document_is_balanced_html_of_our_own_elements_only(named, render):
    _, situation = named
    page = gfm.page(render(situation))
    assert page.faults == []


def test_every_table_row_has_as_many_cells_as_its_head(named, render):
    _, situation = named
    text = render(situation)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *body = table.splitlines()
        page = gfm.page(table)
        assert page.tags["table"] == 1
        assert set(page.rows) == {head.count("|") - 1}
        assert len(page.rows) == 1 + len(body)


def test_links_point_into_the_repository_whatever_the_ids_say(named, render):
    _, situation = named
    for link in gfm.page(render(situation)).links:
        assert link.startswith("https://github.com/acme/kb")


def test_hostile_text_is_shown_as_it_is(situation):
    made = comment(_view(situation("hostile")), LINKS)
    shown = "".join(gfm.page(made).text).replace(ZERO_WIDTH, "")
    assert "<script>alert(1)</script> **bold** ~~x~~ $math$ :tada:" in shown
    assert "{{ 7*7 }}" in shown
    assert "49 dimensions" not in shown


def test_nothing_that_github_reads_after_rendering_survives(situation):
    made = summary(_view(situation("hostile"), ALL), LINKS)
    made = re.sub(r"```mermaid\n.*?```", "", made, flags=re.DOTALL)
    shown = "".join(gfm.page(made).text)
    assert not re.search(r"(?<![\w])@\w", shown)
    assert not re.search(r"#\d", shown)
    assert "www.evil" not in shown
    assert "://evil" not in shown


@pytest.fixture(scope="module")
def many():
    return crowd(5000, 300)


@pytest.mark.slow
def test_five_thousand_lost_queries_fit_a_comment_on_row_borders(many):
    made = comment(_view(many), LINKS)
    assert len(made.encode()) <= COMMENT_BYTES
    whole(made)
    assert "4,990 others are in [the full report](https://github.com/acme/kb)" in made


@pytest.mark.slow
def test_five_thousand_lost_queries_fit_a_summary_on_row_borders(many):
    made = summary(_view(many, ALL), LINKS)
    size = len(made.encode())
    assert SUMMARY_BYTES / 2 < size <= SUMMARY_BYTES
    whole(made)
    shown = made.count("\n| [<code>")
    assert f"{5000 - shown:,} others are in [the full report]" in made


@pytest.mark.parametrize("limit", [60_000, 20_000, 9_000, 5_000, 3_000, 1_800])
def test_any_sane_limit_is_kept(many, limit):
    made = comment(_view(many), LINKS, limit=limit)
    assert 0 < len(made.encode()) <= limit
    whole(made)


def whole(text: str) -> None:
    """No row, tag, reference or code point is cut."""
    page = gfm.page(text)
    assert page.faults == []
    assert "\ufffd" not in text
    assert not re.search(r"&(?!#?\w+;)", text)
    for line in text.splitlines():
        assert not line.startswith("|") or line.endswith("|")


@pytest.mark.slow
def test_what_is_left_out_of_every_list_is_counted(many):
    made = comment(_view(many), LINKS)
    assert "Too small" not in made
    assert "4,990 others are in [the full report]" in made
    assert "30 more slices are in [the full report]" in made


def test_scores_by_document_stand_apart_from_those_by_chunk(situation):
    made = comment(_view(situation("by-document")), LINKS)
    (line,) = [line for line in made.splitlines() if "by document instead" in line]
    assert line.startswith("- by document instead (no gate looks at it): `recall@5` 0.900 → 0.898, ")
    assert "document instead" not in comment(_view(situation("fail-drop")), LINKS)


def test_scores_by_document_are_compared_under_the_same_labels_alone(situation):
    told = situation("by-document")
    golden = replace(told.before.record.golden, sha256="0" * 64)
    other = replace(told.before.record, golden=golden)
    shown = view(told.document, told.after.record, before=other)
    assert {row.before for row in shown.units} == {""}
    assert "`recall@5` 0.898, " in comment(shown, LINKS)


def test_however_many_units_and_measures_a_record_names_a_comment_fits(situation):
    told = situation("by-document")
    mean = told.after.record.measures["recall@5"]
    named = {"x" * 200 + f"|{at}": mean for at in range(5000)}
    record = replace(told.after.record, unit_measures={"document": named, "<b>page": named})
    made = comment(view(told.document, record), LINKS)
    assert len(made.encode()) <= COMMENT_BYTES
    whole(made)
    assert "9,980 more measures are in [the full report]" in made


def test_only_names_of_letters_become_code_in_a_sentence():
    assert prose("recall@5 of tag:vpn-1 fell") == "`recall@5` of `tag:vpn-1` fell"
    for text in ("tag:a`<b>", "tag:a|b c", "lang:![x](y)", "type:a" + "b" * 90):
        table = gfm.page(f"| a |\n|---|\n| {prose(text)} |\n")
        assert table.faults == []
        assert table.links == []
        assert "".join(table.text).split() == ["a", *text.split()]


def test_what_is_added_to_markdown_is_escaped():
    assert gfm.page(Markdown("**a** ") + "<b> **c**").tags == {"p": 1, "strong": 1}
    assert gfm.page(Markdown(" ").join(["<b>", "**c**"])).tags == {"p": 1}


def test_links_to_odd_places_are_left_out():
    assert LINKS.line("../secret", 3) == ""
    assert LINKS.line("golden.jsonl", 0) == ""
    assert LINKS.line("x" * 700, 3) == ""
    assert LINKS.commit("main") == ""
    assert LINKS.commit("g" * 40) == ""
    assert LINKS.commit(HEAD) == f"https://github.com/acme/kb/commit/{HEAD}"


def test_what_a_note_quotes_is_code_and_stays_text():
    assert (
        prose("`solar-panels.md` is not in the snapshot")
        == "<code>solar&#45;panels.md</code> is not in the snapshot"
    )
    nasty = prose("`</code><script>|` and a lone ` mark")
    assert "<script>" not in nasty
    assert nasty.count("<code>") == nasty.count("</code>") == 1
