"""Bad input: one clear message with its place, the right exit code, no traceback, nothing computed or written."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rageval_action.cli.main import run
from rageval_action.cli.output import write_json, write_text
from rageval_action.errors import ConfigError, GoldenError
from rageval_action.golden.canonical_file import write_lines
from tests.small_project import DIMENSION, DOCUMENTS, GOLDEN, ROOT, rageval, write_golden, write_index

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12\n"


def rows(path: Path, *extra: str) -> None:
    """The golden set with more lines at its end."""
    with path.open("a", encoding="utf-8") as stream:
        stream.writelines(line + "\n" for line in extra)


def reseal(project: Path) -> None:
    """Make sizes and checksums right again, as somebody does who writes a snapshot by hand."""
    path = project / "index" / "manifest.json"
    values = json.loads(path.read_text())
    for name in values["files"]:
        data = (project / "index" / name).read_bytes()
        values["files"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    path.write_text(json.dumps(values))


def save_vectors(project: Path, array: np.ndarray) -> None:
    np.save(project / "index" / "embeddings.npy", array)
    reseal(project)


def vectors(project: Path) -> np.ndarray:
    return np.array(np.load(project / "index" / "embeddings.npy"))


def not_a_number(project: Path) -> None:
    array = vectors(project)
    array[3, 0] = np.nan
    save_vectors(project, array)


def mostly_zero(project: Path) -> None:
    array = vectors(project)
    array[:5] = 0
    save_vectors(project, array)


def objects(project: Path) -> None:
    save_vectors(project, np.array([["a"] * 3] * len(DOCUMENTS), dtype=object))


def cut(project: Path) -> None:
    path = project / "index" / "embeddings.npy"
    path.write_bytes(path.read_bytes()[:-40])
    reseal(project)


def double_chunk(project: Path) -> None:
    path = project / "index" / "chunks.jsonl"
    lines = path.read_text().splitlines()
    lines[4] = lines[2]
    path.write_text("\n".join(lines) + "\n")
    reseal(project)


def uncached(project: Path) -> None:
    import shutil

    shutil.rmtree(project / "index")
    write_index(project / "index", cached=False)


def golden(*lines: str) -> Callable[[Path], None]:
    return lambda project: rows(project / "golden.jsonl", *lines)


def only(*items: dict[str, object]) -> Callable[[Path], None]:
    def change(project: Path) -> None:
        write_golden(project / "golden.jsonl", items)

    return change


CASES: dict[str, tuple[Callable[[Path], None], str, str, int]] = {
    # what is wrong: how it got so, code, where (or its end), exit code
    "golden set missing": (lambda p: (p / "golden.jsonl").unlink(), "golden.not-found", "golden.jsonl", 2),
    "golden set empty": (lambda p: (p / "golden.jsonl").write_text(""), "golden.empty", "golden.jsonl", 2),
    "golden set is an LFS pointer": (
        lambda p: (p / "golden.jsonl").write_bytes(LFS),
        "golden.lfs-pointer",
        "golden.jsonl:1",
        2,
    ),
    "golden set broken": (golden('{"id": "q9", "query": '), "golden.bad-row", "golden.jsonl:9", 2),
    "query id twice": (
        golden('{"id": "q1", "query": "another", "relevant": ["sql-log"]}'),
        "golden.duplicate-id",
        "golden.jsonl:9",
        2,
    ),
    "query without judgment": (
        golden('{"id": "q9", "query": "what"}'),
        "golden.bad-row",
        "golden.jsonl:9",
        2,
    ),
    "judged ids match nothing": (
        only({"id": "q1", "query": "rotate vpn certificate", "relevant": ["nowhere-1"]}),
        "golden.no-id-matches",
        "golden.jsonl",
        2,
    ),
    "snapshot missing": (lambda p: (p / "index").rename(p / "elsewhere"), "snapshot.not-found", "index", 2),
    "manifest missing": (
        lambda p: (p / "index" / "manifest.json").unlink(),
        "snapshot.not-found",
        "manifest.json",
        2,
    ),
    "manifest broken": (
        lambda p: (p / "index" / "manifest.json").write_text("{"),
        "snapshot.bad-manifest",
        "manifest.json",
        2,
    ),
    "vectors missing": (
        lambda p: (p / "index" / "embeddings.npy").unlink(),
        "snapshot.not-found",
        "embeddings.npy",
        2,
    ),
    "vectors are an LFS pointer": (
        lambda p: (p / "index" / "embeddings.npy").write_bytes(LFS),
        "snapshot.lfs-pointer",
        "embeddings.npy:1",
        2,
    ),
    "configuration is an LFS pointer": (
        lambda p: (p / "rageval.yml").write_bytes(LFS),
        "config.lfs-pointer",
        "rageval.yml",
        2,
    ),
    "vectors cut off": (cut, "snapshot.truncated", "embeddings.npy", 2),
    "vectors are objects": (objects, "snapshot.object-array", "embeddings.npy", 2),
    "vectors of another dimension": (
        lambda p: save_vectors(p, np.ones((len(DOCUMENTS), DIMENSION + 1), dtype=np.float32)),
        "snapshot.dimension-mismatch",
        "embeddings.npy",
        2,
    ),
    "fewer vectors than chunks": (
        lambda p: save_vectors(p, vectors(p)[:-1]),
        "snapshot.count-mismatch",
        "",
        2,
    ),
    "not a number": (not_a_number, "snapshot.not-finite", "embeddings.npy row 3", 2),
    "zero vectors": (mostly_zero, "snapshot.zero-vector", "embeddings.npy row 0", 2),
    "chunk id twice": (double_chunk, "snapshot.duplicate-id", "chunks.jsonl:5", 2),
    "changed after it was built": (
        lambda p: (p / "index" / "chunks.jsonl").write_bytes(
            (p / "index" / "chunks.jsonl").read_bytes() + b"\n"
        ),
        "snapshot.checksum-mismatch",
        "chunks.jsonl",
        2,
    ),
    "no query vectors and no model": (uncached, "snapshot.no-query-vectors", "", 3),
    "unknown option in the file": (
        lambda p: (p / "rageval.yml").write_text("goldn: golden.jsonl\n"),
        "config.unknown-key",
        "rageval.yml",
        2,
    ),
    "file is no YAML": (
        lambda p: (p / "rageval.yml").write_text("gates: [\n"),
        "config.bad-yaml",
        "rageval.yml:2",
        2,
    ),
    "gate without a limit": (
        lambda p: (p / "rageval.yml").write_text("gates:\n  - {measure: recall@5}\n"),
        "config.bad-gate",
        "rageval.yml: gates[0]",
        2,
    ),
    "gate on an unknown measure": (
        lambda p: (p / "rageval.yml").write_text("gates:\n  - {measure: recal@5, max_drop: 0.1}\n"),
        "config.unknown-measure",
        "rageval.yml: gates[0]",
        2,
    ),
}


ABSENT = (
    """raise ModuleNotFoundError("No module named 'sentence_transformers'", name="sentence_transformers")\n"""
)


def evaluated(project: Path) -> subprocess.CompletedProcess[str]:
    """Evaluate where the extra `[embed]` is not installed."""
    package = project / "absent" / "sentence_transformers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(ABSENT)
    return rageval(
        "evaluate",
        "--golden",
        "golden.jsonl",
        "--snapshot",
        "index",
        "--out",
        "run",
        "--json",
        "-",
        cwd=project,
        env={"PYTHONPATH": f"{package.parent}:{ROOT}"},
    )


@pytest.mark.parametrize("case", CASES)
def test_one_message_one_place_one_exit_code(tmp_path: Path, case: str) -> None:
    write_golden(tmp_path / "golden.jsonl", GOLDEN)
    write_index(tmp_path / "index")
    change, code, where, exit_code = CASES[case]
    change(tmp_path)
    done = evaluated(tmp_path)
    assert "Traceback" not in done.stderr
    assert done.returncode == exit_code, done.stderr
    told = json.loads(done.stdout)
    assert (told["schema"], told["code"], told["exit_code"]) == ("rageval.error/1", code, exit_code)
    assert told["where"].endswith(where), told
    assert told["message"]
    assert done.stderr.startswith("rageval: ")
    assert not (tmp_path / "run").exists()


LONG, NO_UTF8 = "x" * 5000, os.fsdecode(b"caf\xe9")
PLACES = ("--golden", "--snapshot", "--out", "--baseline", "--config")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        *((LONG, option) for option in PLACES),
        *((NO_UTF8, option) for option in PLACES if option != "--out"),
        *(("golden.jsonl/x", option) for option in PLACES),
    ],
)
def test_a_path_that_cannot_be(tmp_path: Path, name: str, option: str) -> None:
    write_golden(tmp_path / "golden.jsonl", GOLDEN)
    write_index(tmp_path / "index")
    given = {"--golden": "golden.jsonl", "--snapshot": "index", "--out": "run"} | {option: name}
    words = [word for pair in given.items() for word in pair]
    done = rageval("evaluate", *words, "--json", "-", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    told = json.loads(done.stdout)
    assert (told["schema"], told["exit_code"]) == ("rageval.error/1", 2)
    assert not (tmp_path / "run").exists()


def test_names_need_not_be_utf8(tmp_path: Path) -> None:
    golden, index, run = (os.fsdecode(name + b"\xe9") for name in (b"golden", b"index", b"run"))
    write_golden(tmp_path / golden, GOLDEN)
    write_index(tmp_path / index)
    words = ("--golden", golden, "--snapshot", index, "--out", run)
    done = rageval("evaluate", *words, "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["golden"]["path"] == "golden?"
    again = rageval("compare", run, run, cwd=tmp_path)
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    ("fault", "code", "exit_code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "system.refused", 3),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x"), "system.refused", 2),
        (MemoryError(), "system.out-of-memory", 3),
    ],
)
def test_what_the_machine_refuses_is_no_bug(
    fault: Exception,
    code: str,
    exit_code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(location: object) -> None:
        raise fault

    monkeypatch.setattr("rageval_action.records.read_record", refuse)
    for words in (["report", "a", "--out", "b"], ["compare", "a", "b", "--json", "-"]):
        monkeypatch.setattr("sys.argv", ["rageval", *words])
        assert run() == exit_code
    told = capsys.readouterr()
    assert json.loads(told.out)["code"] == code
    assert "Traceback" not in told.err


def full(path: Path, data: bytes) -> int:
    """A disk that is full half-way."""
    with path.open("wb") as stream:
        stream.write(data[: len(data) // 2])
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_no_half_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "write_bytes", full)
    for write in (lambda path: write_text(path, "text"), lambda path: write_json(path, {"a": 1})):
        with pytest.raises(ConfigError):
            write(str(tmp_path / "made"))
        assert list(tmp_path.iterdir()) == []


def test_a_set_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, mode: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(GoldenError):
        write_lines(tmp_path / "set.jsonl", [b"{}"])
    assert list(tmp_path.iterdir()) == []
