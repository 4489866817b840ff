from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.core.model.types import ChunkAcl, Query, QueryAcl, Run
from rageval_action.errors import ConfigError
from rageval_action.retrievers import clients, search
from rageval_action.retrievers.dense import DenseRetriever
from rageval_action.retrievers.interface import OptionValue, build
from tests.fakes import search_servers
from tests.fakes.databases import fill_chroma, fill_lancedb, fill_postgres, fill_sqlite_vec
from tests.fakes.server import FakeService, Reply
from tests.unit.retrievers.text_corpora import context, corpus, snapshot, texts

CHUNKS = texts("one", "two", "three", "four", acls={4: ChunkAcl(tenant="acme")})
VECTORS = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 1, 0], [0.9, 0.1, 0]], dtype=np.float32)
MADE = snapshot(CHUNKS, VECTORS)


def encode(asked: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[1, 0, 0]] * len(asked), dtype=np.float32)


def ids(run: Run, at: int = 0) -> list[str]:
    assert run.rankings[at].error == ""
    return [hit.id for hit in run.rankings[at].hits]


ASKED = [Query(id="q1", text="one"), Query(id="q2", text="two")]


def ask(
    name: str, queries: list[Query] = ASKED, depth: int = 3, *, access: str = "audit", **options: OptionValue
) -> Run:
    return build(name, context(MADE, access=access, encode=encode, **options)).retrieve(queries, depth)  # type: ignore[arg-type]


# PostgreSQL


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DATABASE_URL", fill_postgres("chunks_small", CHUNKS, VECTORS))
    return "chunks_small"


@pytest.mark.parametrize(
    ("operator", "order"),
    [
        ("<=>", ["c1", "c4", "c2"]),
        ("<->", ["c1", "c4", "c2"]),
        ("<#>", ["c1", "c4", "c2"]),
        ("<+>", ["c1", "c4", "c2"]),
    ],
)
def test_pgvector_orders_by_its_operator(table: str, operator: str, order: list[str]) -> None:
    run = ask("pgvector", table=table, operator=operator)
    assert ids(run) == order
    assert run.warm_up == 1
    assert set(run.rankings[0].latency_ms) == {"retrieve", "total"}
    assert "postgres" not in repr(run.parameters)


def test_pgvector_scores_are_cosines(table: str) -> None:
    scores = {hit.id: hit.score for hit in ask("pgvector", table=table).rankings[0].hits}
    assert scores["c2"] == pytest.approx(0.8, abs=1e-5)


def test_pgvector_filters_in_sql_by_who_asks(table: str) -> None:
    where = "tenant IS NULL OR tenant = %(tenant)s"
    queries = [
        Query(id="q", text="x", acl=QueryAcl(tenant="acme")),
        Query(id="r", text="x", acl=QueryAcl(tenant="other")),
    ]
    run = ask("pgvector", queries, table=table, where=where)
    assert ids(run, 0) == ["c1", "c4", "c2"]
    assert ids(run, 1) == ["c1", "c2", "c3"]


def test_access_is_enforced_even_where_the_store_does_not(table: str) -> None:
    queries = [Query(id="r", text="x", acl=QueryAcl(tenant="other"))]
    run = ask("pgvector", queries, access="enforce", table=table)
    assert ids(run) == ["c1", "c2", "c3"]
    assert run.notices[0].code == "retriever.hidden-results"


