"""The example project is what it says it is: labels, quotes, snapshots, and the story that the demo tells."""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rageval_action import pipeline
from rageval_action.cli.configuration import configure
from rageval_action.config import Config
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.judging.policy import DropGate, FloorGate, KeepGate
from rageval_action.core.model.hashing import query_key
from rageval_action.core.model.record import Record, RunRecord
from rageval_action.core.model.snapshot import Snapshot
from rageval_action.snapshots.read import read_snapshot
from rageval_action.world import real_world
from tools.build_examples import BASELINE, CANDIDATE, FRONT_MATTER, Plan, chunks_of, read_documents, split

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CJK = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def documents() -> dict[str, str]:
    return read_documents()


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (EXAMPLES / "golden.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module", params=["baseline", "candidate"])
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    return read_snapshot(EXAMPLES / request.param)


def judged_ids(row: dict[str, Any]) -> set[str]:
    return {*row.get("relevant", ()), *(name for group in row.get("any_of", ()) for name in group)}


def plan_of(snapshot: Snapshot) -> Plan:
    return {"baseline": BASELINE, "candidate": CANDIDATE}[Path(snapshot.path).name]


# documents


def test_documents_are_enough_and_of_a_readable_length(documents: dict[str, str]) -> None:
    assert len(documents) >= 65
    chinese = [name for name, text in documents.items() if len(CJK.findall(text)) >= 200]
    assert len(chinese) >= 12
    for name, text in documents.items():
        words = len(re.findall(r"[^\W\u4e00-\u9fff]+", text)) + len(CJK.findall(text)) / 2
        assert 110 <= words <= 450, f"{name}: {words}"


def test_two_documents_share_their_whole_text_and_some_restrict_their_readers(
    documents: dict[str, str],
) -> None:
    repeated = [text for text, times in Counter(documents.values()).items() if times > 1]
    assert repeated == [documents["notice-examples"]]
    assert sum(FRONT_MATTER.match(text) is not None for text in documents.values()) >= 6


def test_error_codes_that_are_documented_exist(documents: dict[str, str]) -> None:
    source = "".join(path.read_text("utf-8") for path in (EXAMPLES.parent / "rageval_action").rglob("*.py"))
    codes = re.findall(r"^\| `([a-z]+\.[a-z-]+)`", documents["error-codes"], re.MULTILINE)

    assert len(codes) >= 10
    assert [code for code in codes if f'"{code}"' not in source] == []


def test_readme_counts_what_is_there(documents: dict[str, str], rows: list[dict[str, Any]]) -> None:
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    chunks = [len(chunks_of(plan, documents)) for plan in (BASELINE, CANDIDATE)]
    restricted = sum(FRONT_MATTER.match(text) is not None for text in documents.values())
    exact = sum("exact-term" in row["tags"] and row["answerable"] for row in rows)

    assert f"{len(documents)} short documents" in readme
    assert f"{len(rows)} questions labelled by hand" in readme
    assert "falls from {} to {}".format(*chunks) in readme
    assert restricted == 8
    assert "Eight documents begin" in readme
    assert f"`tag:exact-term` ({exact} questions)" in readme
    assert sum(not row["answerable"] for row in rows) == 12
    assert "Twelve questions have no answer" in readme
    chinese = sum(len(CJK.findall(text)) >= 200 for text in documents.values())
    assert f"{chinese} documents in Traditional Chinese" in readme
    assert 0.04 < 5 / len(documents) < 0.05
    assert "more than four percent of the corpus" in readme
    assert sum("evidence" in row for row in rows) > len(rows) / 2
    assert "Most questions carry an evidence quote" in readme


# golden set


def test_golden_set_reads_without_a_finding() -> None:
    from rageval_action.golden.formats import read_golden

    golden = read_golden(str(EXAMPLES / "golden.jsonl"))

    assert golden.notices == ()
    assert [query.id for query in golden.queries] == [f"q{n:03d}" for n in range(1, len(golden.queries) + 1)]


def test_every_quote_stands_in_its_document_where_it_says(
    documents: dict[str, str], rows: list[dict[str, Any]]
) -> None:
    for row in rows:
        for item in row.get("evidence", ()):
            text, quote = documents[item["doc"]], item["quote"]
            assert quote in text, f"{row['id']}: {quote}"
            assert text.count(quote) == 1 or "start" in item, f"{row['id']}: which one?"
            if "start" in item:
                assert text.startswith(quote, item["start"]), f"{row['id']}: start"
            assert item["doc"] in judged_ids(row), f"{row['id']}: evidence in an unjudged document"


