"""Query vectors from a service, through the command: what they cost reaches every report, and doubt stops the gate."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rageval_action.core.model.record import Record
from rageval_action.core.model.snapshot import BuildSettings
from rageval_action.core.model.types import Chunk
from rageval_action.snapshots.write import Contents, write_snapshot
from tests.fakes import embedders
from tests.fakes.server import FakeService, Reply, Request
from tests.small_project import DOCUMENTS, GOLDEN, rageval, write_golden

ASKED = len(GOLDEN)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A golden set, and a snapshot of the service's vectors without any for the queries."""
    write_golden(tmp_path / "golden.jsonl")
    chunks = [Chunk(id=f"{name}#0", doc=name, text=text) for name, text in DOCUMENTS.items()]
    vectors = np.array([embedders.embed(chunk.text) for chunk in chunks], dtype=np.float32)
    write_snapshot(
        tmp_path / "index",
        Contents(chunks=chunks, vectors=vectors),
        BuildSettings(metric="ip", model="openai:m"),
    )
    return tmp_path


@pytest.fixture
def service() -> Iterator[FakeService]:
    with embedders.service("openai") as made:
        yield made


def environment(project: Path, service: FakeService) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": embedders.base("openai", service),
        "OPENAI_API_KEY": embedders.KEY,
        "XDG_CACHE_HOME": str(project / "cache"),
    }


def measured(project: Path, service: FakeService, out: str, *more: str) -> Record:
    words = ("evaluate", "--golden", "golden.jsonl", "--snapshot", "index", "--out", out, *more)
    done = rageval(*words, cwd=project, env=environment(project, service))
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode((project / out / "record.json").read_bytes(), type=Record)


PAID = {"embed_calls": 4.0, "embed_tokens": 3.0 * (2 + 1 + ASKED)}
"""The service's probe, the snapshot's, and one batch of queries."""


@pytest.mark.parametrize(
    "retriever", ["dense", "name: hybrid, of: [one=dense, two=dense]", "name: hybrid, of: [dense, bm25]"]
)
def test_cost_and_doubts_are_in_the_record_once(project: Path, service: FakeService, retriever: str) -> None:
    named = retriever if retriever == "dense" else f"{{{retriever}}}"
    (project / "rageval.yml").write_text(f"retriever: {named}\n", encoding="utf-8")
    record = measured(project, service, "run", "--config", "rageval.yml")
    assert record.cost == PAID
    assert len(service.requests) == PAID["embed_calls"]
    (told,) = [notice for notice in record.warnings if notice.code == "embedding.repeat"]
    assert told.text.startswith("one text embedded twice")
    assert "embed" not in record.latency_ms, "the cache would have been timed, not the service"


def test_what_is_in_the_cache_costs_nothing(project: Path, service: FakeService) -> None:
    first = measured(project, service, "first")
    asked = len(service.requests)
    again = measured(project, service, "again")
    assert again.cost == {"embed_calls": 0.0, "embed_tokens": 0.0}
    assert len(service.requests) == asked
    assert again.measures == first.measures


def test_the_reports_and_the_matrix_show_it(project: Path, service: FakeService) -> None:
    measured(project, service, "run")
    done = rageval("report", "run", "--out", "report.html", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "embed_tokens" in (project / "report.html").read_text(encoding="utf-8")
    (project / "cache" / "rageval" / "snapshots" / "embeddings.sqlite").unlink()
    (project / "matrix.yml").write_text(
        "golden: golden.jsonl\nsnapshot: index\nconfigurations:\n"
        "  words: {retriever: bm25}\n  rented: {retriever: dense}\n  again: {retriever: dense}\n",
        encoding="utf-8",
    )
    words = ("matrix", "--config", "matrix.yml", "--json", "m.json", "--markdown", "m.md")
    done = rageval(*words, cwd=project, env=environment(project, service))
    assert done.returncode == 0, done.stderr
    rows = json.loads((project / "m.json").read_text(encoding="utf-8"))["configurations"]
    assert [row["cost"] for row in rows] == [{}, PAID, {"embed_calls": 0.0, "embed_tokens": 0.0}]
    shown = html.unescape((project / "m.md").read_text(encoding="utf-8"))
    assert f"embed_tokens {PAID['embed_tokens']:g}" in shown


def refused(project: Path, service: FakeService, code: str) -> str:
    words = ("evaluate", "--golden", "golden.jsonl", "--snapshot", "index", "--out", "run", "--json", "-")
    done = rageval(*words, cwd=project, env=environment(project, service))
    assert done.returncode == 3, done.stderr
    assert not (project / "run").exists()
    error = json.loads(done.stdout)
    assert error["code"] == code
    return str(error["message"])


def test_no_gate_on_a_service_that_answers_twice_differently(project: Path) -> None:
    calls = iter(range(100))

    def moody(request: Request, _: object) -> object:
        asked = request.read(embedders.OpenaiRequest)
        mood = f"mood{next(calls)} " * 5
        data = [
            {"index": at, "embedding": embedders.embed(mood + text)} for at, text in enumerate(asked.input)
        ]
        return {"data": data, "model": asked.model, "usage": {"total_tokens": 1}}

    with FakeService({"POST /v1/embeddings": moody}) as service:
        assert "embedded one text twice" in refused(project, service, "embedding.unstable")
        assert len(service.requests) == 2, "nothing else is paid for"


def test_a_service_that_fails_says_so(project: Path) -> None:
    with FakeService({"POST /v1/embeddings": lambda *_: Reply(status=401, body=b"bad key")}) as service:
        assert "answered 401" in refused(project, service, "embedding.service")