def test_pgvector_halves_indexes_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    address = fill_postgres("halves", CHUNKS, VECTORS, "halfvec")
    monkeypatch.setenv("DATABASE_URL", address)
    with psycopg.connect(address, autocommit=True) as base:
        base.execute("CREATE INDEX ON halves USING hnsw (embedding halfvec_cosine_ops)")
    run = ask("pgvector", table="halves", type="halfvec", exact=True, set__hnsw__ef_search=200)
    assert ids(run) == ["c1", "c4", "c2"]
    assert run.parameters["set.hnsw.ef_search"] == "200"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": "not_there"}, 'relation "not_there" does not exist'),
        ({"table": "chunks_small", "where": "no_column = 1"}, 'column "no_column" does not exist'),
        ({"table": "chunks_small", "where": "pg_sleep(5) IS NULL", "timeout_s": 0.2}, "statement timeout"),
        (
            {"table": "chunks_small", "where": "set_config('a.b', 'c', false) IS NULL OR nextval('s') > 0"},
            "does not exist",
        ),
        ({"table": 'x"; DROP TABLE chunks_small; --'}, "does not exist"),
    ],
)
def test_what_postgresql_refuses_costs_the_queries(
    table: str, options: dict[str, OptionValue], said: str
) -> None:
    run = ask("pgvector", **options)
    assert all(said in ranking.error for ranking in run.rankings)
    assert ids(ask("pgvector", table=table)) == ["c1", "c4", "c2"]


def test_a_database_that_is_away_costs_the_queries_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:hunter22@127.0.0.1:1/none")
    run = ask("pgvector", [Query(id=f"q{at}", text="x") for at in range(12)], table="t")
    assert run.rankings[0].error.startswith("PostgreSQL:")
    assert run.rankings[-1].error == "not asked: 10 queries in a row failed"
    assert "hunter22" not in repr(run)


# Embedded stores


def test_sqlite_vec(tmp_path: Path) -> None:
    path = str(fill_sqlite_vec(tmp_path / "v.db", CHUNKS, VECTORS))
    options: dict[str, OptionValue] = {"file": path, "table": "vec", "texts": "chunks", "id": "chunk_id"}
    assert ids(ask("sqlite-vec", metric="cosine", **options)) == ["c1", "c4", "c2"]
    assert ids(ask("sqlite-vec", **options)) == ["c1", "c4", "c2"]
    assert ids(ask("sqlite-vec", where="t.doc <> 'd4'", **options)) == ["c1", "c2", "c3"]
    assert "SQLite:" in ask("sqlite-vec", file=path, table="none").rankings[0].error
    with pytest.raises(ConfigError, match="there is no file"):
        ask("sqlite-vec", file=str(tmp_path / "none"), table="vec")


@pytest.mark.slow
def test_lancedb(tmp_path: Path) -> None:
    path = str(fill_lancedb(tmp_path / "db", CHUNKS, VECTORS))
    assert ids(ask("lancedb", path=path, table="docs", metric="cosine", exact=True)) == ["c1", "c4", "c2"]
    scores = {
        hit.id: hit.score for hit in ask("lancedb", path=path, table="docs", metric="dot").rankings[0].hits
    }
    assert scores["c4"] == pytest.approx(0.9, abs=1e-5)
    assert ids(ask("lancedb", path=path, table="docs", where="doc != 'd4'")) == ["c1", "c2", "c3"]
    assert "LanceDB:" in ask("lancedb", path=path, table="none").rankings[0].error


@pytest.mark.slow
def test_chroma(tmp_path: Path) -> None:
    fill_chroma(tmp_path / "db", CHUNKS, VECTORS)
    before = (tmp_path / "db" / "chroma.sqlite3").read_bytes()
    run = ask("chroma", path=str(tmp_path / "db"), collection="docs")
    assert ids(run) == ["c1", "c4", "c2"]
    assert run.rankings[0].hits[2].score == pytest.approx(0.8, abs=1e-5)
    assert (tmp_path / "db" / "chroma.sqlite3").read_bytes() == before
    assert "Chroma:" in ask("chroma", path=str(tmp_path / "db"), collection="none").rankings[0].error
    with pytest.raises(ConfigError, match="either a path or a url"):
        ask("chroma", collection="docs")


