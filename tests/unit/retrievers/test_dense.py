"""The dense retriever is exact, and its answer is the same bits however it is computed."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from rageval_action.core.model.snapshot import Metric
from rageval_action.core.model.types import ChunkAcl, Query, QueryAcl, Run
from rageval_action.errors import CannotMeasureError, ConfigError
from rageval_action.retrievers import search
from rageval_action.retrievers.dense import DenseRetriever
from rageval_action.retrievers.interface import RetrieverContext
from rageval_action.retrievers.vectors import exact_scores, from_snapshot
from tests.unit.retrievers.vector_corpora import brute, pairs, queries, retrieve, snapshot

METRICS: tuple[Metric, ...] = ("ip", "cosine", "l2")


@pytest.fixture(params=["every row", "faiss"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to nominate candidates, whatever the size of the corpus."""
    monkeypatch.setattr(search, "SMALL", 0 if request.param == "faiss" else 1 << 40)
    return str(request.param)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(6))
def test_it_agrees_with_brute_force_to_the_last_bit(path: str, metric: Metric, seed: int) -> None:
    """Duplicates, several chunks a document, shards, half precision, zero vectors, odd dimensions."""
    rng = np.random.default_rng(seed)
    rows, dimension, depth = int(rng.integers(30, 300)), int(rng.integers(1, 40)), int(rng.integers(1, 20))
    vectors = rng.standard_normal((rows, dimension)).astype(np.float32)
    vectors = vectors[rng.integers(0, rows // (1 + seed % 3 * 3), rows)]
    if seed % 2:
        vectors = (vectors * 3).astype(np.float16)
    vectors[seed] = 0
    ids = [f"{number}é" for number in rng.permutation(rows)]
    docs = [f"d{number}" for number in rng.integers(0, rows // (1 + seed), rows)] if seed else ids
    made = snapshot(vectors, ids, docs, metric=metric, shards=1 + seed % 3)
    asked = rng.standard_normal((7, dimension)).astype(np.float32)
    run = retrieve(made, asked, depth)
    for query, ranking in zip(asked, run.rankings, strict=True):
        assert pairs(ranking) == brute(made, query, depth)
        assert [hit.rank for hit in ranking.hits] == list(range(1, len(ranking.hits) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_nothing_but_the_contents_moves_a_score(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the corpus are exact duplicates in groups of 40, which straddle the depth: storage order, shards,
    threads, batch size and code path are permuted, and not one bit of the answer changes."""
    rng = np.random.default_rng(11)
    rows, twins, depth, count = 1600, 400, 25, 300
    vectors = rng.standard_normal((rows, 24)).astype(np.float32)
    vectors *= rng.uniform(0.5, 2, rows).astype(np.float32)[:, None]
    vectors[-twins:] = vectors[-twins:][np.arange(twins) // 40 * 40]
    ids = np.array([f"c{number}" for number in rng.permutation(rows)])
    near = np.concatenate([vectors[-twins::2], vectors[rng.integers(0, rows - twins, 100)]])
    asked = near + np.float32(0.3) * rng.standard_normal((count, 24)).astype(np.float32)
    answers = set()
    for at, (threads, batch, small) in enumerate(product((1, 2, 4), (1, 7, 300), (0, 1 << 40))):
        monkeypatch.setattr(search, "SMALL", small)
        if batch == 1 and (threads, small) != (2, 0):
            continue  # one query at a time is slow, and one of these says as much as six
        order = np.random.default_rng(at).permutation(rows)
        made = snapshot(vectors[order], list(ids[order]), list(ids[order]), metric=metric, shards=1 + at % 4)
        run = retrieve(made, asked, depth, threads=threads, batch_size=batch)
        answers.add(_bits(run))
    assert len(answers) == 1
    cut = [ranking.hits for ranking in run.rankings if len(ranking.hits) > depth]
    assert len(cut) > 50, "the groups of duplicates straddle the depth"


def _bits(run: Run) -> tuple[tuple[tuple[str, str], ...], ...]:
    return tuple(tuple((hit.id, hit.score.hex()) for hit in ranking.hits) for ranking in run.rankings)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dimension", [1, 3, 7, 8, 128, 129, 384, 1024, 1536])
def test_an_exact_score_does_not_depend_on_its_company(metric: Metric, dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    vectors = rng.standard_normal((600, dimension)).astype(np.float32)
    names = [str(row) for row in range(600)]
    whole = from_snapshot(snapshot(vectors, names, names, metric=metric))
    split = from_snapshot(snapshot(vectors, names, names, metric=metric, shards=7))
    query = rng.standard_normal(dimension).astype(np.float32)
    together = exact_scores(whole, query, np.arange(600))
    alone = np.array([exact_scores(whole, query, np.array([row]))[0] for row in range(600)])
    shuffled = rng.permutation(600)
    assert np.array_equal(together, alone)
    assert np.array_equal(together[shuffled], exact_scores(split, query, shuffled))


def test_equal_scores_go_by_id_descending_bytewise(path: str) -> None:
    names = ["a", "B", "10", "9", "é", "z", "𝄞", "\uffff"]
    vectors = np.ones((len(names), 3), np.float32)
    (ranking,) = retrieve(snapshot(vectors, names, names), np.ones((1, 3), np.float32), 4).rankings
    by_bytes = sorted(names, key=lambda name: name.encode(), reverse=True)
    assert [hit.id for hit in ranking.hits] == by_bytes, "the group that straddles the depth is kept whole"


def test_a_corpus_of_one_vector_is_cut_at_the_depth(path: str) -> None:
    names = [f"{row:03d}" for row in range(200)]
    vectors = np.ones((200, 3), np.float32)
    docs = ["same"] * 200
    (ranking,) = retrieve(snapshot(vectors, names, docs), np.ones((1, 3), np.float32), 5).rankings
    assert [hit.id for hit in ranking.hits] == names[:-6:-1]


def test_few_long_documents_are_all_found(path: str) -> None:
    """Past the depth only the best chunk of each further document is kept."""
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((400, 6)).astype(np.float32)
    vectors[:380] += 5
    names = [f"c{row}" for row in range(400)]
    docs = ["long"] * 380 + [f"short{row % 4}" for row in range(20)]
    made = snapshot(vectors, names, docs)
    query = np.ones((1, 6), np.float32)
    (ranking,) = retrieve(made, query, 5).rankings
    assert pairs(ranking) == brute(made, query[0], 5)
    assert {hit.doc for hit in ranking.hits} == {"long", "short0", "short1", "short2", "short3"}
    assert len(ranking.hits) < 40


@pytest.mark.parametrize("metric", METRICS)
def test_vectors_far_from_the_origin_are_still_told_apart(path: str, metric: Metric) -> None:
    """Single precision has no digits left here; double precision has."""
    rng = np.random.default_rng(5)
    vectors = (1000 + 1e-3 * rng.standard_normal((300, 16))).astype(np.float32)
    names = [f"c{row}" for row in range(300)]
    made = snapshot(vectors, names, names, metric=metric)
    asked = vectors[:3].copy()
    for query, ranking in zip(asked, retrieve(made, asked, 4).rankings, strict=True):
        assert pairs(ranking) == brute(made, query, 4)


@pytest.mark.parametrize("scale", [1e-20, 1e18])
def test_extreme_lengths_are_searched_exactly(path: str, scale: float) -> None:
    rng = np.random.default_rng(6)
    vectors = (rng.standard_normal((300, 16)) * scale).astype(np.float32)
    names = [f"c{row}" for row in range(300)]
    made = snapshot(vectors, names, names, metric="cosine")
    asked = rng.standard_normal((3, 16)).astype(np.float32)
    for query, ranking in zip(asked, retrieve(made, asked, 4).rankings, strict=True):
        assert pairs(ranking) == brute(made, query, 4)


@pytest.mark.parametrize(
    ("of_rows", "of_queries"), [(1e20, 1e20), (1e10, 1e30), (1e-25, 1e-25), (1e-10, 1e-33)]
)
def test_products_that_single_precision_cannot_hold_are_ranked(
    path: str, of_rows: float, of_queries: float
) -> None:
    rng = np.random.default_rng(6)
    vectors = (rng.standard_normal((300, 16)) * of_rows).astype(np.float32)
    names = [f"c{row}" for row in range(300)]
    made = snapshot(vectors, names, names)
    asked = (rng.standard_normal((3, 16)) * of_queries).astype(np.float32)
    for query, ranking in zip(asked, retrieve(made, asked, 4).rankings, strict=True):
        assert pairs(ranking) == brute(made, query, 4)


def test_a_metric_is_searched_as_it_is(path: str) -> None:
    """The three metrics disagree about vectors that are not normalised."""
    vectors = np.array([[10, 10], [0.3, 0.036], [1, 0]], np.float32)
    names = ["long", "along", "close"]
    query = np.array([[1, 0.12]], np.float32)
    best = {
        metric: retrieve(snapshot(vectors, names, names, metric=metric), query, 1).rankings[0].hits[0].id
        for metric in METRICS
    }
    assert best == {"ip": "long", "cosine": "along", "l2": "close"}
    scores = retrieve(snapshot(vectors, names, names, metric="l2"), query, 3).rankings[0].hits
    assert all(hit.score <= 0 for hit in scores)


def test_zero_vectors_are_never_returned(path: str) -> None:
    vectors = np.array([[1, 0], [0, 0], [-1, 0]], np.float32)
    for metric in METRICS:
        made = snapshot(vectors, ["a", "zero", "b"], ["a", "zero", "b"], metric=metric)
        (ranking,) = retrieve(made, np.array([[1, 0]], np.float32), 10).rankings
        assert [hit.id for hit in ranking.hits] == ["a", "b"]


def _tenants(rows: int) -> list[ChunkAcl | None]:
    return [None if row % 5 == 0 else ChunkAcl(tenant=f"t{row % 4}") for row in range(rows)]


def test_enforced_access_is_the_ranking_of_what_may_be_seen(path: str) -> None:
    """Rows that may not be seen are out before the ranking, so the depth is filled from the rest."""
    rng = np.random.default_rng(8)
    vectors = rng.standard_normal((400, 12)).astype(np.float32)
    names = [f"c{row}" for row in range(400)]
    docs = [f"d{row // 3}" for row in range(400)]
    acls = _tenants(400)
    made = snapshot(vectors, names, docs, acls=acls)
    asked = rng.standard_normal((6, 12)).astype(np.float32)
    who = [None, *(QueryAcl(tenant=f"t{number}") for number in range(4)), QueryAcl(tenant="nobody")]
    given = [Query(id=f"q{number}", text=str(number), acl=acl) for number, acl in enumerate(who)]
    run = retrieve(made, asked, 30, asked=given)
    for number, ranking in enumerate(run.rankings):
        acl = who[number]
        seen = [row for row in range(400) if acl is None or acls[row] is None or acls[row].admits(acl)]
        part = snapshot(vectors[seen], [names[row] for row in seen], [docs[row] for row in seen])
        assert pairs(ranking) == brute(part, asked[number], 30)
        assert all(hit.acl_allowed is None for hit in ranking.hits), "access is judged elsewhere"


def test_audited_access_returns_everything() -> None:
    rng = np.random.default_rng(8)
    vectors = rng.standard_normal((50, 12)).astype(np.float32)
    names = [f"c{row}" for row in range(50)]
    made = snapshot(vectors, names, names, acls=_tenants(50))
    asked = rng.standard_normal((1, 12)).astype(np.float32)
    given = [Query(id="q", text="0", acl=QueryAcl(tenant="t1"))]
    (ranking,) = retrieve(made, asked, 50, asked=given, access="audit").rankings
    assert len(ranking.hits) == 50


def test_who_may_see_nothing_gets_nothing(path: str) -> None:
    vectors = np.ones((3, 2), np.float32)
    acls = [ChunkAcl(groups=("ops",))] * 3
    made = snapshot(vectors, ["a", "b", "c"], ["a", "b", "c"], acls=acls)
    given = [Query(id="q", text="0", acl=QueryAcl(groups=("dev",)))]
    (ranking,) = retrieve(made, np.ones((1, 2), np.float32), 5, asked=given).rankings
    assert (ranking.hits, ranking.error) == ((), "")


def test_a_query_vector_that_cannot_be_searched_with_fails_alone(path: str) -> None:
    vectors = np.eye(3, dtype=np.float32)
    asked = np.array([[1, 0, 0], [0, 0, 0], [np.nan, 0, 0], [0, 0, 1]], np.float32)
    made = snapshot(vectors, ["a", "b", "c"], ["a", "b", "c"], metric="cosine")
    run = retrieve(made, asked, 1, latency_queries=4)
    assert [ranking.hits[0].id if ranking.hits else "" for ranking in run.rankings] == ["a", "", "", "c"]
    assert [bool(ranking.error) for ranking in run.rankings] == [False, True, True, False]
    assert "zero" in run.rankings[1].error
    assert "NaN" in run.rankings[2].error
    assert [bool(ranking.latency_ms) for ranking in run.rankings] == [True, False, False, True]
    assert [notice.code for notice in run.notices] == ["retriever.query-failed"]


def test_a_zero_query_under_an_inner_product_ties_everything(path: str) -> None:
    vectors = np.eye(3, dtype=np.float32)
    (ranking,) = retrieve(
        snapshot(vectors, ["a", "c", "b"], ["a", "c", "b"]), np.zeros((1, 3), np.float32), 3
    ).rankings
    assert pairs(ranking) == [("c", 0.0), ("b", 0.0), ("a", 0.0)]


def test_latency_is_measured_one_query_at_a_time() -> None:
    vectors = np.eye(40, dtype=np.float32)
    names = [f"c{row}" for row in range(40)]
    made = snapshot(vectors, names, names)
    run = retrieve(made, vectors, 5, latency_queries=8)
    timed = [number for number, ranking in enumerate(run.rankings) if ranking.latency_ms]
    assert timed == list(range(0, 40, 5))
    assert run.warm_up == 2
    assert run.parameters["latency_queries"] == 8
    for number in timed:
        stages = run.rankings[number].latency_ms
        assert set(stages) == {"retrieve", "total"}, (
            "nothing was embedded, so nothing is said about embedding"
        )
        assert 0 < stages["retrieve"] == stages["total"]
    assert not any(ranking.latency_ms for ranking in retrieve(made, vectors, 5, latency_queries=0).rankings)


class _Fresh:
    origin = "model"

    def __init__(self) -> None:
        self.alone = 0

    def __call__(self, texts: list[str]) -> np.ndarray:
        return np.eye(4, dtype=np.float32)[[int(text) for text in texts]]

    def fresh(self, text: str) -> np.ndarray:
        self.alone += 1
        return self([text])


def test_embedding_is_timed_when_the_model_embeds() -> None:
    names = list("abcd")
    encode = _Fresh()
    context = RetrieverContext(
        snapshot=snapshot(np.eye(4, dtype=np.float32), names, names),
        encode=encode,
        options={"latency_queries": 3},
    )
    run = DenseRetriever(context).retrieve(queries(4), 2)
    stages = [ranking.latency_ms for ranking in run.rankings if ranking.latency_ms]
    assert len(stages) == 3
    for stage in stages:
        assert stage["total"] == pytest.approx(stage["embed"] + stage["retrieve"])
    assert encode.alone == 3 + 2, "timed queries and the warm-up"
    assert run.parameters["query_vectors"] == "model"


def test_each_text_is_embedded_once() -> None:
    asked: list[list[str]] = []

    def encode(texts: list[str]) -> np.ndarray:
        asked.append(list(texts))
        return np.eye(4, dtype=np.float32)[[int(text) for text in texts]]

    names = list("abcd")
    made = snapshot(np.eye(4, dtype=np.float32), names, names)
    given = [Query(id=f"q{at}", text=text) for at, text in enumerate("0120")]
    run = DenseRetriever(RetrieverContext(snapshot=made, encode=encode)).retrieve(given, 1)
    assert asked == [["0", "1", "2"]]
    assert [ranking.hits[0].id for ranking in run.rankings] == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"nprobe": 1}, "config.unknown-option"),
        ({"batch_size": 0}, "config.bad-option"),
        ({"batch_size": "many"}, "config.bad-option"),
        ({"batch_size": True}, "config.bad-option"),
        ({"latency_queries": -2}, "config.bad-option"),
    ],
)
def test_options_are_checked(options: dict[str, object], code: str) -> None:
    made = snapshot(np.eye(2, dtype=np.float32), ["a", "b"], ["a", "b"])
    with pytest.raises(ConfigError) as caught:
        DenseRetriever(RetrieverContext(snapshot=made, encode=lambda texts: np.eye(2), options=options))
    assert caught.value.code == code


def test_a_snapshot_without_vectors_cannot_be_searched() -> None:
    made = snapshot(np.eye(2, dtype=np.float32), ["a", "b"], ["a", "b"])
    bare = type(made)(path="bare", manifest=made.manifest, chunks=made.chunks)
    with pytest.raises(CannotMeasureError) as caught:
        DenseRetriever(RetrieverContext(snapshot=bare, encode=lambda texts: np.eye(2)))
    assert (caught.value.code, caught.value.where) == ("snapshot.no-vectors", "bare")


def test_no_queries_make_an_empty_run() -> None:
    made = snapshot(np.eye(2, dtype=np.float32), ["a", "b"], ["a", "b"])
    context = RetrieverContext(snapshot=made, encode=lambda texts: np.eye(2))
    assert DenseRetriever(context).retrieve([], 5).rankings == ()


def test_threads_of_faiss_are_put_back() -> None:
    import faiss

    before = faiss.omp_get_max_threads()
    made = snapshot(np.eye(2, dtype=np.float32), ["a", "b"], ["a", "b"])
    retrieve(made, np.eye(2, dtype=np.float32), 1, threads=before + 1)
    assert faiss.omp_get_max_threads() == before


def test_a_small_corpus_is_searched_without_importing_faiss(tmp_path: Path) -> None:
    """Importing it costs more than the search."""
    import subprocess

    code = (
        "import sys, numpy as np\n"
        "from tests.unit.retrievers.vector_corpora import *\n"
        "v = np.eye(9, dtype=np.float32); n = list('abcdefghi')\n"
        "retrieve(snapshot(v, n, n), v, 3)\n"
        "print('faiss' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
