"""What a file of a pull request says, said again on a terminal or in a plain `run:` step: never more than words."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.small_project import GOLDEN, rageval, write_golden, write_index

HOSTILE = "\x1b[2J\x1b]0;title\x07\n::error::x\r::add-mask::y\u202e##[add-mask]z"
MOVES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
COMMAND = re.compile(r"^\s*::[a-z]|##\[", re.MULTILINE)


def hostile(row: dict[str, object], **fields: object) -> dict[str, object]:
    return {**row, **fields}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hostile")
    write_index(home / "index")
    write_golden(home / "golden.jsonl")
    done = rageval("evaluate", "--golden", "golden.jsonl", "--snapshot", "index", "--out", "run", cwd=home)
    assert done.returncode == 0, done.stderr
    first = GOLDEN[0]
    write_golden(
        home / "asked.jsonl", [hostile(first, id=HOSTILE, relevant=["vpn-cert", "vpn-setup", "holiday"])]
    )
    write_index(home / "poorer", {"holiday": "when you are ill, call in"})
    done = rageval("evaluate", "--golden", "asked.jsonl", "--snapshot", "index", "--out", "before", cwd=home)
    assert done.returncode == 0, done.stderr
    write_golden(home / "ids.jsonl", [hostile(first, id=HOSTILE), hostile(first, id=HOSTILE)])
    write_golden(
        home / "labels.jsonl",
        [*GOLDEN, hostile(first, id="q9", query="another", relevant=[HOSTILE], tags=[HOSTILE])],
    )
    write_golden(
        home / "other.jsonl",
        [*GOLDEN, hostile(first, id="q9", query="another", relevant=["cafe"], tags=[HOSTILE])],
    )
    (home / "value.yml").write_text(json.dumps({"unit": HOSTILE}))
    (home / "matrix.yml").write_text(
        json.dumps(
            {
                "golden": "golden.jsonl",
                "snapshot": "index",
                "configurations": {HOSTILE: {"retriever": HOSTILE}, "bm25": {"retriever": "bm25"}},
            }
        )
    )
    command = ["sh", "-c", 'printf "\\033[2J\\n::error::x\\n##[add-mask]y\\n" >&2; exit 1']
    (home / "dies.yml").write_text(json.dumps({"retriever": {"name": "command", "command": command}}))
    (home / "qrels").write_text("1##[add-mask]\x07 0 d 1\n")
    (home / "ranks").write_text("1##[add-mask]\x07 Q0 d 1 1.0 t\n2##[add-mask]\x07 Q0 d 1 1.0 t\n")
    shutil.copytree(home / "run", home / "newer")
    record = json.loads((home / "run/record.json").read_text())
    (home / "newer/record.json").write_text(json.dumps({**record, "schema": HOSTILE}))
    return home


COMMANDS = {
    "an id twice": ("golden check ids.jsonl", 2),
    "a label": ("golden check labels.jsonl --snapshot index --all", 2),
    "a label imported": ("golden import labels.jsonl --out made.jsonl --snapshot index", 0),
    "a label lost": ("golden drift labels.jsonl --snapshot index", 1),
    "two labellers": ("golden merge labels.jsonl other.jsonl", 0),
    "a configuration": ("evaluate --golden golden.jsonl --snapshot index --out x --config value.yml", 2),
    "where to look next": (
        "evaluate --golden asked.jsonl --snapshot poorer --baseline before --out z",
        0,
    ),
    "a row of the matrix": ("matrix --config matrix.yml", 0),
    "a program's last words": (
        "evaluate --golden golden.jsonl --snapshot index --out y --config dies.yml",
        3,
    ),
    "a TREC run": ("score --qrels qrels --run ranks --per-query", 0),
    "a record": ("compare run newer", 2),
    "a record of a history": ("history run newer --markdown -", 0),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_words_stay_words(project: Path, case: str) -> None:
    words, code = COMMANDS[case]
    done = rageval(*words.split(), cwd=project)
    assert done.returncode == code, done.stderr
    for told in (done.stdout, done.stderr):
        assert not MOVES.search(told), repr(told)
        assert not COMMAND.search(told), repr(told)
