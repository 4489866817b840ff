from __future__ import annotations

import functools
import socket
from pathlib import Path

import numpy as np
import pytest

from rageval_action.core.model.types import Chunk
from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.snapshots.importers import servers
from rageval_action.snapshots.importers.stores import import_store
from rageval_action.snapshots.interface import open_snapshot
from rageval_action.transport import Client, TransportError
from tests.fakes import search_servers
from tests.fakes.databases import fill_postgres
from tests.unit.snapshots.imported_corpus import DOCS, IDS, TEXTS, opened, same, vectors

CHUNKS = [Chunk(id=i, doc=d, text=t) for i, d, t in zip(IDS, DOCS, TEXTS, strict=True)]


@pytest.mark.parametrize("kind", ["vector", "halfvec"])
def test_pgvector_tables(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_DATABASE", fill_postgres("import_small", CHUNKS, vectors(), kind))
    made = opened("pgvector:?table=import_small&dsn_env=MY_DATABASE&metric=cosine")
    same(made, vectors(), atol=1e-3)
    assert made.chunks[0].metadata["tenant"] is None


def test_what_postgresql_refuses_is_said_without_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", fill_postgres("import_small", CHUNKS, vectors()))
    with pytest.raises(SnapshotError, match='relation "none" does not exist'):
        open_snapshot("pgvector:?table=none")
    with pytest.raises(SnapshotError, match='column "vec" does not exist'):
        open_snapshot("pgvector:?table=import_small&vector=vec")
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:hunter22@127.0.0.1:1/none")
    with pytest.raises(SnapshotError) as caught:
        open_snapshot("pgvector:?table=import_small")
    assert "hunter22" not in str(caught.value)
    monkeypatch.delenv("DATABASE_URL")
    with pytest.raises(ConfigError, match="DATABASE_URL is not set"):
        open_snapshot("pgvector:?table=import_small")


@pytest.mark.slow
def test_a_database_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "CONNECT_S", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://user:hunter22@127.0.0.1:{silent.getsockname()[1]}/none"
        monkeypatch.setenv("DATABASE_URL", address)
        with pytest.raises(SnapshotError, match="timeout") as caught:
            open_snapshot("pgvector:?table=docs")
    assert caught.value.code == "snapshot.unreadable"
    assert "hunter22" not in str(caught.value)


def test_a_qdrant_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "Client", functools.partial(Client, timeout_s=0.3, retries=0))
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(TransportError, match="no answer within") as caught,
    ):
        open_snapshot(f"qdrant:http://127.0.0.1:{silent.getsockname()[1]}?collection=docs")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(("distance", "metric"), [("Cosine", "cosine"), ("Dot", "ip"), ("Euclid", "l2")])
def test_qdrant_collections_are_scrolled(distance: str, metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("qdrant_client")
    monkeypatch.setattr("rageval_action.snapshots.importers.servers.PAGE", 2)
    with search_servers.qdrant(CHUNKS, vectors(), distance) as service:
        made = opened(f"qdrant:{service.url}?collection=docs&id=chunk_id")
        scrolls = [request for request in service.requests if request.path.endswith("/scroll")]
    same(made, vectors())
    assert made.manifest.metric == metric
    assert len(scrolls) == 2 * 3, "three pages, and read again each time: a server may have changed"


def test_qdrant_that_is_away_or_lacks_the_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("qdrant_client")
    with search_servers.qdrant(CHUNKS, vectors()) as service:
        with pytest.raises(TransportError, match="answered 404"):
            open_snapshot(f"qdrant:{service.url}?collection=other")
        with pytest.raises(ConfigError, match="holds collections"):
            open_snapshot(f"qdrant:{service.url}")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    with pytest.raises(ConfigError, match="belongs to the job"):
        open_snapshot("qdrant:http://127.0.0.1:1?collection=docs&api_key_env=GITHUB_TOKEN")


def test_a_server_may_be_imported_into_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client")
    with search_servers.qdrant(CHUNKS, vectors()) as service:
        manifest, _ = import_store(f"qdrant:{service.url}?collection=docs&id=chunk_id", tmp_path / "out")
    assert manifest.chunks == 6
    assert np.load(tmp_path / "out" / "embeddings.npy").shape == (6, 8)
