"""A history as people read it."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

from msgspec.structs import replace

from rageval_action.core.series.history import Point, history
from rageval_action.reports.history import MOST_ROWS, MOST_SERIES, badge, endpoint, html, markdown
from tests.unit.core.series.test_history import creeping, points
from tests.unit.reports import gfm


def test_an_alarm_says_since_when_how_far_and_in_how_many_steps():
    text = markdown(history(points(creeping())))
    assert text.startswith("> [!WARNING]\n> **Retrieval is creeping down**")
    assert (
        "has crept down by 4.0 points since its best at 0000000000, from 0.900 to 0.860, in 5 steps" in text
    )
    assert "of at most 0.8 points" in text
    assert gfm.page(re.sub(r"```mermaid\n.*?```", "", text, flags=re.DOTALL)).faults == []


def test_no_alarm_says_so_too():
    text = markdown(history(points([0.9] * 8)))
    since = "8 records since the golden set, k or the release last changed."
    assert text.startswith(f"> [!TIP]\n> **Nothing has fallen in small steps.** {since}\n")


def test_too_few_records_are_no_all_clear():
    text = markdown(history(points([0.925, 0.875, 0.775, 0.625, 0.525])))
    assert text.startswith("> [!NOTE]\n> **Too few records to tell.** 5 records since")
    assert "Nothing has fallen" not in text
    assert "**Nothing has fallen in small steps.**" in markdown(history(points([0.9] * 6)))


def test_records_of_another_golden_set_are_no_all_clear():
    told = history(points([0.9] * 9, golden=["old"] * 7 + ["new"] * 2))
    assert "**Too few records to tell.** 2 records since" in markdown(told)
    assert "Too few records to tell." in html(told)
    assert "Nothing has fallen" not in html(told)


def test_steps_are_called_small_only_when_they_were():
    assert "**, though no single step was over 2.0 points.\n" in markdown(history(points(creeping())))
    told = history(points(creeping()))
    steep = replace(told, creep=(replace(told.creep[0], largest_step=0.05),))
    assert "> **Retrieval is creeping down**.\n" in markdown(steep)


def test_no_record_is_a_sentence_and_a_grey_badge():
    assert markdown(history([])) == "No record was found.\n"
    assert endpoint(history([])).color == "lightgrey"
    assert "no record" in badge(history([]))


def test_a_single_record_has_no_trend_to_draw():
    text = markdown(history(points([0.9])))
    assert "mermaid" not in text
    assert "| 0.900 | – | – |" in text


def test_old_records_are_counted_and_changes_are_named():
    made = points([0.9] * (MOST_ROWS + 5), model=["mini"] * (MOST_ROWS + 4) + ["<b>|midi"])
    text = markdown(history(made))
    assert "5 older records are not shown here." in text
    assert text.count("\n| <code>") == MOST_ROWS
    assert "model&#58; mini → &#60;b&#62;&#124;midi" in text


def test_a_name_of_a_record_is_text():
    made = [replace(one, sha="", run_id=f"|<b>`@a#1{at}") for at, one in enumerate(points([0.9, 0.8]))]
    shown = gfm.page(re.sub(r"```mermaid\n.*?```", "", markdown(history(made)), flags=re.DOTALL))
    assert shown.faults == []
    assert set(shown.rows) == {4}
    assert "@a" not in "".join(shown.text)


def test_many_alarms_and_series_are_bounded():
    told = history(points(creeping()))
    many = replace(told, creep=told.creep * 50, series=told.series * (MOST_SERIES + 5))
    assert markdown(many).count("\n> - ") == 10
    data = json.loads(re.search(r'id="data">(.*?)</script>', html(many), re.DOTALL)[1])
    assert len(data["series"]) == MOST_SERIES


def test_a_badge_is_well_formed_whatever_its_label():
    made = badge(replace(history([]), headline="<b>&\"'"))
    assert ElementTree.fromstring(made).attrib["aria-label"].startswith("<b>&\"'")  # noqa: S314 - our own


def test_a_record_without_the_measure_is_a_gap():
    assert "| not defined | – |" in markdown(history(points([0.9, None, 0.9])))


def test_the_badge_and_the_endpoint_say_the_same():
    told = history(points(creeping()))
    made = endpoint(told)
    assert (made.label, made.message, made.color) == ("recall@5", "0.860 and creeping down", "orange")
    assert ElementTree.fromstring(badge(told)).attrib["aria-label"] == "recall@5: 0.860 and creeping down"  # noqa: S314
    assert endpoint(history(points([0.9] * 3))).color == "brightgreen"


def test_the_page_holds_every_record():
    text = html(history(points(creeping())))
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert len(data["runs"]) == 40
    assert data["creep"][0]["drop"] > 0.03


def test_a_slice_and_a_release_are_named_in_the_alarm():
    falling = creeping()
    made = [
        Point(
            run_id=one.run_id,
            created_at=one.created_at,
            golden="g",
            measures={"recall@5": one.measures["recall@5"].__class__(mean=0.9, n=9)},
            slices={
                "tag:a|b": {"recall@5": one.measures["recall@5"].__class__(mean=float(falling[at]), n=9)}
            },
            release="v1" if at == 2 else "",
        )
        for at, one in enumerate(points(falling))
    ]
    text = markdown(history(made))
    assert "of tag&#58;a&#124;b has crept down" in text
    assert "since the last release at" in text