def test_every_judged_id_is_a_document(documents: dict[str, str], rows: list[dict[str, Any]]) -> None:
    named = set().union(*(judged_ids(row) for row in rows))
    assert named <= documents.keys()
    assert len(named) >= 0.9 * len(documents)  # few documents that no question points at


def test_no_question_is_asked_twice_by_the_same_person(rows: list[dict[str, Any]]) -> None:
    asked = Counter((" ".join(row["query"].casefold().split()), json.dumps(row.get("acl"))) for row in rows)
    assert [question for question, times in asked.items() if times > 1] == []
    assert len({row["id"] for row in rows}) == len(rows)


def test_golden_set_covers_what_the_demo_needs(rows: list[dict[str, Any]]) -> None:
    langs = Counter(row["lang"] for row in rows)
    types = Counter(row["type"] for row in rows)
    tags = Counter(tag for row in rows for tag in row["tags"])
    answerable = [row for row in rows if row["answerable"]]

    assert len(rows) >= 85
    assert set(langs) == {"en", "zh-Hant"}
    assert langs["zh-Hant"] >= 25
    assert set(types) == {"lookup", "how-to", "concept", "comparison", "exact-term"}
    assert min(types.values()) >= 10
    for tag in (
        "measures",
        "statistics",
        "ci",
        "golden",
        "snapshot",
        "acl",
        "exact-term",
        "critical",
        "troubleshooting",
    ):
        assert tags[tag] >= 12, tag
    assert tags["exact-term"] >= 20
    assert tags["cross-lingual"] >= 6
    assert sum(1 for row in rows if row.get("evidence")) >= 30
    assert sum(1 for row in rows for item in row.get("evidence", ()) if "start" in item) >= 10
    assert sum(1 for row in answerable if len(row.get("relevant", ())) >= 2) >= 20
    assert sum(1 for row in answerable if isinstance(row.get("relevant"), dict)) >= 20
    assert sum(1 for row in answerable if "any_of" in row) >= 8
    assert len(rows) - len(answerable) >= 6
    assert sum("acl" in row for row in rows) >= 6
    assert {row["source"] for row in rows} == {"human"}


def test_unanswerable_rows_name_nothing_to_find(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert row["answerable"] == bool(judged_ids(row)), row["id"]


def test_members_find_a_document_that_strangers_are_not_promised(
    documents: dict[str, str], rows: list[dict[str, Any]]
) -> None:
    closed = {name for name, text in documents.items() if FRONT_MATTER.match(text)}
    by_text: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if judged_ids(row) & closed:
            assert "acl" in row, f"{row['id']} finds a restricted document but names nobody"
        by_text.setdefault(row["query"], []).append(row)
    asked_by_several = [group for group in by_text.values() if len(group) > 1]
    assert len(asked_by_several) >= 3
    for group in asked_by_several:
        assert len({json.dumps(row["acl"]) for row in group}) == len(group)
        assert len({json.dumps(row.get("relevant")) for row in group}) == len(group)


# snapshots


def test_snapshots_load_and_carry_every_query_vector(snapshot: Snapshot, rows: list[dict[str, Any]]) -> None:
    manifest = snapshot.manifest
    assert manifest.normalised
    assert (manifest.dimension, manifest.dtype) == (384, "float16")
    for row in rows:
        key = query_key(
            model=manifest.model, revision=manifest.revision, prefix=manifest.query_prefix, text=row["query"]
        )
        vector = snapshot.query_vectors[key]
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-3)


def test_snapshots_are_made_from_the_documents_as_they_stand(
    snapshot: Snapshot, documents: dict[str, str]
) -> None:
    made, stored = chunks_of(plan_of(snapshot), documents), list(snapshot.chunks)
    assert stored == made


def test_chunks_are_verbatim_spans_and_lose_no_text(documents: dict[str, str]) -> None:
    for plan in (BASELINE, CANDIDATE):
        for name, text in documents.items():
            spans = split(text, plan.size)
            front = FRONT_MATTER.match(text)
            edges = [front.end() if front else 0, *(at for span in spans for at in span), len(text)]
            assert edges == sorted(edges), name
            assert all(0 < end - start <= plan.size for start, end in spans), name
            gaps = "".join(text[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2))
            assert gaps.strip() == "", name


