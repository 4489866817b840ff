"""What a person reads on a terminal, and what a log gets."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.query_pairs import query_pairs
from rageval_action.core.judging.document import failures
from rageval_action.core.judging.explanation import explain
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.wording.columns import width
from rageval_action.reports import query_explanation as explained
from rageval_action.reports.terminal import plain, show
from rageval_action.reports.view import view
from tests.unit.reports.situations import GOOD, NASTY, Situation, judged, lowered, old, spoilt
from tests.unit.reports.situations import record as measured


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def _view(situation: Situation):
    return view(situation.document, situation.after.record)


def test_no_line_can_be_taken_for_a_command_or_moves_the_cursor(named):
    _, situation = named
    for line in plain(_view(situation)):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
        assert line.isprintable() or all(char.isprintable() or char == "\u200b" for char in line)


def test_a_screen_shows_the_same_in_colour(named, monkeypatch):
    _, situation = named
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Screen()
    show(_view(situation), screen)
    assert "\x1b[" in screen.getvalue()
    assert _view(situation).title in screen.getvalue()


CONTROL = "::b\n\x1b[31mred\u202e[u]x[/u]"
"""Shorter than an id may be, so that nothing of it is cut."""


@pytest.mark.parametrize("text", [*NASTY, CONTROL])
def test_no_string_of_a_view_moves_the_cursor(text, situation):
    for name in ("fail-drop", "by-document", "no-answer"):
        for line in plain(spoilt(_view(situation(name)), text)):
            assert not line.lstrip().startswith("::")
            assert "##[" not in line
            assert line.replace("\u200b", "").isprintable()


def test_ids_and_texts_leave_room_for_each_other(situation):
    row = replace(
        _view(situation("fail-drop")).lost[0], id="i" * 900, query="q" * 900, item="d" * 900, by=("b" * 900,)
    )
    made = list(plain(replace(_view(situation("fail-drop")), lost=(row,))))
    (line,) = [line for line in made if "iii" in line]
    assert len(line) < 200


def test_a_screen_shows_hostile_text_as_text(situation, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("fail-drop", "by-document"):
        screen = Screen()
        show(spoilt(_view(situation(name)), CONTROL), screen)
        shown = screen.getvalue()
        assert "\x1b[31mred" not in shown
        assert "\u202e" not in shown
        lines = [line for line in shown.splitlines() if "red" in line]
        assert lines
        assert all(line.count("[u]x[/u]") == line.count("red") for line in lines)


def test_small_slices_are_one_line_and_quiet_ones_are_counted(situation):
    lines = [line for line in plain(_view(situation("must-not-lose"))) if line.startswith("Slices of fewer")]
    assert lines == ["Slices of fewer than 20 queries: tag:critical 1 worse, 0 better of 6; 2 more."]
    lines = [line for line in plain(_view(situation("pass-unchanged"))) if line.startswith("Slices of fewer")]
    assert lines == ["Slices of fewer than 20 queries: 3 unchanged."]


def test_columns_stay_in_line_whatever_the_script(situation):
    rows = [line for line in plain(_view(situation("many-lost"))) if "outranked by" in line]
    assert len({width(line[: line.index("outranked")]) for line in rows}) == 1


def test_repeated_notes_are_told_once(situation):
    from rageval_action.core.model.types import Notice

    told = situation("pass-unchanged")
    notes = tuple(
        Notice(
            code="golden.id-not-in-snapshot",
            text=f"`old-{at % 2}` is not in the snapshot",
            where=f"golden.jsonl:{at}",
        )
        for at in range(1, 9)
    )
    record = replace(told.after.record, warnings=notes)
    assert view(told.document, record).warnings == (
        "golden.jsonl: `old-1` is not in the snapshot, `old-0` is not in the snapshot (8 rows)",
    )


def test_what_the_retriever_failed_with_is_told_the_commonest_first(situation):
    told = situation("retriever-errors")
    errors = [*["no module named foo"] * 5, *["no answer\n\x1b[31m within 2 s"] * 3, "a", "b", "c" * 500]
    rows = tuple(
        replace(row, error=errors[at] if at < len(errors) else "")
        for at, row in enumerate(told.after.queries)
    )
    found = replace(told.document, failures=failures(rows))
    made = view(found, told.after.record)
    why = "no module named foo (5), no answer [31m within 2 s (3), a (1) and 2 more"
    assert f"The retriever failed for 9 of 60 queries: {why}." in (made.sentence, *made.also)
    assert len(found.failures[-1].text) == 120

    quiet = replace(found, reasons=())
    assert view(quiet, told.after.record).caveats[0] == f"the retriever failed for some queries: {why}"
    assert not view(replace(quiet, failures=()), told.after.record).caveats


def test_a_waiver_is_no_all_clear(situation):
    told = situation("waived")
    made = view(told.document, told.after.record)
    assert (made.alert, made.title) == ("NOTE", "Waived: retrieval got worse")
    assert made.sentence == (
        "recall@5 dropped by 16.7 points; allowed until 2031-06-30 by ana: the archive moves. "
        "The gate holds by a waiver."
    )
    assert not made.caveats


def test_a_waiver_that_is_not_enough_is_named():
    policy = {
        "gates": [{"measure": "recall@5", "max_drop": 0.02}],
        "waivers": [
            {
                "measure": "recall@5",
                "max_drop": 0.1,
                "until": "2031-06-30",
                "owner": "ana",
                "reason": "a move",
            }
        ],
    }
    told = judged(old(measured(GOOD)), measured(lowered(GOOD, range(1, 40, 4), 9)), policy)
    made = view(told.document, told.after.record)
    exceeded = "a waiver of 10.0 points until 2031-06-30 by ana is in force and exceeded"
    assert made.title == "Retrieval got worse"
    assert made.sentence == f"recall@5 dropped by 16.7 points; {exceeded}."
    assert exceeded in made.gates[0].text


@pytest.mark.parametrize("place", [0, 5, 10, 13])
def test_an_explanation_is_safe_and_says_both_ranks(situation, place):
    told = situation("fail-drop")
    pair = query_pairs(told.after, told.before)[place]
    change = next((one for one in told.document.queries if one.id == pair.after.row.query_id), None)
    texts = {text_hash("text of f1"): "first\ntext ::error::" + "t" * 900}
    lines = list(explained.lines(explain(pair, change, texts)))
    assert "t" * explained.SNIPPET not in "".join(lines)
    assert lines[0].startswith(f"{pair.after.row.query_id}, line {place + 1} of the golden set: ")
    assert any(line.startswith("Should find doc-") and " → " in line for line in lines)
    assert any(line.startswith("Base, first 10") for line in lines)
    assert all("\n" not in line for line in lines)


def test_explanations_of_hostile_queries_hold_no_control_characters(situation):
    told = situation("hostile")
    for pair in query_pairs(told.after, told.before):
        for line in explained.lines(explain(pair, None, {})):
            assert all(char.isprintable() or char == "\u200b" for char in line)
