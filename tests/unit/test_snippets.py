"""A piece of the text that took a place, and what must not be shown."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from rageval_action.cli.texts import snippets
from rageval_action.reports.view import view
from tests.unit.reports.situations import drop


@pytest.fixture
def made(tmp_path):
    told = drop()
    rows = [
        {"id": "f1#0", "doc": "f1", "text": "the text of\nf1 " + "long " * 40},
        {"id": "f2#0", "doc": "f2", "text": "for managers", "acl": {"groups": ["managers"]}},
        {"id": "f5#0", "doc": "f5", "text": "the text of f5"},
    ]
    (tmp_path / "chunks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    record = replace(told.after.record, snapshot=replace(told.after.record.snapshot, path=str(tmp_path)))
    return told, replace(told.after, record=record)


def test_the_text_of_the_first_rival_is_found(made):
    told, run = made
    assert snippets(told.told, run) == {
        "f1": "the text of\nf1 " + "long " * 40,
        "f5": "the text of f5",
    }


def test_the_row_shows_a_short_piece_on_one_line(made):
    told, run = made
    shown = view(told.told, run.record, snippets=snippets(told.told, run)).lost[0].snippet
    assert shown.startswith("the text of f1 long")
    assert len(shown) <= 110
    assert shown.endswith("…")


def test_what_not_everybody_may_see_is_not_shown(made):
    told, run = made
    assert "f2" not in snippets(told.told, run)


@pytest.mark.parametrize("content", ["not json\n", '{"id": 3}\n', ""])
def test_texts_that_cannot_be_read_are_left_out(made, tmp_path, content):
    told, run = made
    (tmp_path / "chunks.jsonl").write_text(content)
    assert snippets(told.told, run) == {}
    (tmp_path / "chunks.jsonl").unlink()
    assert snippets(told.told, run) == {}


def test_nothing_lost_reads_nothing():
    assert (
        snippets(SimpleNamespace(queries=()), SimpleNamespace(queries=(), record=drop().after.record)) == {}
    )