@pytest.mark.parametrize("name", ["chroma", "lancedb", "sqlite-vec"])
def test_a_git_lfs_pointer_in_a_store_is_named_with_its_real_size(name: str, tmp_path: Path) -> None:
    file = tmp_path / {"chroma": "chroma.sqlite3", "lancedb": "docs.lance", "sqlite-vec": "v.db"}[name]
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n")
    where: dict[str, dict[str, OptionValue]] = {
        "chroma": {"path": str(tmp_path), "collection": "docs"},
        "lancedb": {"path": str(tmp_path), "table": "docs"},
        "sqlite-vec": {"file": str(file), "table": "docs"},
    }
    with pytest.raises(ConfigError, match="1,234 bytes") as caught:
        ask(name, **where[name])
    assert (caught.value.code, caught.value.where) == ("config.lfs-pointer", str(file))


@pytest.mark.parametrize("name", ["chroma", "lancedb", "pgvector", "sqlite-vec"])
def test_a_client_library_that_is_not_there_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "find_spec", lambda library: None)
    monkeypatch.setenv("DATABASE_URL", "postgresql://nowhere")
    (tmp_path / "chroma.sqlite3").touch()
    where: dict[str, dict[str, OptionValue]] = {
        "chroma": {"path": str(tmp_path), "collection": "docs"},
        "lancedb": {"path": str(tmp_path), "table": "docs"},
        "pgvector": {"table": "docs"},
        "sqlite-vec": {"file": str(tmp_path / "chroma.sqlite3"), "table": "docs"},
    }
    with pytest.raises(ConfigError) as caught:
        ask(name, **where[name])
    assert caught.value.code == "config.missing-extra"
    assert f"rag-eval-action[{name}]" in caught.value.hint


# What hangs for real is ended, and the next query gets a new process


def hung(run: Run) -> bool:
    """The second query ran out of time; the first and the third were answered."""
    first, second, third = run.rankings
    return not first.error and not third.error and second.error.startswith("no answer within")


THREE = [Query(id="q1", text="one"), Query(id="q2", text="hang"), Query(id="q3", text="three")]


def test_sql_without_end_in_a_file(tmp_path: Path) -> None:
    path = str(fill_sqlite_vec(tmp_path / "v.db", CHUNKS, VECTORS))
    endless = "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n) > 0"
    options: dict[str, OptionValue] = {"file": path, "table": "vec", "texts": "chunks", "id": "chunk_id"}
    run = ask("sqlite-vec", THREE, where=f":query <> 'hang' OR {endless}", timeout_s=1.0, **options)
    assert hung(run)


@pytest.mark.slow
def test_a_statement_without_end_where_the_database_has_no_limit(table: str) -> None:
    where = "%(query)s::text <> 'hang' OR pg_sleep(15) IS NULL"
    run = ask("pgvector", THREE, table=table, where=where, timeout_s=1.0, set__statement_timeout=0)
    assert hung(run)


@pytest.mark.slow
def test_a_table_whose_file_never_ends(tmp_path: Path) -> None:
    folder = fill_lancedb(tmp_path / "db", CHUNKS, VECTORS)
    (data,) = folder.rglob("data/*.lance")
    data.unlink()
    os.mkfifo(data)
    run = ask("lancedb", ASKED[:1], path=str(folder), table="docs", timeout_s=1.0, start_timeout_s=60.0)
    assert run.rankings[0].error == "no answer within 1 s"


@pytest.mark.slow
def test_a_chroma_server_that_never_answers() -> None:
    pytest.importorskip("chromadb")
    done = threading.Event()

    def never(*_: object) -> object:
        assert done.wait(300)
        return Reply(status=410)

    with FakeService({"GET .*": never, "POST .*": never}) as service:
        run = ask("chroma", ASKED[:1], url=service.url, collection="docs", start_timeout_s=3.0)
        done.set()
    assert run.rankings[0].error == "no answer within 3 s"


# Servers


def small() -> search_servers.Index:
    return search_servers.Index(CHUNKS, VECTORS)


