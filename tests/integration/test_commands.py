"""The commands as processes: files in, files and exit codes out."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from rageval_action.core.model.record import MEMBERS, Record
from rageval_action.errors import ConfigError
from tests.small_project import CHILD_PATH, DOCUMENTS, GOLDEN, ROOT, rageval, write_golden, write_index


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_golden(tmp_path / "golden.jsonl")
    write_index(tmp_path / "index")
    return tmp_path


def evaluate(project: Path, out: str, *more: str | Path) -> tuple[int, str, str]:
    words = ("evaluate", "--golden", "golden.jsonl", "--snapshot", "index", "--out", out, *more)
    done = rageval(*words, cwd=project)
    return done.returncode, done.stdout, done.stderr


class TestEvaluate:
    def test_writes_a_record_that_reads_back(self, project: Path) -> None:
        code, out, err = evaluate(project, "run")
        assert code == 0, err
        assert sorted(path.name for path in (project / "run").iterdir()) == sorted(MEMBERS)
        record = msgspec.json.decode((project / "run" / "record.json").read_bytes(), type=Record)
        assert record.golden.unit == "document"
        assert record.golden.answerable == 7
        assert record.measures["recall@5"].n == 7
        assert 0.5 < (record.measures["recall@5"].mean or 0) <= 1
        assert "No baseline" in out
        assert "\x1b[" not in out

    def test_json_to_standard_output_is_the_record_and_nothing_else(self, project: Path) -> None:
        code, out, _ = evaluate(project, "run", "--json", "-")
        assert code == 0
        assert msgspec.json.decode(out, type=Record).schema_name == "rageval.record/1"

    def test_two_documents_do_not_go_into_one_stream(self, project: Path) -> None:
        code, out, err = evaluate(project, "run", "--json", "-", "--markdown", "-")
        assert code == 2
        assert json.loads(out)["code"] == "config.output"
        assert "--json - and --markdown - would both be written to standard output" in err
        assert not (project / "run").exists()
        assert rageval("compare", "a", "b", "--json", "-", "--markdown", "-", cwd=project).stdout == out

    def test_never_writes_into_a_folder_that_holds_something(self, project: Path) -> None:
        (project / "run").mkdir()
        (project / "run" / "mine.txt").write_text("keep me")
        code, _, err = evaluate(project, "run")
        assert code == 2
        assert "run: it exists and is not an empty folder" in err
        assert [path.name for path in (project / "run").iterdir()] == ["mine.txt"]

    def test_an_empty_folder_is_fine(self, project: Path) -> None:
        (project / "run").mkdir()
        assert evaluate(project, "run")[0] == 0

    def test_same_input_twice_gives_the_same_bytes_but_for_exempt_fields(self, project: Path) -> None:
        from rageval_action.core.model.record import EXEMPT_FIELDS

        assert evaluate(project, "one")[0] == evaluate(project, "two")[0] == 0

        def kept(folder: str, name: str) -> list[dict[str, object]]:
            lines = (project / folder / name).read_text().splitlines()
            rows = (
                [json.loads(line) for line in lines] if name.endswith("l") else [json.loads("\n".join(lines))]
            )
            return [{key: row[key] for key in row if key not in EXEMPT_FIELDS} for row in rows]

        assert kept("one", "record.json") == kept("two", "record.json")
        assert kept("one", "rankings.jsonl") == kept("two", "rankings.jsonl")
        assert (project / "one" / "corpus.npz").read_bytes() == (project / "two" / "corpus.npz").read_bytes()

    def test_identical_snapshot_passes_against_its_own_record(self, project: Path) -> None:
        evaluate(project, "before")
        code, out, err = evaluate(project, "after", "--baseline", "before")
        assert code == 0, err
        assert out.startswith("No retrieval regression.")
        told = json.loads((project / "after" / "comparison.json").read_text())
        assert told["verdict"] == "pass"
        assert all(row["delta"] == 0 and row["ci"] == [0, 0] for row in told["measures"])

    def test_a_lost_document_fails_names_the_query_and_the_cause(self, project: Path) -> None:
        (project / "rageval.yml").write_text(
            "gates: [{measure: recall@5, max_drop: 0.02, rule: observed}]\n", encoding="utf-8"
        )
        evaluate(project, "before")
        fewer = {name: text for name, text in DOCUMENTS.items() if name != "sql-log"}
        write_index(project / "smaller", fewer)
        done = rageval(
            "evaluate",
            "--golden",
            "golden.jsonl",
            "--snapshot",
            "smaller",
            "--out",
            "after",
            "--baseline",
            "before",
            "--markdown",
            "comment.md",
            cwd=project,
        )
        assert done.returncode == 1
        assert "Retrieval got worse" in done.stdout
        assert "not-indexed" in done.stdout
        told = json.loads((project / "after" / "comparison.json").read_text())
        assert told["verdict"] == "fail"
        assert told["exit_code"] == 1
        lost = told["queries"][0]
        assert (lost["id"], lost["change"], lost["cause"]) == ("q2", "lost", "not-indexed")
        assert (project / "comment.md").read_text().startswith("> [!CAUTION]\n> **Retrieval got worse.**")

    def test_labels_follow_a_renamed_document(self, project: Path) -> None:
        evaluate(project, "before")
        renamed = {name.replace("sql-log", "sql-log-9002"): text for name, text in DOCUMENTS.items()}
        write_index(project / "renamed", renamed)
        done = rageval(
            "evaluate",
            "--golden",
            "golden.jsonl",
            "--snapshot",
            "renamed",
            "--out",
            "after",
            "--baseline",
            "before",
            "--json",
            "-",
            cwd=project,
        )
        assert done.returncode == 0
        told = json.loads((project / "after" / "comparison.json").read_text())
        assert (told["verdict"], told["reasons"][0]["code"]) == ("inconclusive", "labels.stale")
        assert not [change for change in told["queries"] if change["change"] in ("lost", "worse")]
        followed = next(note for note in told["warnings"] if note["code"] == "labels.followed")
        assert "q2" in followed["text"]

    def test_texts_can_be_kept_out_of_the_record(self, project: Path) -> None:
        evaluate(project, "run", "--texts", "false")
        for line in (project / "run" / "rankings.jsonl").read_text().splitlines():
            assert "query" not in json.loads(line)

    def test_rageval_yml_is_found_and_its_gates_judge(self, project: Path) -> None:
        (project / "rageval.yml").write_text(
            "golden: golden.jsonl\nsnapshot: index\nk: 3\ngates:\n  - {measure: precision@3, min: 0.9}\n"
        )
        done = rageval("evaluate", "--out", "run", cwd=project)
        assert done.returncode == 1
        assert "recall@3" in done.stdout
        assert "precision@3 is" in done.stdout
        assert "below the 0.9 needed" in done.stdout


class TestCompare:
    def test_contract_of_the_document(self, project: Path) -> None:
        evaluate(project, "a")
        evaluate(project, "b")
        done = rageval("compare", "a", "b", "--json", "-", cwd=project)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["schema"] == "rageval.comparison/1"
        names = ("new", "removed", "renamed", "reworded", "relabelled", "retagged", "access_changed")
        assert told["pairing"] == {"paired": 8, **{key: [] for key in (*names, "since_baseline")}}
        assert set(told["exams"]) == {"base", "head"}
        asked = {"queries": 8, "asked": 8, "unknown": []}
        assert all({name: exam[name] for name in asked} == asked for exam in told["exams"].values())
        assert told["access"] == {"head": [], "base_only": []}
        assert set(told["baseline"]) == {"run_id", "sha", "rung", "age_s", "distance"}
        row = told["measures"][0]
        wanted = {
            "measure",
            "slice",
            "n",
            "baseline",
            "candidate",
            "delta",
            "ci",
            "p",
            "p_adjusted",
            "reading",
            "better",
            "worse",
            "same",
            "mde",
            "label_effect",
            "exam",
        }
        assert wanted <= set(row)
        assert row["slice"] is None

    def test_another_golden_set_relabels_both_sides(self, project: Path) -> None:
        evaluate(project, "a")
        evaluate(project, "b")
        rows = [dict(row) for row in GOLDEN]
        rows[1]["relevant"] = ["sql-backup"]
        write_golden(project / "other.jsonl", rows)
        done = rageval("compare", "a", "b", "--golden", "other.jsonl", "--json", "-", cwd=project)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert all(row["delta"] == 0 for row in told["measures"])

    def test_a_missing_record_is_an_error_document(self, project: Path) -> None:
        done = rageval("compare", "nowhere", "neither", "--json", "-", cwd=project)
        assert done.returncode == 2
        told = json.loads(done.stdout)
        assert (told["schema"], told["code"]) == ("rageval.error/1", "record.not-found")
        assert told["where"] == "nowhere"


def test_retrieve_writes_rankings_only(project: Path) -> None:
    done = rageval(
        "retrieve", "--golden", "golden.jsonl", "--snapshot", "index", "--out", "run.jsonl", cwd=project
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (project / "run.jsonl").read_text().splitlines()]
    assert [row["query_id"] for row in rows] == [str(row["id"]) for row in GOLDEN]
    assert rows[1]["hits"][0]["doc"] == "sql-log"


def test_export_trec_gives_the_numbers_of_the_record(project: Path) -> None:
    evaluate(project, "run")
    assert rageval("export", "trec", "run", "--out", "trec", cwd=project).returncode == 0
    done = rageval("score", "--qrels", "trec/qrels.txt", "--run", "trec/run.txt", "--json", "-", cwd=project)
    scores = json.loads(done.stdout)
    record = json.loads((project / "run" / "record.json").read_text())
    for measure in ("recall@5", "mrr", "ndcg@10"):
        assert scores["measures"][measure]["mean"] == record["measures"][measure]["mean"]


@pytest.mark.parametrize(
    "name", ["record", "rankings", "comparison", "scores", "error", "manifest", "golden"]
)
def test_schemas_are_json_schema(name: str) -> None:
    done = rageval("schema", name)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["$schema"].startswith("https://json-schema.org/")


def test_demo_shows_a_regression_and_ends_with_0() -> None:
    done = rageval("demo", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Retrieval got worse.")


def test_a_comparison_ends_with_commands_that_look_closer(project: Path) -> None:
    assert evaluate(project, "before")[0] == 0
    write_index(project / "smaller", documents=dict(list(DOCUMENTS.items())[1:]))
    words = ("--snapshot", "smaller", "--baseline", "before", "--out", "after")
    told = rageval("evaluate", "--golden", "golden.jsonl", *words, cwd=project).stdout.splitlines()
    commands = [shlex.split(line)[1:] for line in told if line.startswith("  rageval ")]
    assert [words[0] for words in commands] == ["report", "explain"]
    for words in commands:
        assert rageval(*words, cwd=project).returncode == 0
    quiet = evaluate(project, "again", "--baseline", "before", "--markdown", "-")[1]
    assert "rageval explain" not in quiet


def test_an_installed_demo_takes_the_examples_of_the_folder_it_runs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("rageval_action.cli.demo")
    monkeypatch.setattr(module, "__file__", str(tmp_path / "site/rageval_action/cli/demo.py"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="not part of the installed package"):
        module.shipped()
    monkeypatch.chdir(ROOT)
    assert module.shipped() == Path("examples")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words",
    [
        ("compare", "before", "after"),
        ("compare", "before", "after", "--json", "-"),
        (
            "evaluate",
            "--golden",
            "golden.jsonl",
            "--snapshot",
            "index",
            "--out",
            "again",
            "--baseline",
            "before",
        ),
        ("golden", "check", "golden.jsonl"),
        ("schema", "record"),
    ],
)
def test_a_reader_that_goes_away_is_no_verdict(
    project: Path, words: tuple[str, ...], unbuffered: str
) -> None:
    for out in ("before", "after"):
        assert evaluate(project, out)[0] == 0
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "rageval_action", *words],
        check=False,
        cwd=project,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": CHILD_PATH, "PYTHONUNBUFFERED": unbuffered},
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


OPTIONS = "Options stand in the configuration file: `retriever: {name: command, command: …}`."
GATE = "Example: {measure: recall@5, max_drop: 0.02}."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "retriever: {name: bm25, k1: much}\n",
            'ci.yml: retriever bm25, option k1: "much" is not a number from 0 to 100.',
        ),
        (
            "retriever: {name: bm25, stoppwords: none}\n",
            'ci.yml: retriever bm25: the retriever bm25 has no option "stoppwords". Did you mean stopwords?',
        ),
        (
            "retriever: command\n",
            "ci.yml: retriever command: the retriever command needs the option command. " + OPTIONS,
        ),
        ("golden: ''\n", "no snapshot was given. Give --snapshot, or `snapshot:` in ci.yml."),
        (
            "gates: [{mesure: mrr, max_drop: 0.1}]\n",
            'ci.yml: gates[0]: there is no field "mesure" (did you mean measure?). ' + GATE,
        ),
    ],
)
def test_what_is_wrong_with_the_file_is_said_with_its_name(project: Path, text: str, said: str) -> None:
    (project / "ci.yml").write_text(text)
    snapshot = () if "golden" in text else ("--snapshot", "index")
    words = ("evaluate", "--config", "ci.yml", "--golden", "golden.jsonl", *snapshot, "--out", "run")
    done = rageval(*words, cwd=project)
    assert (done.returncode, done.stderr) == (2, f"rageval: {said}\n")


def test_a_terminal_that_lacks_characters(project: Path) -> None:
    words = ("evaluate", "--golden", "golden.jsonl", "--snapshot", "index", "--out", "run")
    done = rageval(*words, cwd=project, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "recall@5" in done.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_verdict_needs_no_listener(project: Path, closed: str) -> None:
    command = f"{sys.executable} -m rageval_action evaluate --golden golden.jsonl --snapshot index --out run --json -"
    environ = {**os.environ, "PYTHONPATH": CHILD_PATH}
    done = subprocess.run(
        ["sh", "-c", f"{command} {closed}"],
        cwd=project,
        env=environ,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (project / "run" / "record.json").is_file()
