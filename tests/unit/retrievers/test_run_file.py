from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import msgspec
import pytest

from rageval_action.core.model.types import Query, Run
from rageval_action.errors import ConfigError, RagevalError
from rageval_action.retrievers.bm25 import Bm25Retriever
from rageval_action.retrievers.interface import OptionValue
from rageval_action.retrievers.run_file import RunFileRetriever
from tests.real_corpora import shared
from tests.unit.retrievers.text_corpora import context, corpus, snapshot, texts

THREE = texts("one", "two", "three")
QUERIES = [Query(id="q1", text="one"), Query(id="q2", text="two")]


def read(path: Path, content: str, depth: int = 10, **options: OptionValue) -> Run:
    path.write_text(content, encoding="utf-8")
    made = RunFileRetriever(context(snapshot(THREE), access="audit", file=str(path), **options))
    return made.retrieve(QUERIES, depth)


def test_a_trec_run_is_ordered_by_its_scores_and_lacks_what_it_lacks(tmp_path: Path) -> None:
    run = read(tmp_path / "run", "q1 Q0 c1 3 0.5 t\nq1 Q0 c3 2 0.5 t\nq1 Q0 c2 1 0.9 t\nq9 Q0 c1 1 1 t\n")
    assert [hit.id for hit in run.rankings[0].hits] == ["c2", "c3", "c1"]
    assert (run.rankings[1].hits, run.rankings[1].error) == ((), "")
    assert run.depth == 3
    assert [notice.code for notice in run.notices] == [
        "run-file.absent-queries", "run-file.other-queries", "run-file.shallow",
    ]  # fmt: skip


def test_the_run_names_the_file_s_content(tmp_path: Path) -> None:
    first, same, other = (
        read(tmp_path / "run", f"q1 Q0 c1 1 {score} t\n").parameters for score in (0.5, 0.5, 0.6)
    )
    assert first == same
    assert first["sha256"] == hashlib.sha256(b"q1 Q0 c1 1 0.5 t\n").hexdigest()
    assert {name for name in first if first[name] != other[name]} == {"sha256"}


def test_json_lines_carry_times_and_errors(tmp_path: Path) -> None:
    lines = [
        {"query_id": "q1", "results": ["c2", "c1"], "latency_ms": {"total": 3.5, "odd": "x"}},
        {"id": "q2", "error": "it was down"},
    ]
    run = read(tmp_path / "run.jsonl", "\n".join(map(json.dumps, lines)), depth=2)
    assert [(hit.id, hit.score) for hit in run.rankings[0].hits] == [("c2", 1.0), ("c1", 0.5)]
    assert run.rankings[0].latency_ms == {"total": 3.5}
    assert run.rankings[1].error == "it was down"


def test_a_query_without_a_json_line_failed(tmp_path: Path) -> None:
    run = read(tmp_path / "run.jsonl", '{"query_id": "q1", "results": []}')
    assert run.rankings[0].error == ""
    assert run.rankings[1].error == "the run file has no line for this query"


def test_documents_may_be_named_in_place_of_chunks(tmp_path: Path) -> None:
    run = read(tmp_path / "run", "q1 Q0 d2 1 0.5 t\n")
    assert [(hit.id, hit.doc) for hit in run.rankings[0].hits] == [("d2", "d2")]
    assert "retriever.unknown-ids" not in [notice.code for notice in run.notices]


def test_what_a_retriever_wrote_is_read_back(tmp_path: Path) -> None:
    made = snapshot(THREE)
    written = Bm25Retriever(context(made)).retrieve(QUERIES, 3)
    lines = "\n".join(msgspec.json.encode(ranking).decode() for ranking in written.rankings)
    assert read(tmp_path / "run.jsonl", lines, depth=3).rankings == written.rankings


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('{"query_id": "q1", "results": []}\n{"query_id": "q1", "results": []}', ":2"),
        ('\n{broken\n{"query_id": "q1", "results": ', ":2"),
        ('{"results": []}', ":1"),
        ('{"query_id": true}', ":1"),
        ("q1 Q0 c1 1 0.5 t\nq1 Q0 c1 2 0.4 t\n", ":2"),
        ("q1 Q0 c1 1 nan t\n", ":1"),
        ("q1 Q0 c1\n", ":1"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, content: str, where: str) -> None:
    with pytest.raises(RagevalError) as caught:
        read(tmp_path / "run", content)
    assert caught.value.where == str(tmp_path / "run") + where
    assert caught.value.exit_code == 2


def test_a_bad_row_of_results_costs_its_query(tmp_path: Path) -> None:
    run = read(tmp_path / "run", '{"query_id": "q1", "results": 7}\n{"query_id": "q2", "results": ["c1"]}')
    assert run.rankings[0].error.startswith("the results are not a list")
    assert run.rankings[1].hits


@pytest.mark.parametrize("line", ['{"query_id": "q1", "res', '{"query_id": "q1", "results": [["c1", NaN]]}'])
def test_a_line_that_cannot_be_read_costs_its_query(tmp_path: Path, line: str) -> None:
    run = read(tmp_path / "run", f'{{"query_id": "q2", "results": ["c1"]}}\n{line}')
    assert run.rankings[0].error == "the run file has no line for this query"
    assert [hit.id for hit in run.rankings[1].hits] == ["c1"]
    assert run.notices[0].code == "run-file.bad-lines"
    assert f"{tmp_path / 'run'}:2: the line is not JSON" in run.notices[0].text


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run")
    with pytest.raises(ConfigError) as caught:
        RunFileRetriever(context(snapshot(THREE), file=str(tmp_path / "run")))
    assert caught.value.code == "run-file.not-a-file"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        RunFileRetriever(context(snapshot(THREE), file=str(tmp_path / "none")))
    assert caught.value.code == "run-file.not-read"


def test_a_published_run_is_read(tmp_path: Path) -> None:
    made, queries, _ = corpus("anthropic_docs")
    path = shared("anthropic_docs") / "published_runs" / "retrieve_base.run.tsv"
    run = RunFileRetriever(context(made, file=str(path))).retrieve(queries, 100)
    assert sum(1 for ranking in run.rankings if ranking.hits) >= 99
    assert run.depth == 3


@pytest.mark.parametrize("times", ["[1]", "5", '"slow"', '{"total": ' + "9" * 400 + "}", '{"total": null}'])
def test_times_that_are_none_are_left_out(tmp_path: Path, times: str) -> None:
    run = read(tmp_path / "run", f'{{"query_id": "q1", "results": ["c1"], "latency_ms": {times}}}')
    assert [hit.id for hit in run.rankings[0].hits] == ["c1"]
    assert run.rankings[0].latency_ms == {}


def test_a_score_that_no_float_holds_costs_its_query(tmp_path: Path) -> None:
    line = '{"query_id": "q1", "results": [["c1", ' + "9" * 400 + "]]}"
    run = read(tmp_path / "run", f'{line}\n{{"query_id": "q2", "results": ["c1"]}}')
    assert run.rankings[0].error == "the score of result 1 is not a finite number"
    assert run.rankings[1].hits


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(RagevalError) as caught:
        RunFileRetriever(context(snapshot(THREE), file="a\0b"))
    assert caught.value.code == "run-file.not-read"


def test_a_git_lfs_pointer_is_named_with_its_real_size(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="1,234 bytes") as caught:
        read(tmp_path / "run", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n")
    assert caught.value.code == "run-file.lfs-pointer"
