"""A piece of the text that took a place, and what must not be shown."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from rageval_action.cli.rival_snippets import snippets
from rageval_action.core.model.hashing import text_hash
from rageval_action.reports.view import view
from tests.unit.reports.situations import drop

LONG, SECRET = "the text of\nf1 " + "long " * 40, "for managers"
TEXTS = {"f1#0": LONG, "f2#0": SECRET}


@pytest.fixture
def made(tmp_path):
    told = drop()
    rows = [
        {"id": "f1#0", "doc": "f1", "text": LONG},
        {"id": "f2#0", "doc": "f2", "text": SECRET, "acl": {"groups": ["managers"]}},
        {"id": "f5#0", "doc": "f5", "text": "text of f5"},
    ]
    (tmp_path / "chunks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    record = replace(told.after.record, snapshot=replace(told.after.record.snapshot, path=str(tmp_path)))
    queries = tuple(
        replace(
            row,
            results=tuple(
                replace(hit, text_hash=text_hash(TEXTS.get(hit.id, f"text of {hit.doc}")))
                for hit in row.results
            ),
        )
        for row in told.after.queries
    )
    return told, replace(told.after, record=record, queries=queries)


def test_the_text_of_the_first_rival_is_found(made):
    told, run = made
    first = {change.id: change.by[0] for change in told.document.queries if change.by}
    found = snippets(told.document, run)
    assert set(found.values()) == {LONG, "text of f5"}
    assert all(text == {"f1": LONG, "f5": "text of f5"}[first[query]] for query, text in found.items())


def test_a_text_that_is_not_the_one_that_was_found_is_not_shown(made):
    told, run = made
    other = tuple(
        replace(row, results=tuple(replace(hit, text_hash="0" * 16) for hit in row.results))
        for row in run.queries
    )
    assert snippets(told.document, replace(run, queries=other)) == {}


def test_each_query_shows_the_chunk_that_beat_it(made, tmp_path):
    told, run = made
    with (tmp_path / "chunks.jsonl").open("a") as rows:
        rows.write(json.dumps({"id": "f1#1", "doc": "f1", "text": "another part of f1"}) + "\n")
    change = next(one for one in told.document.queries if one.by and one.by[0] == "f1")
    second = tuple(
        replace(
            row,
            results=tuple(
                replace(hit, id="f1#1", text_hash=text_hash("another part of f1")) if hit.doc == "f1" else hit
                for hit in row.results
            ),
        )
        if row.query_id == change.id
        else row
        for row in run.queries
    )
    found = snippets(told.document, replace(run, queries=second))
    assert found.pop(change.id) == "another part of f1"
    assert "another part of f1" not in found.values()


def test_the_row_shows_a_short_piece_on_one_line(made):
    told, run = made
    shown = view(told.document, run.record, snippets=snippets(told.document, run)).lost[0].snippet
    assert shown.startswith("the text of f1 long")
    assert len(shown) <= 110
    assert shown.endswith("…")


def test_what_not_everybody_may_see_is_not_shown(made):
    told, run = made
    lost = next(one for one in told.document.queries if one.by)
    changes = replace(told.document, queries=(replace(lost, by=("f2",)),))
    assert snippets(changes, run) == {}


@pytest.mark.parametrize("content", ["not json\n", '{"id": 3}\n', ""])
def test_texts_that_cannot_be_read_are_left_out(made, tmp_path, content):
    told, run = made
    (tmp_path / "chunks.jsonl").write_text(content)
    assert snippets(told.document, run) == {}
    (tmp_path / "chunks.jsonl").unlink()
    assert snippets(told.document, run) == {}


def test_nothing_lost_reads_nothing():
    assert (
        snippets(SimpleNamespace(queries=()), SimpleNamespace(queries=(), record=drop().after.record)) == {}
    )