def test_opensearch() -> None:
    with search_servers.opensearch(small()) as service:
        options: dict[str, OptionValue] = {"url": service.url, "index": "docs"}
        assert ids(ask("opensearch", **options)) == ["c1", "c4", "c2"]
        assert ids(ask("opensearch", id="_source.chunk_id", **options)) == ["c1", "c4", "c2"]
        assert ids(ask("opensearch", filter='{"term": {"doc": "d2"}}', **options)) == ["c2"]
        assert ids(ask("opensearch", mode="text", **options), 1)[0] == "c2"
        own = '{"size": "{depth}", "query": {"knn": {"embedding": {"vector": "{vector}", "k": "{depth}"}}}}'
        assert ids(ask("opensearch", mode="body", body=own, **options)) == ["c1", "c4", "c2"]
        wrong = ask("opensearch", mode="body", body='{"querry": {}}', **options)
        assert "answered 400" in wrong.rankings[0].error


def test_elasticsearch() -> None:
    with search_servers.elasticsearch(small()) as service:
        options: dict[str, OptionValue] = {"url": service.url, "index": "docs"}
        assert ids(ask("elasticsearch", num_candidates=50, **options)) == ["c1", "c4", "c2"]
        assert ids(ask("elasticsearch", filter='{"term": {"doc": "d2"}}', **options)) == ["c2"]


def test_meilisearch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEILI_KEY", "k")
    with search_servers.meilisearch(small(), "k") as service:
        options: dict[str, OptionValue] = {
            "url": service.url, "index": "docs", "header__Authorization": "Bearer ${MEILI_KEY}",
        }  # fmt: skip
        assert ids(ask("meilisearch", **options)) == ["c1", "c4", "c2"]
        assert ids(ask("meilisearch", semantic_ratio=0, **options), 1)[0] == "c2"
        assert ids(ask("meilisearch", filter='"doc = \\"d2\\""', **options)) == ["c2"]
        assert "answered 401" in ask("meilisearch", url=service.url, index="docs").rankings[0].error


def test_qdrant_by_its_own_engine() -> None:
    pytest.importorskip("qdrant_client")
    with search_servers.qdrant(CHUNKS, VECTORS) as service:
        options: dict[str, OptionValue] = {"url": service.url, "collection": "docs", "id": "payload.chunk_id"}
        assert ids(ask("qdrant", exact=True, hnsw_ef=64, **options)) == ["c1", "c4", "c2"]
        wanted = '{"must": [{"key": "doc", "match": {"value": "{acl.tenant}"}}]}'
        queries = [Query(id="q", text="x", acl=QueryAcl(tenant="d2"))]
        assert ids(ask("qdrant", queries, filter=wanted, **options)) == ["c2"]
        nameless = ask("qdrant", url=service.url, collection="docs", id="payload.none")
        assert nameless.rankings[0].error == "a hit has no id at payload.none"
    with search_servers.qdrant(CHUNKS, VECTORS, "Euclid") as service:
        run = ask("qdrant", url=service.url, collection="docs", id="payload.chunk_id", distance="euclid")
        assert ids(run) == ["c1", "c4", "c2"]
        assert run.rankings[0].hits[0].score == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["opensearch", "elasticsearch", "meilisearch", "qdrant"])
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(body=b"[]"), "the answer is not one that"),
        (Reply(body=b"{}"), "the answer is not one that"),
        (Reply(body=b"no"), "the answer is not JSON"),
        (Reply(status=404, body=b"none"), "answered 404"),
        (Reply(body=b'{"timed_out": true, "hits": [], "result": 3}'), ""),
    ],
)
def test_servers_that_answer_otherwise_cost_the_queries(name: str, reply: Reply, said: str) -> None:
    with FakeService({"POST .*": lambda request, match: reply}) as service:
        option = "collection" if name == "qdrant" else "index"
        run = ask(name, url=service.url, **{option: "docs"})
    assert all(said in ranking.error for ranking in run.rankings)
    assert [ranking.hits for ranking in run.rankings] == [(), ()]


