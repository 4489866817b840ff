"""The matrix command over the examples, from its file to its three forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rageval_action.cli.matrix import matrix
from rageval_action.errors import ConfigError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

FILE = f"""
golden: {EXAMPLES}/golden.jsonl
snapshot: {EXAMPLES}/candidate
k: 5
measures: [recall@5, mrr]
depth: 20
configurations:
  lexical: {{retriever: bm25}}
  vector: {{retriever: dense}}
  hybrid: {{retriever: {{name: hybrid, of: [dense, lex=bm25], lex: {{k1: 1.2}}}}}}
  "rented | <b>": {{retriever: {{name: rerank, backend: cohere, model: m}}}}
"""


def ran(tmp_path: Path, text: str, *more: str) -> Result:
    (tmp_path / "matrix.yml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(
        matrix, ["--config", str(tmp_path / "matrix.yml"), *more], standalone_mode=False
    )


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    options = [
        f"--{form}={tmp_path / name}"
        for form, name in (("json", "m.json"), ("markdown", "m.md"), ("html", "m.html"))
    ]
    result = ran(tmp_path, FILE, *options)
    assert result.exception is None, result.output
    assert result.return_value == 0
    (tmp_path / "out.txt").write_text(result.stdout, encoding="utf-8")
    return tmp_path


def test_every_configuration_has_its_row_in_every_form(told: Path) -> None:
    made = json.loads((told / "m.json").read_text(encoding="utf-8"))
    names = [row["name"] for row in made["configurations"]]
    assert names == ["lexical", "vector", "hybrid", "rented | <b>"]
    assert made["measures"] == ["recall@5", "mrr"]
    for form in ("m.md", "m.html", "out.txt"):
        text = (told / form).read_text(encoding="utf-8")
        assert all(name in text for name in names[:3])


def test_scores_have_intervals_and_comparisons_are_corrected(told: Path) -> None:
    lexical, vector, hybrid, _ = json.loads((told / "m.json").read_text(encoding="utf-8"))["configurations"]
    for row in (lexical, vector, hybrid):
        for score in row["scores"].values():
            assert score["ci"][0] <= score["mean"] <= score["ci"][1]
        assert row["latency"]["total"]["p50"] > 0
    assert lexical["against"] == {}
    for row in (vector, hybrid):
        against = row["against"]["recall@5"]
        assert against["p_adjusted"] >= against["p"]
        assert against["delta"] == pytest.approx(
            row["scores"]["recall@5"]["mean"] - lexical["scores"]["recall@5"]["mean"]
        )
        assert against["better"] + against["worse"] + against["same"] == against["n"]


def test_what_did_not_run_is_a_word_and_never_a_number(told: Path) -> None:
    row = json.loads((told / "m.json").read_text(encoding="utf-8"))["configurations"][3]
    assert row["scores"]["mrr"]["type"] == "not_run"
    assert "COHERE_API_KEY is not set" in row["scores"]["mrr"]["reason"]
    line = next(
        line
        for line in (told / "out.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("rented")
    )
    assert line.count("not run") == 7
    assert not any(character.isdigit() for character in line)


def test_names_cannot_break_out_of_the_table(told: Path) -> None:
    page = (told / "m.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "://" not in page
    lines = [
        line for line in (told / "m.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")
    ]
    assert len(lines) == 6
    assert {line.replace("\\|", "").count("|") for line in lines} == {lines[0].count("|")}


def test_a_configuration_that_cannot_run_does_not_stop_the_others_and_none_at_all_is_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    alone = (
        FILE.split("  lexical", maxsplit=1)[0]
        + "  rented: {retriever: {name: rerank, backend: cohere, model: m}}\n"
    )
    assert ran(tmp_path, alone).return_value == 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("golden: g\nsnapshot: s\n", "config.no-configurations"),
        ("golden: g\nsnapshot: s\nconfigurations: []\n", "config.no-configurations"),
        ("golden: g\nsnapshot: s\nconfigurations: {a: dense}\n", "config.bad-value"),
        ("golden: g\nsnapshot: s\nconfigurations: {a: {k: 3}}\n", "config.bad-value"),
        ("golden: g\nconfigurations: {a: {retriever: dense}}\n", "config.missing"),
        ("golden: g\nsnapshot: s\nconfigurations: {a: {retreiver: dense}}\n", "config.unknown-key"),
        ("golden: g\nsnapshot: s\nconfigurations: {a: {retriever: {k: 3}}}\n", "config.bad-value"),
        ("nonsense: 1\n", "config.unknown-key"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, code: str) -> None:
    result = ran(tmp_path, text)
    assert isinstance(result.exception, ConfigError), result.output
    assert result.exception.code == code


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    result = CliRunner().invoke(matrix, ["--config", str(tmp_path / "none.yml")], standalone_mode=False)
    assert isinstance(result.exception, ConfigError)
    assert result.exception.code == "config.not-found"
