"""Several golden files read as one set, and files that are not what they seem."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_action.config import load
from rageval_action.errors import ConfigError, GoldenError
from rageval_action.golden.formats import read_golden
from rageval_action.golden.input_files import files_named

A, B = '{"id": "a", "query": "w?", "relevant": ["d"]}\n', '{"id": "b", "query": "v?", "relevant": ["e"]}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("golden").mkdir()
    Path("golden/a.jsonl").write_text(A)
    Path("golden/b.jsonl").write_text("\n" + B)
    return tmp_path


@pytest.mark.parametrize(
    "location", ["golden", "golden/", "golden/*.jsonl", "golden/a.jsonl\ngolden/b.jsonl"]
)
def test_every_way_to_name_them_gives_one_set(folder: Path, location: str) -> None:
    golden = read_golden(location)
    assert [(query.id, Path(query.file).name, query.line) for query in golden.queries] == [
        ("a", "a.jsonl", 1),
        ("b", "b.jsonl", 2),
    ]
    assert golden.format == "canonical"
    assert golden.path == "golden/a.jsonl, golden/b.jsonl"
    assert [Path(path).name for path in files_named(location)] == ["a.jsonl", "b.jsonl"]
    assert golden.sha256 == read_golden("golden").sha256 != read_golden("golden/a.jsonl").sha256


def test_flags_inputs_and_the_file_say_the_same() -> None:
    both = "a.jsonl\nb.jsonl"
    assert load({"golden": ("a.jsonl", "b.jsonl")}, {}, {}).golden == both
    assert load({}, {"INPUT_GOLDEN": both}, {}).golden == both
    assert load({}, {}, {"golden": ["a.jsonl", "b.jsonl"]}).golden == both
    assert load({"golden": ()}, {}, {"golden": "a.jsonl"}).golden == "a.jsonl"
    with pytest.raises(ConfigError):
        load({}, {}, {"golden": ["a.jsonl", 3]})


def test_ids_are_unique_across_files(folder: Path) -> None:
    Path("golden/b.jsonl").write_text(A)
    with pytest.raises(GoldenError) as caught:
        read_golden("golden")
    assert (caught.value.code, caught.value.where) == ("golden.duplicate-id", "golden/b.jsonl:1")
    assert "golden/a.jsonl:1" in caught.value.message
    with pytest.raises(GoldenError, match="named twice"):
        read_golden("golden/a.jsonl\ngolden/./a.jsonl")


def test_a_question_of_another_file_is_noted(folder: Path) -> None:
    Path("golden/b.jsonl").write_text(B.replace("v?", "w?"))
    notice = next(one for one in read_golden("golden").notices if one.code == "golden.conflicting-judgments")
    assert notice.where == "golden/b.jsonl:1"


def test_problems_of_all_files_are_told(folder: Path) -> None:
    Path("golden/a.jsonl").write_text("{")
    Path("golden/b.jsonl").write_text('{"id": "b", "query": "", "relevant": ["d"]}')
    with pytest.raises(GoldenError) as caught:
        read_golden("golden")
    assert caught.value.where == "golden/a.jsonl:1"
    assert "golden/b.jsonl:1: " in caught.value.message


def test_other_files_of_a_folder_are_named(folder: Path) -> None:
    Path("golden/README.md").write_text("x")
    Path("golden/old").mkdir()
    texts = [notice.text for notice in read_golden("golden").notices]
    assert "Not used: golden/README.md, golden/old." in texts
    for nothing in ("golden/old", "golden/*.csv", "\n"):
        with pytest.raises(GoldenError) as caught:
            read_golden(nothing)
        assert caught.value.code == "golden.not-found"


def test_other_splits_of_a_public_set_are_named(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "w?"}\n')
    for split in ("test", "dev"):
        (tmp_path / f"qrels/{split}.tsv").write_text("q1\td\t1\n")
    texts = [notice.text for notice in read_golden(tmp_path).notices]
    assert any(text.startswith("Not used: ") and "dev.tsv" in text for text in texts)


@pytest.mark.parametrize(
    ("name", "content", "where", "words"),
    [
        ("set.jsonl", A + '{"id": "b", "query": "v?", "relevant": ["e"], "x": NaN}\n', ":2", "NaN at column 52 is not"),
        ("set.jsonl", "// notes\n" + A, ":1", "// at column 1 starts a comment"),
        ("set.jsonl", A + "# more\n", ":2", "# at column 1 starts a comment"),
        ("set.jsonl", "{'id': 'a'}\n", ":1", "single quote"),
        ("set.json", '[\n  {"id": "a", "ok": True}\n]', ":2", "True at line 2, column 21 is Python's spelling"),
        ("set.json", '[\n  {"id": "a"}, // x\n]', ":2", "//"),
        ("set.csv", "id,query,relevant\ra,w?,d\r", ":1", "carriage return alone"),
        ("set.jsonl", A.strip() + "\r" + B.strip() + "\r", ":1", "carriage return alone"),
        ("set.csv", "# my set\nid,query,relevant\na,w?,d\n", ":1", "starts with #"),
        ("set.txt", "User: where is it?\nAssistant: there\n", ":1", "chat transcript"),
        ("set.jsonl", json.dumps({"messages": [{"role": "user", "content": "w?"}]}) + "\n", "", "chat transcript"),
        ("run.json", json.dumps({"q1": {"d1": 0.91, "d2": 0.5}, "q2": {"d3": 0.72}}), "", "this is a run, not"),
        ("run.txt", "q1 Q0 d1 1 0.91 bm25\n", "", "this is a run, not judgments"),
        ("set.json", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 123456\n", ":1", "123,456 bytes"),
        ("set.json", json.dumps({"data": 1, "queries": [{"id": 1}], "queries ": 2})[:-1] + ', "data": 2}', "", "twice"),
    ],
)  # fmt: skip
def test_a_failed_guess_speaks_of_the_file(
    tmp_path: Path, name: str, content: str, where: str, words: str
) -> None:
    (tmp_path / name).write_bytes(content.encode())
    with pytest.raises(GoldenError) as caught:
        read_golden(tmp_path / name)
    assert words in caught.value.message
    assert caught.value.where.endswith(name + where)


def test_a_spreadsheet_may_name_its_delimiter(tmp_path: Path) -> None:
    (tmp_path / "set.csv").write_bytes(b"sep=;\r\nid;query;relevant\r\na;w, w?;d\r\n")
    (query,) = read_golden(tmp_path / "set.csv").queries
    assert (query.text, query.relevant, query.line) == ("w, w?", {"d": 1}, 3)


def test_judgments_that_are_a_run(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("q1\tw?\n")
    for content in ("q1 Q0 d1 1 0.91 bm25\n", json.dumps({"q1": {"d1": 0.91, "d2": 0.5, "d3": 0.1}})):
        (tmp_path / "run").write_text(content)
        with pytest.raises(GoldenError, match="this is a run, not judgments"):
            read_golden(f"queries={tmp_path / 'q.tsv'},qrels={tmp_path / 'run'}")
