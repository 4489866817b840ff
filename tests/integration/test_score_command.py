"""`rageval score` as a process: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rageval_action.cli.score import score
from tests.small_project import rageval

QRELS = "q1 0 a 2\nq1 0 b 1\nq1 0 x 0\nq2 0 a 1\nq3 0 n 0\nq4 0 z 1\n"
RUN = "q1 Q0 b 1 3 t\nq1 Q0 x 2 2 t\nq1 Q0 a 3 2 t\nq3 Q0 a 1 1 t\nq4 Q0 z 1 9 t\nq9 Q0 a 1 1 t\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    return tmp_path


def scored(folder: Path, *more: str) -> tuple[int, str, str]:
    usual = [("--qrels", "qrels.txt"), ("--run", "run.txt")]
    files = [word for pair in usual if pair[0] not in more for word in pair]
    done = rageval("score", *files, *more, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def as_json(folder: Path, *more: str) -> dict[str, Any]:
    code, out, err = scored(folder, *more, "--json", "-")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_prints_an_aligned_table_and_warns_on_standard_error(folder: Path) -> None:
    code, out, err = scored(folder, "--measures", "recall@1,2,mrr", "--measures", "ndcg@10")
    assert code == 0
    assert out.splitlines() == [
        "recall@1  all  0.3750",
        "recall@2  all  0.3750",
        "mrr       all  0.5000",
        "ndcg@10   all  0.4400",
    ]
    ties = (
        "1 of 4 queries have equal scores on both sides of a cutoff (1, 2, 10): "
        "the document id decides there, descending, as in trec_eval."
    )
    assert err.splitlines() == [
        "warning: 1 query (q2) of the qrels not in the run: scored 0 and counted.",
        "warning: 1 query (q9) of the run not in the qrels: left out.",
        "warning: 1 query (q3) with no judgment of grade 1 or more: scored 0 and counted.",
        f"warning: {ties}",
    ]


def test_ranks_that_contradict_the_scores_are_told_and_do_not_count(folder: Path) -> None:
    def warnings() -> list[str]:
        return [one["text"] for one in as_json(folder)["warnings"] if one["code"] == "trec.rank-contradicts"]

    assert warnings() == []
    before = as_json(folder)["measures"]
    (folder / "run.txt").write_text(RUN.replace(" b 1 3 ", " b 3 3 ").replace(" a 3 2 ", " a 1 2 "))
    told = (
        "the rank column contradicts the scores in 1 of 1 query: the scores decide, as in trec_eval. "
        "Distances must be negated before they are scored."
    )
    assert warnings() == [told]
    assert as_json(folder)["measures"] == before


def test_prints_every_query_before_the_means(folder: Path) -> None:
    _, out, _ = scored(folder, "--measures", "judged@5,hit@1", "--per-query")
    assert out.splitlines() == [
        "judged@5  q1   1.0000",
        "judged@5  q2   undefined",
        "judged@5  q3   0.0000",
        "judged@5  q4   1.0000",
        "hit@1     q1   1.0000",
        "hit@1     q2   0.0000",
        "hit@1     q3   0.0000",
        "hit@1     q4   1.0000",
        "judged@5  all  0.6667",
        "hit@1     all  0.5000",
    ]


def test_json_is_the_contract_and_nothing_else_is_printed(folder: Path) -> None:
    found = as_json(folder, "--measures", "mrr,judged@3", "--per-query")
    assert list(found) == ["schema", "queries", "measures", "warnings"]
    assert found["schema"] == "rageval.scores/1"
    assert found["queries"] == 4
    assert found["measures"] == {
        "mrr": {"mean": 0.5, "per_query": {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 1.0}},
        "judged@3": {"mean": 2 / 3, "per_query": {"q1": 1.0, "q2": None, "q3": 0.0, "q4": 1.0}},
    }
    assert [warning["code"] for warning in found["warnings"]] == [
        "trec.unanswered",
        "trec.without-judgments",
        "trec.nothing-relevant",
        "score.undefined",
    ]
    assert "judged@3 is not defined for 1 of 4 queries" in found["warnings"][-1]["text"]


def test_json_has_no_queries_unless_asked(folder: Path) -> None:
    assert as_json(folder, "--measures", "recall@2")["measures"] == {"recall@2": {"mean": 0.375}}


def test_the_default_measures(folder: Path) -> None:
    assert list(as_json(folder)["measures"]) == [
        "recall@1",
        "recall@3",
        "recall@5",
        "recall@10",
        "hit@5",
        "mrr",
        "ndcg@10",
        "map",
    ]


def test_json_to_a_file_leaves_the_table_on_standard_output(folder: Path) -> None:
    code, out, _ = scored(folder, "--measures", "mrr", "--json", "out.json")
    assert code == 0
    assert out == "mrr  all  0.5000\n"
    assert json.loads((folder / "out.json").read_text())["measures"] == {"mrr": {"mean": 0.5}}


def test_the_relevance_level(folder: Path) -> None:
    found = as_json(folder, "--measures", "recall@3,ndcg", "--relevance-level", "2", "--per-query")
    assert found["measures"]["recall@3"]["per_query"] == {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 0.0}
    assert (
        found["measures"]["ndcg"] == as_json(folder, "--measures", "ndcg", "--per-query")["measures"]["ndcg"]
    )
    assert "3 queries (q2, q3, q4) with no judgment of grade 2 or more" in str(found["warnings"])


def test_a_clean_pair_has_no_warnings(folder: Path) -> None:
    (folder / "run.txt").write_text("q1 Q0 b 1 3 t\n")
    (folder / "qrels.txt").write_text("q1 0 b 1\n")
    assert as_json(folder)["warnings"] == []


def test_only_the_first_queries_of_a_warning_are_named(folder: Path) -> None:
    (folder / "qrels.txt").write_text(QRELS + "".join(f"m{at} 0 a 1\n" for at in range(9)))
    text = as_json(folder)["warnings"][0]["text"]
    assert (
        text
        == "10 queries (q2, m0, m1, m2, m3 and 5 more) of the qrels not in the run: scored 0 and counted."
    )


@pytest.mark.parametrize(
    ("changed", "more", "code", "where"),
    [
        ({"run.txt": "q1 Q0 b 1 3 t\nq1 Q0 b 2 1 t\n"}, (), "trec.duplicate", "run.txt:2"),
        ({"qrels.txt": "q1 0 b high\n"}, (), "trec.grade", "qrels.txt:1"),
        ({"run.txt": "zz Q0 b 1 3 t\n"}, (), "trec.no-overlap", "run.txt"),
        ({}, ("--qrels", "nowhere.txt"), "trec.unreadable", "nowhere.txt"),
        ({}, ("--run", "."), "trec.unreadable", "."),
        ({}, ("--measures", "recal@5"), "config.unknown-measure", ""),
        ({}, ("--measures", ""), "config.unknown-measure", ""),
        ({}, ("--measures", "recall"), "config.bad-cutoff", ""),
    ],
)
def test_bad_input_ends_with_two_one_message_and_an_error_document(
    folder: Path, changed: dict[str, str], more: tuple[str, ...], code: str, where: str
) -> None:
    for name, text in changed.items():
        (folder / name).write_text(text)
    status, out, err = scored(folder, *more, "--json", "-")
    document = json.loads(out)
    assert status == 2
    assert list(document) == ["schema", "code", "message", "hint", "where", "exit_code"]
    assert (document["schema"], document["exit_code"]) == ("rageval.error/1", 2)
    assert (document["code"], document["where"]) == (code, where)
    assert err.startswith(f"rageval: {where + ': ' if where else ''}{document['message']}")
    assert "Traceback" not in err


def test_a_json_file_that_cannot_be_written_is_told(folder: Path) -> None:
    status, out, err = scored(folder, "--json", "missing/out.json")
    assert (status, out) == (2, "")
    assert err == "rageval: missing/out.json: cannot write the JSON file: No such file or directory.\n"


def test_what_went_wrong_first_is_told_even_if_the_json_file_cannot_be_written(folder: Path) -> None:
    status, _, err = scored(folder, "--measures", "recal@5", "--json", "missing/out.json")
    assert status == 2
    assert 'there is no measure "recal@5"' in err


@pytest.mark.parametrize("level", ["0", "-1", "x"])
def test_a_relevance_level_below_one_is_refused(folder: Path, level: str) -> None:
    words = [
        "--qrels",
        str(folder / "qrels.txt"),
        "--run",
        str(folder / "run.txt"),
        "--relevance-level",
        level,
    ]
    assert CliRunner().invoke(score, words).exit_code == 2
