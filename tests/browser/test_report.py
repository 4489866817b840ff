"""The HTML report in a real browser: it opens from disk, asks for nothing, and can be used without mouse or eyes."""

from __future__ import annotations

import datetime
import functools
import sys
import time

import pytest

from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.model.types import Grades, Hit
from rageval_action.core.wording import numbers
from rageval_action.reports.html_report import html, page
from tests.unit.reports import situations
from tests.unit.reports.situations import SITUATIONS


@functools.cache
def document(name: str) -> str:
    made = SITUATIONS[name]()
    return html(page(made.document, made.after, made.before, source="https://example.test/golden.jsonl#L"))


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_every_situation_opens_from_disk_in_silence(opened, name):
    seen = opened(document(name))
    assert seen.complaints == []
    assert [address for address in seen.requests if not address.startswith("file:")] == []
    assert len(seen.requests) == 1
    assert seen.page.locator("h1").inner_text().endswith(".")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["fail-drop", "no-baseline", "acl-leak", "no-answer", "hostile"])
def test_axe_finds_no_serious_violation(opened, name, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="skipped: axe is not installed")
    seen = opened(document(name), color_scheme=scheme)
    found = axe.Axe().run(seen.page)
    serious = [rule for rule in found.response["violations"] if rule["impact"] in ("serious", "critical")]
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in serious] == []


def test_the_page_rounds_as_every_other_surface(opened):
    values = [at / 1000 for at in range(-1200, 1201, 5)] + [0.575 - 0.5, 1.005, -0.0004, 1e-7]
    shown = opened(document("fail-drop")).page
    for digits in (2, 3):
        found = shown.evaluate(
            "([values, digits]) => values.map((value) => fixed(value, digits))", [values, digits]
        )
        assert found == [numbers.fixed(value, digits) for value in values]


def test_axe_finds_nothing_serious_in_the_dialog_either(opened):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="skipped: axe is not installed")
    seen = opened(document("fail-drop"))
    seen.page.click(".grid tbody tr[data-place='0']")
    found = axe.Axe().run(seen.page, context="dialog")
    assert [
        rule["id"] for rule in found.response["violations"] if rule["impact"] in ("serious", "critical")
    ] == []


def test_scores_by_document_stand_in_a_table_of_their_own(opened):
    seen = opened(document("by-document"))
    told = seen.page.locator("#measures details", has_text="The same run by document")
    told.locator("summary").click()
    assert told.locator("thead").inner_text().split() == ["measure", "base", "this", "PR"]
    assert told.locator("tbody tr").first.inner_text().split() == ["recall@5", "0.900", "0.898"]
    assert seen.page.locator("#measures tbody tr").first.inner_text().split()[2:4] == ["0.833", "0.750"]
    assert not opened(document("fail-drop")).page.locator("text=The same run by").count()


def _status(page) -> str:
    return page.locator("[role=status]").inner_text()


def _first(page) -> str:
    return page.locator(".grid tbody tr[data-place='0'] td").first.inner_text()


def test_filters_and_search_narrow_the_table(opened):
    shown = opened(document("fail-drop")).page
    assert _status(shown) == "60 of 60 queries"
    shown.get_by_label("Change", exact=True).select_option("lost")
    assert _status(shown) == "10 of 60 queries"
    shown.get_by_label("Slice", exact=True).select_option("tag:exact-term")
    assert _status(shown) == "10 of 60 queries"
    shown.get_by_label("Search", exact=True).fill("FIREWALL")
    assert _status(shown) == "2 of 60 queries"
    shown.get_by_label("Search", exact=True).fill("nothing like it")
    assert _status(shown) == "0 of 60 queries"
    shown.get_by_role("button", name="Show all").click()
    assert _status(shown) == "60 of 60 queries"
    shown.get_by_label("Cause", exact=True).select_option("outranked")
    assert _status(shown) == "10 of 60 queries"


