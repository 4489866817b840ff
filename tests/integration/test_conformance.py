"""The conformance pack: every value that trec_eval gives, every spelling it reads, every file nobody should read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from rageval_action.cli.score import score as score_command
from rageval_action.core.measuring.measures import Measure, parse_measure
from rageval_action.core.measuring.scoring import batch, mean, score
from rageval_action.core.measuring.trec_files import parse_qrels, parse_run
from rageval_action.core.model.ranking import order
from rageval_action.core.model.types import Grades
from tests.real_corpora import shared

PAIRS = (
    "edge",
    "edge-missing",
    "edge-level2",
    "edge-only-neg",
    "edge-float32",
    "trec_eval",
    "trec_eval-trunc",
    "trec_eval-level2",
    "cranfield-bm25",
    "cranfield-bm25-codes",
)
NOT_OURS = {"bpref", "num_ret", "num_rel", "num_rel_ret"}
TOLERANCE = 1e-9

Run = dict[str, list[str]]
Qrels = dict[str, dict[str, int]]


def read_pair(folder: Path, qrels: str, run: str) -> tuple[Qrels, Run]:
    judgments = parse_qrels((folder / qrels).read_bytes(), where=qrels)
    rankings = parse_run((folder / run).read_bytes(), where=run).rankings
    return judgments, {query: list(ranking.ids) for query, ranking in rankings.items()}


def values_of(qrels: Qrels, run: Run, names: list[str], level: int = 1) -> dict[str, np.ndarray]:
    seen = batch(
        [run.get(query, []) for query in qrels], [Grades(grades) for grades in qrels.values()], level=level
    )
    measures = {name: parse_measure(name) for name in names}
    values = score(seen, list(dict.fromkeys(measures.values())))
    return {name: values[measure] for name, measure in measures.items()}


def test_the_pairs_are_those_of_the_pack() -> None:
    assert sorted(json.loads((shared("conformance") / "expected.json").read_text())["datasets"]) == sorted(
        PAIRS
    )


@pytest.mark.parametrize("pair", PAIRS)
def test_every_value_of_the_pack(pair: str) -> None:
    folder = shared("conformance")
    expected = json.loads((folder / "expected.json").read_text())["datasets"][pair]
    qrels, run = read_pair(folder, expected["qrels"], expected["run"])
    names = [name for name in expected["mean_over_all_qrels_queries"] if name not in NOT_OURS]
    values = values_of(qrels, run, names, expected["relevance_level"])
    assert set(qrels) == set(expected["per_query"])
    assert len(names) >= 40
    for name in names:
        theirs = [expected["per_query"][query][name] for query in qrels]
        undefined = [value is None for value in theirs]
        assert np.isnan(values[name]).tolist() == undefined, name
        np.testing.assert_allclose(
            values[name][~np.array(undefined)],
            [value for value in theirs if value is not None],
            rtol=0,
            atol=TOLERANCE,
            err_msg=name,
        )
        assert mean(values[name]) == pytest.approx(
            expected["mean_over_all_qrels_queries"][name], rel=0, abs=TOLERANCE
        ), name


CASES = ("i01", "i03", "i05", "i07", "i09", "i11", "i13", "i15", "i17", "i19", "i21", "f01", "f03", "f05")
THEIR_NAMES = {
    "recip_rank": "mrr",
    "map_cut_10": "map@10",
    "ndcg_cut_10": "ndcg@10",
    "P_10": "precision@10",
}
"""Names of the cases that are neither ours nor `name_k`."""
NOT_MEASURED = {"mean mrr, answered only", "mrr with self removed (opt-in)"}
"""What other tools answer; the cases name it beside the right value."""


def ours(name: str) -> str:
    stem, _, cutoff = name.rpartition("_")
    return THEIR_NAMES.get(name, f"{stem}@{cutoff}" if cutoff.isdigit() else name)


@pytest.mark.parametrize("case_id", CASES)
def test_the_questions_of_public_trackers(case_id: str) -> None:
    cases = json.loads((shared("conformance") / "issues" / "cases.json").read_text())
    assert [case["id"] for case in cases] == list(CASES)
    case: dict[str, Any] = cases[CASES.index(case_id)]
    qrels, rows = case["qrels"], case["run"]
    if isinstance(rows, list):
        qrels, rows = {"q": qrels}, {"q": rows}
    run = {
        query: [pairs[at][0] for at in order([name for name, _ in pairs], [value for _, value in pairs])]
        for query, pairs in rows.items()
    }
    for name, value in case["expected"].items():
        if name in NOT_MEASURED:
            continue
        measure = "mrr" if name == "mean mrr, all queries" else ours(name)
        assert mean(values_of(qrels, run, [measure])[measure]) == pytest.approx(value, abs=1e-12), name


def test_a_perfect_ranking_is_one_and_nothing_less() -> None:
    for size in range(1, 60):
        ids = [f"d{at:02}" for at in range(size)]
        grades = {name: size - at for at, name in enumerate(ids)}
        seen = batch([ids], [Grades(grades)])
        for column in score(
            seen, [Measure("ndcg"), Measure("ndcg", 10), Measure("map"), Measure("ndcg_exp", 10)]
        ).values():
            assert column[0] == 1.0


FORMATS = ("plain", "spaces", "tabs", "crlf", "bom", "comments", "nofinal")


@pytest.mark.parametrize("spelling", FORMATS)
def test_every_spelling_of_qrels_reads_alike(spelling: str) -> None:
    folder = shared("conformance") / "formats"
    read = parse_qrels((folder / f"{spelling}.qrels.txt").read_bytes(), where=spelling)
    assert read == {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}


@pytest.mark.parametrize("spelling", [*FORMATS, "blank-lines", "extra-cols"])
def test_every_spelling_of_a_run_reads_alike(spelling: str) -> None:
    folder = shared("conformance") / "formats"
    read = parse_run((folder / f"{spelling}.run.txt").read_bytes(), where=spelling).rankings
    assert {query: (list(one.ids), list(one.scores)) for query, one in read.items()} == {
        "q1": (["d2", "d1"], [2.0, 1.0]),
        "q2": (["d3"], [7.5]),
    }


def test_no_spelling_of_the_pack_is_left_out() -> None:
    names = {path.name for path in (shared("conformance") / "formats").iterdir()}
    assert names == {f"{one}.qrels.txt" for one in FORMATS} | {
        f"{one}.run.txt" for one in (*FORMATS, "blank-lines", "extra-cols")
    }


INVALID = {
    "dup-doc.run.txt": ("trec.duplicate", 3),
    "dup-judgement.qrels.txt": ("trec.duplicate", 2),
    "empty.qrels.txt": ("trec.empty", 0),
    "empty.run.txt": ("trec.empty", 0),
    "five-col.run.txt": ("trec.columns", 1),
    "float-grade.qrels.txt": ("trec.grade", 1),
    "inf-score.run.txt": ("trec.score", 1),
    "nan-score.run.txt": ("trec.score", 1),
    "no-overlap.run.txt": ("trec.no-overlap", 0),
    "three-col.qrels.txt": ("trec.columns", 1),
    "word-grade.qrels.txt": ("trec.grade", 1),
    "word-score.run.txt": ("trec.score", 1),
    "ok.run.txt": ("", 0),
    "ok.qrels.txt": ("", 0),
}
"""File -> the code it is refused with (none: accepted) and its line (0: the whole file)."""


@pytest.mark.parametrize("name", list(INVALID))
def test_broken_files_are_refused_with_their_line(name: str, tmp_path: Path) -> None:
    folder = shared("conformance") / "invalid"
    code, line = INVALID[name]
    files = {"run": "ok.run.txt", "qrels": "ok.qrels.txt"} | {name.split(".")[1]: name}
    words = ["--qrels", str(folder / files["qrels"]), "--run", str(folder / files["run"])]
    done = CliRunner().invoke(score_command, [*words, "--json", str(tmp_path / "out.json")])
    document = json.loads((tmp_path / "out.json").read_text())
    if not code:
        assert done.exit_code == 0
        assert document["schema"] == "rageval.scores/1"
        return
    assert done.exit_code != 0
    assert document["code"] == code
    assert document["where"] == f"{folder / name}{f':{line}' if line else ''}"
    assert document["exit_code"] == 2


def test_no_broken_file_of_the_pack_is_left_out() -> None:
    assert {path.name for path in (shared("conformance") / "invalid").iterdir()} == set(INVALID)


def test_the_command_gives_the_values_of_the_pack(tmp_path: Path) -> None:
    folder = shared("conformance")
    expected = json.loads((folder / "expected.json").read_text())["datasets"]["trec_eval-trunc"]
    words = [
        "--qrels",
        str(folder / expected["qrels"]),
        "--run",
        str(folder / expected["run"]),
        "--per-query",
    ]
    CliRunner().invoke(
        score_command, [*words, "--measures", "ndcg,judged@5,map", "--json", str(tmp_path / "out.json")]
    )
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["queries"] == 3
    for name, scores in found["measures"].items():
        assert scores["mean"] == pytest.approx(expected["mean_over_all_qrels_queries"][name], abs=TOLERANCE)
        for query, value in scores["per_query"].items():
            theirs = expected["per_query"][query][name]
            assert (value is None) == (theirs is None)
            assert math.isclose(value or 0, theirs or 0, abs_tol=TOLERANCE)