def test_snapshots_are_small_enough_for_a_repository() -> None:
    files = [path for path in EXAMPLES.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 2_000_000


def test_candidate_differs_as_its_plan_says() -> None:
    before, after = (read_snapshot(EXAMPLES / name) for name in ("baseline", "candidate"))
    old, new = ({chunk.doc for chunk in side.chunks} for side in (before, after))
    texts = {name: {chunk.text for chunk in before.chunks if chunk.doc == name} for name in old}
    moved = {chunk.text for chunk in after.chunks if chunk.doc == "accept-a-loss"}

    assert old - new == {"snapshot-build", "overrides"}
    assert moved == texts["overrides"]
    assert {name.removesuffix("-archive") for name in new - old - {"accept-a-loss"}} == {
        name for name in old if name.startswith(("measure-", "retriever-"))
    }


# the story


@pytest.fixture(scope="module")
def candidate() -> Record:
    return evaluated("candidate").record


@pytest.fixture(scope="module")
def told() -> ComparisonDocument:
    baseline = pipeline.Baseline(record=evaluated("baseline"), rung="snapshot")
    policy = settings("candidate").policy
    return pipeline.conclude(evaluated("candidate"), baseline, policy, today=datetime.date(2026, 12, 1))


@functools.cache
def evaluated(name: str) -> RunRecord:
    return pipeline.evaluate(settings(name), real_world(EXAMPLES))


def settings(name: str) -> Config:
    return configure({"snapshot": str(EXAMPLES / name)}, str(EXAMPLES / "rageval.yml"))


def test_demo_shows_a_regression_that_the_gate_stops(told: ComparisonDocument) -> None:
    headline = next(row for row in told.measures if row.measure == "recall@5" and row.slice is None)

    assert (told.verdict, told.exit_code) == ("fail", 1)
    assert [gate.state for gate in told.gates[:2]] == ["inconclusive", "fail"]
    assert headline.delta < -0.02
    assert headline.better >= 3


def test_demo_shows_several_causes_and_gains_too(told: ComparisonDocument) -> None:
    lost = {change.cause for change in told.queries if change.change == "lost"}

    assert lost == {"duplicate", "outranked", "acl-filtered"}
    assert sum(change.change == "gained" for change in told.queries) >= 2
    assert told.turnover is not None
    assert told.turnover.rechunked


def test_demo_shows_a_slice_that_cannot_be_decided(told: ComparisonDocument) -> None:
    undecided = [result.gate for result in told.gates if result.state == "inconclusive"]

    assert any(isinstance(gate, DropGate) and gate.slice for gate in undecided)
    assert any(result.state == "pass" for result in told.gates)


def test_readme_tells_what_the_demo_shows(told: ComparisonDocument, rows: list[dict[str, Any]]) -> None:
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    headline = next(row for row in told.measures if row.measure == "recall@5" and row.slice is None)
    states = {gate.text.partition(" dropped")[0]: gate.state for gate in told.gates}
    critical, floor = (
        next(result for result in told.gates if isinstance(result.gate, kind))
        for kind in (KeepGate, FloorGate)
    )
    notes = {note.code: note.text for note in told.warnings}

    assert (round(-100 * headline.delta), headline.n, headline.unknown) == (3, 158, 4)
    assert "Recall@5 falls by about three points over the 158 questions that could be marked" in readme
    assert (states["recall@5"], states["recall@5 of tag:exact-term"]) == ("inconclusive", "inconclusive")
    assert states["mrr"] == "fail"
    assert "The gate of `mrr` fails" in readme
    assert critical.state == "pass"
    assert "No critical question is lost" in readme
    assert isinstance(floor.gate, FloorGate)
    assert (floor.state, floor.gate.min) == ("pass", 0.6)
    assert "The floor of 0.60 holds" in readme
    assert len(told.access.base_only) == 1
    about = {row["id"] for row in rows if "snapshot-build" in judged_ids(row)}
    assert {one.id for one in told.exams["base"].unknown} == about
    assert all(name in notes["labels.gone"] for name in about)
    assert all(name in notes["labels.followed"] for name in ("q036", "q037", "q038", "q039"))


def test_no_answer_track_looks_better_as_told(candidate: Record) -> None:
    assert (
        candidate.no_answer.false_retrieval_rate < evaluated("baseline").record.no_answer.false_retrieval_rate
    )


def test_demo_measures_questions_without_an_answer(candidate: Record) -> None:
    assert candidate.no_answer.n >= 6
    assert 0 < candidate.no_answer.false_retrieval_rate < 1
    assert candidate.acl_violations == 0