def test_a_click_on_a_column_sorts_and_another_turns_it_round(opened):
    shown = opened(document("fail-drop")).page
    head = shown.get_by_role("columnheader", name="query")
    head.get_by_role("button").click()
    assert (_first(shown), head.get_attribute("aria-sort")) == ("q000", "ascending")
    head.get_by_role("button").click()
    assert (_first(shown), head.get_attribute("aria-sort")) == ("q059", "descending")


def test_the_worst_queries_come_first(opened):
    shown = opened(document("fail-drop")).page
    changes = shown.locator(".grid tbody .chip").all_inner_texts()
    assert changes[:10] == ["lost"] * 10
    assert "lost" not in changes[10:]


def test_a_query_opens_with_both_rankings_and_closes_by_key(opened):
    shown = opened(document("fail-drop")).page
    shown.get_by_label("Change", exact=True).select_option("lost")
    shown.locator(".grid tbody tr[data-place='0'] button").focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("Enter")
    dialog = shown.get_by_role("dialog")
    assert dialog.get_by_role("heading", level=2).inner_text() == "q017"
    assert dialog.locator("a[href]").first.get_attribute("rel") == "noreferrer"
    sides = dialog.locator(".sides ol")
    assert sides.count() == 2
    assert "doc-17 relevant" in sides.nth(0).locator("li.right").inner_text()
    dialog.get_by_role("button", name="Next query").click()
    assert dialog.get_by_role("heading", level=2).inner_text() == "q029"
    shown.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert shown.evaluate("document.activeElement.textContent") == "q017"


def test_a_group_of_losses_shows_its_queries(opened):
    shown = opened(document("fail-drop")).page
    shown.locator("#losses").get_by_role("button", name="outranked").click()
    assert _status(shown) == "10 of 60 queries"


def test_every_chart_has_its_numbers_as_a_table(opened):
    shown = opened(document("fail-drop")).page
    figures = shown.locator("figure")
    assert figures.count() >= 3
    for at in range(figures.count()):
        figure = figures.nth(at)
        assert figure.locator("[role=img]").get_attribute("aria-label")
        assert figure.locator("details tbody tr").count() > 0


def test_hostile_text_is_text(opened):
    seen = opened(document("hostile"))
    shown = seen.page
    assert shown.evaluate("document.querySelectorAll('img, main script, iframe').length") == 0
    assert "<script>alert(1)</script>" in shown.locator(".grid").inner_text()
    shown.click(".grid tbody tr[data-place='3']")
    assert seen.complaints == []


def test_no_script_from_elsewhere_may_run(opened):
    seen = opened(document("fail-drop"))
    seen.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); }"
    )
    assert seen.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in seen.complaints)


def test_a_narrow_screen_scrolls_only_downwards(opened):
    shown = opened(document("fail-drop"), viewport={"width": 390, "height": 800}).page
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390


@functools.cache
def large() -> str:
    """Ten thousand queries with a hundred hits each."""
    from rageval_action.core.comparing.comparison import compare
    from rageval_action.core.model.types import Chunk
    from tests.synthetic_runs import run

    count = 10_000
    corpus = tuple(Chunk(id=f"manual-{at}#0", doc=f"manual-{at}", text=f"text {at}") for at in range(2_000))

    def made(shift: int):
        rows = []
        for number in range(count):
            place = (number * 7 + (shift * number) % 13) % 12
            hits = tuple(
                Hit(
                    id=f"manual-{(number + at) % 2000}#0",
                    doc=f"manual-{(number + at) % 2000}",
                    rank=at + 1,
                    score=1 / (at + 1),
                )
                for at in range(20)
            )
            judged = Grades({f"manual-{(number + place) % 2000}": 1})
            rows.append(
                situations.row(
                    f"query-{number:05}",
                    [],
                    judged,
                    corpus[:1],
                    query=f"what about subject {number}",
                    line=number + 1,
                )
            )
            rows[-1] = situations.replace(rows[-1], results=hits, tags=(f"part-{number % 40}",))
        return run(rows, corpus, measures=("recall@5",))

    before, after = situations.old(made(0)), made(1)
    found = compare(before, after, parse_measures(["recall@5"]))
    told = ComparisonDocument(
        verdict="pass", exit_code=0, overridden=None, reasons=(), baseline=None, pairing=found.golden.pairing, k=5,
        measures=found.base.rows, queries=found.queries,
    )  # fmt: skip
    return html(page(told, after, before))


