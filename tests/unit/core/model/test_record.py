"""A record survives its own bytes, and no foreign bytes survive a record."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable

import pytest

from rageval_action.core.model import record as module
from rageval_action.core.model.record import CORPUS, MEMBERS, RANKINGS, RECORD, RunRecord, decode, encode
from rageval_action.core.model.types import EvidenceItem, EvidenceItems, Grades, Groups, Notice, Unanswerable
from rageval_action.errors import RecordError
from tests.synthetic_runs import amended, plain_chunks, ranked, row, run

CORPUS_CHUNKS = plain_chunks(["a", "b", "c"])


@pytest.fixture
def full() -> RunRecord:
    """Every kind of judgment, undefined scores, errors, unusual texts."""
    item = EvidenceItem(doc="a", quote='a "quote" | `x`', start=3, chunks=("a#0",))
    rows = [
        row(
            "q1",
            ["a", "b"],
            {"a": 2, "c": 0, "b": -1},
            CORPUS_CHUNKS,
            tags=("x", "y"),
            type="lookup",
            lang="zh-TW",
        ),
        row("q2", [], Groups((("a", "b"), ("c",))), CORPUS_CHUNKS, error="timeout\nafter 3 s"),
        row("q3", ["b"], EvidenceItems((item,)), CORPUS_CHUNKS, query="如何輪換憑證？\u2028 \U0001f600"),
        row("q4", ["c"], Unanswerable(), CORPUS_CHUNKS, latency_ms={"total": 1.25}),
    ]
    made = run(rows, CORPUS_CHUNKS, measures=("recall@5", "judged@5", "map"), threshold=0.5)
    return amended(
        made, warnings=(Notice(code="x", text="y", where="z"),), policy={"k": 5, "gates": [{"min": 0.8}]}
    )


def same(one: RunRecord, other: RunRecord) -> bool:
    return one.record == other.record and one.queries == other.queries and encode(one) == encode(other)


def test_round_trip_is_byte_identical(full: RunRecord) -> None:
    members = encode(full)
    assert tuple(members) == MEMBERS
    again = decode(members, where="run")
    assert same(full, again)
    assert encode(again) == members


def test_members_are_readable_text(full: RunRecord) -> None:
    members = encode(full)
    summary = json.loads(members[RECORD])
    assert summary["schema"] == "rageval.record/1"
    assert summary["measures"]["recall@5"]["n"] == 3
    assert members[RECORD].endswith(b"}\n")
    lines = members[RANKINGS].decode().splitlines()
    assert len(lines) != 4, "U+2028 ends a line for str.splitlines, never for the reader"
    rows = [json.loads(line) for line in members[RANKINGS].split(b"\n")[:-1]]
    assert [one["query_id"] for one in rows] == ["q1", "q2", "q3", "q4"]
    assert rows[0]["results"][0]["rank"] == 1
    assert rows[1]["scores"]["judged@5"] is None


def test_keys_are_in_one_order(full: RunRecord) -> None:
    turned = amended(full, versions={"b": "1", "a": "2"}), amended(full, versions={"a": "2", "b": "1"})
    assert encode(turned[0]) == encode(turned[1])


@pytest.mark.parametrize("name", MEMBERS)
def test_a_missing_member_is_named(full: RunRecord, name: str) -> None:
    members = encode(full)
    del members[name]
    with pytest.raises(RecordError, match=name) as caught:
        decode(members, where="run.zip")
    assert (caught.value.code, caught.value.where) == ("record.missing-member", "run.zip")


def edit(change: Callable[[dict[str, object]], object]) -> Callable[[dict[str, bytes]], None]:
    def apply(members: dict[str, bytes]) -> None:
        values = json.loads(members[RECORD])
        change(values)
        members[RECORD] = json.dumps(values).encode()

    return apply


def replace_record(data: bytes) -> Callable[[dict[str, bytes]], None]:
    return lambda members: members.update({RECORD: data})


HEADS: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "empty": (replace_record(b""), "record.bad-json"),
    "not json": (replace_record(b"<html>"), "record.bad-json"),
    "a list": (replace_record(b"[]"), "record.bad-json"),
    "deep": (
        replace_record(b'{"schema":"rageval.record/1","policy":' + b'{"a":' * 100_000),
        "record.bad-json",
    ),
    "not utf-8": (replace_record(b'{"schema":"\xff"}'), "record.bad-json"),
    "no schema": (edit(lambda v: v.pop("schema")), "record.newer-schema"),
    "newer": (edit(lambda v: v.update(schema="rageval.record/2")), "record.newer-schema"),
    "wrong type": (edit(lambda v: v.update(k="five")), "record.bad-json"),
    "k of nothing": (edit(lambda v: v.update(k=0)), "record.bad-json"),
    "negative errors": (edit(lambda v: v.update(errors=-1)), "record.bad-json"),
    "no queries": (edit(lambda v: v["golden"].update(queries=0)), "record.bad-json"),
    "no depth": (edit(lambda v: v["retriever"].update(depth=0)), "record.bad-json"),
    "missing field": (edit(lambda v: v.pop("golden")), "record.bad-json"),
    "time without zone": (edit(lambda v: v.update(created_at="2031-05-04T12:00:00")), "record.bad-json"),
    "unknown access": (edit(lambda v: v.update(acl_mode="none")), "record.bad-json"),
    "other count": (edit(lambda v: v["golden"].update(queries=5)), "record.row-count"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_bad_summary_is_refused(full: RunRecord, name: str) -> None:
    spoil, code = HEADS[name]
    members = encode(full)
    spoil(members)
    with pytest.raises(RecordError) as caught:
        decode(members, where="run")
    assert caught.value.code == code
    assert caught.value.where.startswith("run/")


ROWS: dict[str, bytes] = {
    "not json": b"{",
    "empty line": b"",
    "NaN": b'{"query_id":"q","query_sha256":"","judgments":{"type":"unanswerable"},"scores":{"mrr":NaN}}',
    "infinity": b'{"query_id":"q","query_sha256":"","judgments":{"type":"unanswerable"},"scores":{"mrr":1e999}}',
    "huge grade": b'{"query_id":"q","query_sha256":"","judgments":{"type":"grades","grades":{"a":99999999999}}}',
    "no judgments": b'{"query_id":"q","query_sha256":""}',
    "number for id": b'{"query_id":7,"query_sha256":"","judgments":{"type":"unanswerable"}}',
    "other judgments": b'{"query_id":"q","query_sha256":"","judgments":{"type":"opinion"}}',
    "deep": b'{"query_id":' + b"[" * 100_000,
    "lone surrogate": b'{"query_id":"\\ud800","query_sha256":"","judgments":{"type":"unanswerable"}}',
}


@pytest.mark.parametrize("name", ROWS)
def test_a_bad_row_is_refused_with_its_line(full: RunRecord, name: str) -> None:
    members = encode(full)
    members[RANKINGS] += ROWS[name] + b"\n"
    with pytest.raises(RecordError) as caught:
        decode(members, where="run")
    assert (caught.value.code, caught.value.where) == ("record.bad-json", "run/rankings.jsonl:5")


def test_a_query_may_not_occur_twice(full: RunRecord) -> None:
    members = encode(full)
    members[RANKINGS] += members[RANKINGS].split(b"\n")[0] + b"\n"
    with pytest.raises(RecordError, match='"q1" occurs twice') as caught:
        decode(members, where="run")
    assert (caught.value.code, caught.value.where) == ("record.duplicate-query", "run/rankings.jsonl:5")


def test_a_ranking_may_not_be_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    members = encode(ranked([1]))
    held = len(decode(members, where="run").queries[0].results)
    monkeypatch.setattr(module, "MAX_RESULTS", held)
    decode(members, where="run")
    monkeypatch.setattr(module, "MAX_RESULTS", held - 1)
    with pytest.raises(RecordError) as caught:
        decode(members, where="run")
    assert (caught.value.code, caught.value.where) == ("record.too-large", "run/rankings.jsonl:1")


def test_a_bad_corpus_is_named(full: RunRecord) -> None:
    members = encode(full)
    members[CORPUS] = members[CORPUS][:100]
    with pytest.raises(RecordError) as caught:
        decode(members, where="run")
    assert (caught.value.code, caught.value.where) == ("record.bad-corpus", "run/corpus.npz")


def test_every_truncation_is_refused(full: RunRecord) -> None:
    members = encode(full)
    for name in MEMBERS:
        for end in range(0, len(members[name]) - 2, 97):
            cut = {**members, name: members[name][:end]}
            with pytest.raises(RecordError):
                decode(cut, where="run")


def test_grades_are_those_of_trec_eval(full: RunRecord) -> None:
    limit = 2**31 - 1
    kept = decode(encode(run([row("q", [], {"a": limit}, CORPUS_CHUNKS)], CORPUS_CHUNKS)), where="run")
    assert kept.queries[0].judgments == Grades({"a": limit})


def test_instants_keep_their_zone(full: RunRecord) -> None:
    zone = datetime.timezone(datetime.timedelta(hours=8))
    moved = amended(full, created_at=datetime.datetime(2031, 1, 1, tzinfo=zone))
    assert decode(encode(moved), where="x").record.created_at == moved.record.created_at
