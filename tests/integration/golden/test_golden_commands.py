"""The golden commands as a user types them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rageval_action.cli.main import root
from rageval_action.errors import ConfigError
from rageval_action.golden.formats import read_golden
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.question_corpus import FACTS, Brain, chunks
from tests.small_project import rageval, write_index


@pytest.fixture
def harbour(tmp_path: Path) -> Path:
    write_index(tmp_path / "index", chunks=chunks(), rows=())
    return tmp_path


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def test_import_says_what_it_read_and_what_the_snapshot_has(harbour: Path) -> None:
    (harbour / "set.csv").write_text(
        "question;source_id;expected_ids\nWhen?;x;tide.md\nHow much?;y;Fees.md\n", "utf-8"
    )
    done = rageval("golden", "import", "set.csv", "--out", "golden.jsonl", "--snapshot", "index", cwd=harbour)
    assert done.returncode == 0, done.stderr
    assert "2 queries from set.csv (csv) to golden.jsonl." in done.stdout
    assert "2 judged by ids; 2 judgments." in done.stdout
    assert "read as csv: query=question, relevant=expected_ids. Not used: source_id." in done.stdout
    assert "of 2 judged ids, 0 are chunks and 1 documents there." in done.stdout
    assert "did you mean `fees.md`" in done.stdout
    assert [query.relevant for query in read_golden(harbour / "golden.jsonl").queries] == [
        {"tide.md": 1},
        {"Fees.md": 1},
    ]
    again = rageval("golden", "import", "set.csv", "--out", "golden.jsonl", cwd=harbour)
    assert (again.returncode, "--force" in again.stderr) == (2, True)


def test_import_says_which_columns_there_are_and_which_it_read(harbour: Path) -> None:
    (harbour / "fragen.csv").write_text("Nr.,Frage,Dokument\n1,When?,tide.md\n2,Who?,fees.md\n", "utf-8")
    words = ("golden", "import", "fragen.csv", "--out", "golden.jsonl", "--map")
    wrong = rageval(*words, "query=Fragen,relevant=Dokument", cwd=harbour)
    assert wrong.returncode == 2
    said = (
        'fragen.csv: no row has the field "Fragen" (--map query=Fragen); the file has: Nr., Frage, Dokument.'
    )
    assert wrong.stderr == f'rageval: {said} Did you mean "Frage"?\n'
    done = rageval(*words, "id=Nr.,query=Frage,relevant=Dokument", cwd=harbour)
    assert 'read as csv: id="Nr.", query=Frage, relevant=Dokument.\n' in done.stdout
    assert "Not used" not in done.stdout
    advised = rageval(
        "evaluate", "--golden", "fragen.csv", "--snapshot", "index", "--out", "run", cwd=harbour
    )
    assert "`rageval golden import fragen.csv --map query=" in advised.stderr


def test_import_finds_texts_in_the_snapshot(harbour: Path) -> None:
    quote = FACTS["fees.md"][0][0]
    (harbour / "set.json").write_text(json.dumps([{"question": "How much?", "contexts": [quote]}]))
    refused = rageval("golden", "import", "set.json", "--out", "golden.jsonl", cwd=harbour)
    assert refused.returncode == 2
    assert "`contexts` holds texts" in refused.stderr
    done = rageval(
        "golden", "import", "set.json", "--out", "golden.jsonl", "--snapshot", "index", cwd=harbour
    )
    assert done.returncode == 0, done.stderr
    assert lines(harbour / "golden.jsonl")[0]["evidence"] == [{"doc": "fees.md", "quote": quote}]


@pytest.mark.parametrize("given", [("--map", "colour=x"), ("--grade-map", "one=two")])
def test_import_refuses_options_it_cannot_follow(harbour: Path, given: tuple[str, str]) -> None:
    write(harbour / "g.jsonl", {"id": "1", "query": "x", "relevant": ["d"]})
    done = rageval("golden", "import", "g.jsonl", "--out", "o.jsonl", *given, cwd=harbour)
    assert done.returncode == 2
    assert given[0] in done.stderr


def test_check_is_read_in_a_minute_and_by_machines(harbour: Path) -> None:
    asked = [(doc, question) for doc, facts in FACTS.items() for _, question in facts]
    rows = [{"id": f"q{n}", "query": text, "relevant": [doc]} for n, (doc, text) in enumerate(asked)]
    write(
        harbour / "g.jsonl",
        *rows,
        {"id": "z", "query": "Sure! ＶＰＮ of the quay?", "relevant": ["nowhere.md"]},
    )
    done = rageval(
        "golden", "check", "g.jsonl", "--snapshot", "index", "--tag-variants", "tagged.jsonl", cwd=harbour
    )
    assert done.returncode == 2
    assert "✗ error" in done.stdout
    assert "z (line 13): nowhere.md" in done.stdout
    assert len(done.stdout.splitlines()) < 60
    assert (
        "form:full-width" in next(row for row in lines(harbour / "tagged.jsonl") if row["id"] == "z")["tags"]
    )
    told = rageval("golden", "check", "g.jsonl", "--json", "-", "--strict", cwd=harbour)
    assert told.returncode == 1
    report = json.loads(told.stdout)
    assert report["schema"] == "rageval.golden-check/1"
    assert report["warnings"] > 0


@pytest.fixture
def api() -> Iterator[FakeAnthropic]:
    pytest.importorskip("anthropic", reason="the extra [generate] is not installed")
    with FakeAnthropic(Brain()) as server:
        yield server


def generate(harbour: Path, api: FakeAnthropic | None, *more: str) -> subprocess.CompletedProcess[str]:
    words = [
        "golden",
        "generate",
        "--snapshot",
        "index",
        "--out",
        "made.jsonl",
        "--questions",
        "12",
        "--per-chunk",
        "1",
    ]
    if api is not None:
        words += ["--base-url", api.url, "--retries", "0", "--poll", "0.05", "--searches", "none"]
    return rageval(*words, *more, cwd=harbour, env={"ANTHROPIC_API_KEY": "k", "PATH": os.environ["PATH"]})


def test_a_dry_run_needs_no_key_and_sends_nothing(harbour: Path) -> None:
    done = generate(harbour, None, "--dry-run", "--base-url", "http://127.0.0.1:9")
    assert done.returncode == 0, done.stderr
    assert "12 questions about 12 usable chunks" in done.stdout
    assert "Nothing was sent" in done.stdout
    assert not (harbour / "made.jsonl").exists()
    half = generate(harbour, None, "--dry-run", "--batch")
    total = [
        float(next(line for line in out.splitlines() if line.startswith("likely")).split()[-1])
        for out in (done.stdout, half.stdout)
    ]
    assert total[1] == pytest.approx(total[0] / 2, rel=0.1)


def test_a_model_without_a_price_is_refused(harbour: Path) -> None:
    done = generate(harbour, None, "--dry-run", "--model", "claude-unheard-of")
    assert done.returncode == 2
    assert "--price" in done.stderr
    assert (
        generate(harbour, None, "--dry-run", "--model", "claude-unheard-of", "--price", "1/5").returncode == 0
    )


@pytest.mark.parametrize("mode", [(), ("--batch",)])
def test_generate_prints_a_funnel_and_leaves_rows_to_review(
    harbour: Path, api: FakeAnthropic, mode: tuple[str, ...]
) -> None:
    done = generate(harbour, api, "--max-cost", "1", *mode)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "asked        12" in done.stdout
    assert "kept         12" in done.stdout
    assert "Spent $0.00" in done.stdout
    assert len(lines(harbour / "made.jsonl")) == 12
    again = generate(harbour, api, *mode)
    assert "Spent $0.0000 (0 tokens in, 0 out)" in again.stdout
    assert "12 there before" in again.stdout


def test_merge_drift_and_add(harbour: Path) -> None:
    quote = FACTS["tide.md"][0][0]
    row = {"id": "a", "query": "When?", "evidence": [{"doc": "old.md", "quote": quote}], "review": "accepted"}
    write(
        harbour / "a.jsonl", row, {"id": "b", "query": "Who?", "relevant": ["fuel.md"], "review": "accepted"}
    )
    write(
        harbour / "b.jsonl", row, {"id": "b", "query": "Who?", "relevant": ["fees.md"], "review": "rejected"}
    )
    merged = rageval("golden", "merge", "a.jsonl", "b.jsonl", "--out", "m.jsonl", cwd=harbour)
    assert merged.returncode == 0, merged.stderr
    assert "accept or reject: 50% the same over 2; Cohen's kappa 0.00" in merged.stdout
    assert lines(harbour / "m.jsonl")[1]["review"] == "pending"

    alike = rageval("golden", "merge", "a.jsonl", "a.jsonl", cwd=harbour)
    assert "Cohen's kappa not defined (all answers are the same), Krippendorff's" in alike.stdout
    assert "nan" not in alike.stdout

    write(harbour / "c.jsonl", {"id": "c", "query": "Who?", "relevant": ["sails.md"]})
    gone = rageval("golden", "drift", "c.jsonl", "--snapshot", "index", cwd=harbour)
    assert "Without --old-snapshot an id that was renamed" in gone.stdout

    lost = rageval("golden", "drift", "a.jsonl", "--snapshot", "index", "--patch", "-", cwd=harbour)
    assert lost.returncode == 1
    subprocess.run(["git", "init", "-q", "."], cwd=harbour, check=True)
    subprocess.run(["git", "apply", "-"], cwd=harbour, input=lost.stdout, text=True, check=True)
    assert lines(harbour / "a.jsonl")[0]["evidence"][0]["doc"] == "tide.md"
    assert rageval("golden", "drift", "a.jsonl", "--snapshot", "index", cwd=harbour).returncode == 0

    log = [{"query": "berth for ana@office.org", "clicked": ["fees.md"]}, {"query": "idle", "clicked": []}]
    write(harbour / "log.jsonl", *log)
    shown = rageval("golden", "add", "a.jsonl", "--from", "log.jsonl", "--dry-run", cwd=harbour)
    assert "1 rows would be added" in shown.stdout
    assert len(lines(harbour / "a.jsonl")) == 2
    done = rageval("golden", "add", "a.jsonl", "--from", "log.jsonl", cwd=harbour)
    assert "1 questions left out: no-clicks" in done.stdout
    added = lines(harbour / "a.jsonl")[2]
    assert (added["query"], added["review"], added["source"]) == ("berth for [email]", "pending", "log")


def test_review_without_a_terminal_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> str:
        raise OSError(6, "No such device or address: /dev/tty")

    monkeypatch.setattr(click, "getchar", nothing)
    write(tmp_path / "a.jsonl", {"id": "a", "query": "When?", "relevant": ["tide.md"], "review": "pending"})
    ended = CliRunner().invoke(root, ["golden", "review", str(tmp_path / "a.jsonl"), "--terminal"])
    assert isinstance(ended.exception, ConfigError)
    assert ended.exception.code == "review.no-terminal"
    assert ended.exception.hint == "Leave --terminal out to review on a page."


def test_review_on_the_terminal(harbour: Path) -> None:
    from rageval_action.golden.review.session import Session
    from rageval_action.golden.review.terminal import review

    quote = FACTS["tide.md"][0][0]
    rows = [
        {
            "id": str(n),
            "query": f"Number {n}?",
            "evidence": [{"doc": "tide.md", "quote": quote}],
            "review": "pending",
        }
        for n in range(5)
    ]
    file = write(harbour / "g.jsonl", *rows)
    keys = iter("axerusq")
    shown: list[str] = []
    review(
        Session(file, chunks()), key=lambda: next(keys), line=lambda _: "Another wording?", show=shown.append
    )
    found = {row["id"]: (row["query"], row["review"]) for row in lines(file)}
    assert found["0"][1] == "accepted"
    assert found["1"] == ("Another wording?", "accepted")
    assert found["2"] == ("Number 2?", "pending"), "rejected, then undone"
    assert f"»{quote}«" in "\n".join(shown)
    assert shown[-1] == "2 accepted, 0 rejected, 3 pending."


def test_rows_nobody_accepted_are_ignored_and_counted_by_the_gate(harbour: Path) -> None:
    rows = [
        {"id": "a", "query": "gate hours", "relevant": ["tide.md"], "review": "accepted"},
        {"id": "b", "query": "berth price", "relevant": ["fees.md"], "review": "pending"},
        {"id": "c", "query": "dog rules", "relevant": ["guests.md"], "review": "rejected"},
    ]
    write(harbour / "g.jsonl", *rows)
    write_index(harbour / "cached", chunks=chunks(), rows=rows)
    for review, counted, left in (("required", 1, 2), ("optional", 2, 1)):
        words = (
            "evaluate",
            "--golden",
            "g.jsonl",
            "--snapshot",
            "cached",
            "--out",
            review,
            "--review",
            review,
            "--json",
            "-",
        )
        done = rageval(*words, cwd=harbour)
        record = json.loads(done.stdout)
        assert (record["golden"]["queries"], record["golden"]["unreviewed"]) == (counted, left), done.stderr


@pytest.mark.parametrize("log", ["queries=a.tsv,qrels=b.tsv", "index"])
def test_a_log_is_one_file(harbour: Path, log: str) -> None:
    for name in ("a.tsv", "b.tsv"):
        (harbour / name).write_text("q1\tx\n")
    done = rageval("golden", "add", "new.jsonl", "--from", log, cwd=harbour)
    assert done.returncode == 2
    assert done.stderr.startswith("rageval: ")


@pytest.mark.parametrize("synonyms", ["nowhere", "index", "index/embeddings.npy"])
def test_synonyms_that_cannot_be_read(harbour: Path, synonyms: str) -> None:
    write(harbour / "set.jsonl", {"id": "a", "query": "b", "relevant": ["tide.md"]})
    done = rageval("golden", "check", "set.jsonl", "--synonyms", synonyms, "--json", "-", cwd=harbour)
    assert (done.returncode, json.loads(done.stdout)["code"]) == (2, "golden.bad-synonyms")


def test_a_port_that_is_none(harbour: Path) -> None:
    write(harbour / "set.jsonl", {"id": "a", "query": "b", "relevant": ["tide.md"]})
    done = rageval("golden", "review", "set.jsonl", "--no-browser", "--port", "99999", cwd=harbour)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