@pytest.mark.slow
def test_ten_thousand_queries_load_and_scroll(opened):
    text = large()
    shown = opened(text).page
    loaded = int(shown.locator("html").get_attribute("data-ready")) / 1000
    sys.stdout.write(f"10,000 queries, {len(text) / 1e6:.1f} MB: ready after {loaded:.2f} s\n")
    assert shown.locator(".grid tbody tr").count() < 60
    started = time.perf_counter()
    shown.get_by_label("Search", exact=True).fill("subject 99")
    assert _status(shown) == "111 of 10,000 queries"
    shown.get_by_label("Search", exact=True).fill("")
    shown.get_by_role("columnheader", name="rank").get_by_role("button").click()
    shown.locator(".grid").evaluate("box => { box.scrollTop = box.scrollHeight / 2 }")
    shown.wait_for_selector(".grid tbody tr[data-place='5000']")
    shown.locator(".grid tbody tr[data-place='5000'] button").focus()
    shown.keyboard.press("End")
    shown.wait_for_selector(".grid tbody tr[data-place='9999']")
    used = time.perf_counter() - started
    sys.stdout.write(f"search, sort and jump twice: {used:.2f} s\n")


def test_the_report_is_small_beside_its_data():
    text = document("no-baseline")
    assert len(text) < 2_000_000


@functools.cache
def creeping() -> str:
    """A history of sixty records that creeps down."""
    from rageval_action.core.model.record import Mean
    from rageval_action.core.series.history import Point, history
    from rageval_action.reports.history import html as drawn

    start = datetime.datetime(2031, 1, 1, tzinfo=datetime.UTC)
    points = []
    for at in range(60):
        value = 0.9 - 0.008 * sum(at >= step for step in (15, 22, 30, 41, 50))
        scores = {name: Mean(mean=value - less, n=80) for name, less in (("recall@5", 0.0), ("mrr", 0.1))}
        points.append(
            Point(
                run_id=f"run-{at}",
                sha=f"{at:040x}",
                created_at=start + datetime.timedelta(days=at),
                measures=scores,
                slices={"tag:<img src=x>": {"recall@5": Mean(mean=value, n=30)}},
                model="mini" if at < 20 else "midi",
                release="v1" if at == 8 else "",
            )
        )
    return drawn(history(points))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_history_opens_in_silence_and_can_be_read_by_all(opened, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="skipped: axe is not installed")
    seen = opened(creeping(), color_scheme=scheme)
    assert seen.complaints == []
    assert len(seen.requests) == 1
    assert seen.page.locator("h1").inner_text() == "Retrieval is creeping down."
    seen.page.get_by_role("button", name="tag:<img src=x>").click()
    found = axe.Axe().run(seen.page)
    assert [
        rule["id"] for rule in found.response["violations"] if rule["impact"] in ("serious", "critical")
    ] == []


def test_a_lone_value_has_no_more_decimals_than_it_needs(opened):
    from rageval_action.core.model.record import Mean
    from rageval_action.core.series.history import Point, history
    from rageval_action.reports.history import html as drawn

    start = datetime.datetime(2031, 1, 1, tzinfo=datetime.UTC)
    level = [
        Point(
            run_id=f"run-{at}",
            created_at=start + datetime.timedelta(days=at),
            measures={"mrr": Mean(mean=1.0, n=9)},
        )
        for at in range(2)
    ]
    seen = opened(drawn(history(level)))
    ticks = seen.page.locator("svg text").all_text_contents()
    assert [text for text in ticks if text.startswith("1.0")] == ["1.00"]