@pytest.mark.parametrize("name", ["opensearch", "qdrant", "meilisearch"])
def test_the_jobs_own_token_is_never_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    with pytest.raises(ConfigError, match="belongs to the job"):
        ask(name, url="http://127.0.0.1:1", header__Authorization="${GITHUB_TOKEN}")


def test_a_tie_at_the_cut_is_settled_by_our_order(tmp_path: Path) -> None:
    many = texts(*(["same"] * 300))
    vectors = np.repeat(VECTORS[:1], 300, axis=0)
    path = str(fill_sqlite_vec(tmp_path / "v.db", many, vectors))
    built = context(
        snapshot(many, vectors),
        encode=encode,
        file=path,
        table="vec",
        texts="chunks",
        id="chunk_id",
        metric="cosine",
    )
    found = ids(build("sqlite-vec", built).retrieve(ASKED, 5))
    assert found == sorted((chunk.id for chunk in many), reverse=True)[:5]


# Exact search is exact search, whoever does it


def _agree(ours: Run, theirs: Run) -> int:
    """Rankings are the same but for ids whose scores differ by less than the store's digits; how many were compared."""
    for mine, other in zip(ours.rankings, theirs.rankings, strict=True):
        assert other.error == ""
        exact = {hit.id: hit.score for hit in mine.hits}
        for one, two in zip(mine.hits, other.hits, strict=True):
            if one.id != two.id:
                least = mine.hits[-1].score
                assert abs(one.score - exact.get(two.id, least)) < 3e-6
            assert abs(one.score - two.score) < 3e-6
    return len(ours.rankings)


def _asked_of(
    store: str, made: Snapshot, vectors: NDArray[np.float32], folder: Path, run: Callable[..., Run]
) -> Run:
    chunks = made.chunks
    if store == "sqlite-vec":
        path = str(fill_sqlite_vec(folder / "v.db", chunks, vectors))
        return run(file=path, table="vec", texts="chunks", id="chunk_id", metric="cosine")
    if store == "lancedb":
        path = str(fill_lancedb(folder / "db", chunks, vectors))
        return run(path=path, table="docs", metric="cosine", exact=True)
    if store == "pgvector":
        return run(table="real", exact=True)
    if store == "dense":
        return run()
    with search_servers.qdrant(chunks, vectors) as service:
        found = run(url=service.url, collection="docs", id="payload.chunk_id", exact=True)
        assert len(service.requests) > len(found.rankings), "every query was asked, by Qdrant's own engine"
        return found


@pytest.mark.slow
@pytest.mark.parametrize("store", ["dense", "pgvector", "sqlite-vec", "lancedb", "qdrant"])
@pytest.mark.parametrize(("name", "count"), [("anthropic_docs", 100), ("cranfield", 225)])
def test_exact_stores_rank_as_our_own_search_does(
    store: str, name: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every store against every row scored in double precision; `dense` is our search by FAISS."""
    if store == "qdrant":
        pytest.importorskip("qdrant_client")
    made, queries, asked = corpus(name)
    vectors = np.concatenate(made.shards)
    if store == "pgvector":
        monkeypatch.setenv("DATABASE_URL", fill_postgres("real", made.chunks, vectors))
    by_text = {query.text: vector for query, vector in zip(queries, asked, strict=True)}

    def look_up(lines: Sequence[str]) -> NDArray[np.float32]:
        return np.array([by_text[line] for line in lines])

    def run(**options: OptionValue) -> Run:
        return build(store, context(made, access="audit", encode=look_up, **options)).retrieve(queries, 20)

    by_faiss = mock.Mock(wraps=search._by_faiss)
    monkeypatch.setattr(search, "_by_faiss", by_faiss)
    monkeypatch.setattr(search, "SMALL", 10**12)
    ours = DenseRetriever(context(made, access="audit", encode=look_up)).retrieve(queries, 20)
    assert not by_faiss.called
    monkeypatch.setattr(search, "SMALL", 0)
    assert _agree(ours, _asked_of(store, made, vectors, tmp_path, run)) == len(queries) == count
    assert by_faiss.called == (store == "dense")
