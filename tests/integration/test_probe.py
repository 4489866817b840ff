"""Deny probes: what strangers get from a retriever that filters and from one that does not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from rageval_action.cli.probe import probe
from rageval_action.core.labels.deny_probes import STRANGER, deny_probes, report
from rageval_action.core.model.snapshot import BuildSettings
from rageval_action.core.model.types import Chunk, ChunkAcl, Hit, Query, Ranking, Run
from rageval_action.snapshots.write import Contents, write_snapshot

CHUNKS = [
    Chunk(id="open", doc="d1", text="how to reset a password"),
    Chunk(id="closed", doc="d2", text="how to reset the root password", acl=ChunkAcl(tenant="acme")),
    Chunk(id="part", doc="d1", text="password of the vault", acl=ChunkAcl(principals=("ana",))),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_snapshot(
        tmp_path / "index",
        Contents(chunks=CHUNKS, vectors=np.eye(3, dtype=np.float32)),
        BuildSettings(metric="cosine"),
    )
    rows = [{"id": f"q{at}", "query": f"reset password {at}", "relevant": ["open"]} for at in range(5)]
    (tmp_path / "golden.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def ran(project: Path, *more: str) -> Result:
    words = [
        "--golden",
        str(project / "golden.jsonl"),
        "--snapshot",
        str(project / "index"),
        "--retriever",
        "bm25",
    ]
    return CliRunner().invoke(probe, [*words, *more], standalone_mode=False)


def test_a_retriever_that_filters_leaks_nothing(project: Path) -> None:
    result = ran(project)
    assert result.return_value == 0, result.output
    assert "5 probes answered, 0 failed; 2 chunks are guarded" in result.output


def test_a_retriever_that_does_not_filter_is_caught(project: Path) -> None:
    result = ran(project, "--access", "audit", "--probes", "2", "--json", "-")
    assert result.return_value == 1
    told = json.loads(result.stdout)
    assert told["asked"] == 2
    assert {leak["id"] for leak in told["leaks"]} == {"closed", "part"}


def test_documents_count_when_all_of_their_chunks_are_guarded() -> None:
    hits = tuple(
        Hit(id=name, doc=name, rank=rank, score=-rank) for rank, name in enumerate(("d1", "d2", "x"), 1)
    )
    told = report(Run(rankings=(Ranking(query_id="q", hits=hits),), retriever="r", depth=3), CHUNKS)
    assert [leak.id for leak in told.leaks] == ["d2"]


def test_probes_are_spread_over_the_set_and_ask_as_a_stranger() -> None:
    asked = deny_probes([Query(id=str(at), text="x") for at in range(10)], 4)
    assert [query.id for query in asked] == ["0", "3", "6", "9"]
    assert all(query.acl == STRANGER for query in asked)
