from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from rageval_action.core.model.types import Query
from rageval_action.errors import CannotMeasureError, ConfigError
from rageval_action.retrievers import cross_encoders, rerank
from rageval_action.retrievers.interface import build
from rageval_action.retrievers.rerank import RerankRetriever
from rageval_action.transport import TransportError
from tests.fakes import rerankers
from tests.fakes.server import FakeService, Reply
from tests.packaged_models import cross_encoder, torch_cross_encoder
from tests.unit.retrievers.text_corpora import context, corpus, means, snapshot, texts

LINES = texts("rotate the key", "key key key", "rotate rotate", "nothing here", "key of the door")
ASKED = [Query(id="q", text="rotate key")]


class CountingScorer:
    """Prefers long texts; remembers what it was asked."""

    def __init__(self, *, fail: bool = False) -> None:
        self.cost: dict[str, float] = {"rerank_calls": 0.0}
        self.revision = "r7"
        self.asked: list[tuple[str, ...]] = []
        self.fail = fail

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        if self.fail:
            raise TransportError("rerank.bad-answer", "it broke.")
        self.asked.append(tuple(texts))
        self.cost["rerank_calls"] += 1
        return [float(len(text)) for text in texts]


@pytest.fixture
def scorer(monkeypatch: pytest.MonkeyPatch) -> CountingScorer:
    made = CountingScorer()
    monkeypatch.setattr(rerank, "scorer", lambda options, threads: made)
    return made


def test_the_first_n_get_a_new_order_and_the_rest_stay_below(scorer: CountingScorer) -> None:
    first = RerankRetriever(context(snapshot(LINES), of="bm25", top=1)).retrieve(ASKED, 5).rankings[0]
    plain = [hit.id for hit in first.hits]
    run = RerankRetriever(context(snapshot(LINES), of="bm25", top=3)).retrieve(ASKED, 5)
    hits = run.rankings[0].hits
    assert [hit.id for hit in hits[3:]] == plain[3:]
    assert sorted(hit.id for hit in hits[:3]) == sorted(plain[:3])
    assert [hit.score for hit in hits[:3]] == [14.0, 13.0, 11.0]
    assert [hit.score for hit in hits[3:]] == [10.0, 9.0]
    assert all("bm25" in (hit.stages or {}) for hit in hits)
    assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5]


def test_times_costs_and_parameters_are_kept_per_stage(scorer: CountingScorer) -> None:
    run = RerankRetriever(context(snapshot(LINES), of="bm25", bm25__b=0.5)).retrieve(ASKED * 2, 2)
    latency = run.rankings[0].latency_ms
    assert set(latency) == {"retrieve", "rerank", "total"}
    assert latency["total"] == pytest.approx(latency["retrieve"] + latency["rerank"])
    assert run.cost == {"rerank_calls": 2.0}
    assert run.parameters["bm25.b"] == 0.5
    assert run.parameters["reranker_revision"] == "r7"
    assert len(scorer.asked) == 2  # nothing paid for twice to warm up


def test_depth_counts_documents(scorer: CountingScorer) -> None:
    run = RerankRetriever(context(snapshot(LINES), of="bm25", top=2)).retrieve(ASKED, 3)
    assert len(run.rankings[0].hits) == 3


def test_a_reranker_that_fails_costs_that_query(scorer: CountingScorer) -> None:
    scorer.fail = True
    run = RerankRetriever(context(snapshot(LINES), of="bm25")).retrieve(ASKED, 3)
    assert run.rankings[0].error == "rerank: it broke."
    assert run.rankings[0].hits == ()


def test_a_reranker_that_keeps_failing_is_not_asked_for_ever(scorer: CountingScorer) -> None:
    scorer.fail = True
    many = [Query(id=f"q{at}", text="key") for at in range(12)]
    run = RerankRetriever(context(snapshot(LINES), of="bm25")).retrieve(many, 3)
    errors = [ranking.error for ranking in run.rankings]
    assert errors[:10] == ["rerank: it broke."] * 10
    assert errors[10:] == ["rerank: not asked: 10 queries in a row failed"] * 2


def test_a_query_that_the_first_stage_failed_stays_failed(scorer: CountingScorer, exact: str) -> None:
    made = snapshot(LINES, np.eye(5, dtype=np.float32))
    built = context(
        made, encode=lambda asked: np.ones((len(asked), 5), np.float32), of="exact", exact__broken="q"
    )
    assert RerankRetriever(built).retrieve(ASKED, 3).rankings[0].error == "no answer"
    assert scorer.asked == []


def test_only_one_retriever_is_reranked() -> None:
    with pytest.raises(ConfigError, match="fuse several with hybrid"):
        RerankRetriever(context(snapshot(LINES), of="dense,bm25"))


@pytest.mark.parametrize("vendor", ["cohere", "voyage", "jina"])
def test_hosted_rerankers_share_one_interface(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{vendor.upper()}_API_KEY", rerankers.KEY)
    with rerankers.service(vendor) as service:
        built = context(snapshot(LINES), of="bm25", backend=vendor, model="rerank-1", url=service.url)
        run = RerankRetriever(built).retrieve(ASKED, 5)
    hits = run.rankings[0].hits
    assert hits[0].id == "c1"
    assert hits[0].score == 1.0
    assert run.cost["rerank_calls"] == 1.0
    assert run.cost.get("rerank_tokens", 0) + run.cost.get("rerank_search_units", 0) > 0
    assert rerankers.KEY not in repr(run)


@pytest.mark.parametrize(
    "results",
    [
        [{"index": 0, "relevance_score": 1.0}],
        [{"index": 7, "relevance_score": 1.0}, {"index": 0, "relevance_score": 1.0}],
        [{"index": 0, "relevance_score": math.nan}, {"index": 1, "relevance_score": 0.5}],
        [{"position": 0}],
        "nothing",
    ],
)
def test_a_hosted_answer_that_does_not_score_every_text_is_refused(
    results: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COHERE_API_KEY", rerankers.KEY)
    with FakeService({"POST /v2/rerank": lambda request, match: {"results": results}}) as service:
        built = context(snapshot(LINES[:2]), of="bm25", backend="cohere", model="m", url=service.url)
        run = RerankRetriever(built).retrieve(ASKED, 2)
    assert run.rankings[0].error.startswith("rerank: the reranker")


def test_the_jobs_own_variables_are_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "job-secret")
    with pytest.raises(ConfigError) as caught:
        RerankRetriever(
            context(snapshot(LINES), of="bm25", backend="cohere", model="m", api_key_env="GITHUB_TOKEN")
        )
    assert caught.value.code == "config.forbidden-variable"
    assert "job-secret" not in str(caught.value)


def test_a_missing_key_and_a_missing_model_are_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="COHERE_API_KEY is not set"):
        RerankRetriever(context(snapshot(LINES), of="bm25", backend="cohere", model="m"))
    pytest.importorskip("onnxruntime")
    with pytest.raises(ConfigError, match=r"needs model\.onnx"):
        RerankRetriever(context(snapshot(LINES), of="bm25", backend="onnx", model=str(tmp_path)))


def test_damaged_weights_are_said(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"\x08\x07damaged")
    with pytest.raises(CannotMeasureError, match="could not be loaded"):
        RerankRetriever(context(snapshot(LINES), of="bm25", backend="onnx", model=str(tmp_path)))


def test_busy_services_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COHERE_API_KEY", rerankers.KEY)
    answers = iter(
        [Reply(status=429, headers={"Retry-After": "0"}), Reply(status=503, headers={"Retry-After": "0"})]
    )
    routes = {
        "POST /v2/rerank": lambda request, match: next(answers, None) or rerankers.cohere(request, match)
    }
    with FakeService(routes) as service:
        built = context(snapshot(LINES), of="bm25", backend="cohere", model="m", url=service.url)
        run = RerankRetriever(built).retrieve(ASKED, 2)
    assert not run.rankings[0].error
    assert len(service.requests) == 3


@pytest.fixture(scope="module")
def torch_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("sentence_transformers")
    return str(torch_cross_encoder(tmp_path_factory.mktemp("cross-encoder")))


PASSAGES = [
    "Capital letters begin a sentence.",
    "Paris is the capital and largest city of France.",
    "The capital of Germany is Berlin.",
    *(f"Passage {at} is long and speaks of other things. " + "It goes on. " * at for at in range(20)),
]
FRANCE = "what is the capital of france"


@pytest.mark.slow
def test_the_same_cross_encoder_by_sentence_transformers(torch_model: str) -> None:
    import sentence_transformers

    with mock.patch.object(
        sentence_transformers, "CrossEncoder", wraps=sentence_transformers.CrossEncoder
    ) as made:
        scorer = cross_encoders.SentenceTransformersScorer(torch_model, 512)
    assert made.call_args.kwargs["device"] == "cpu", "scores are the same on every machine"
    assert scorer.cost == {}
    scores = scorer.score(FRANCE, PASSAGES)
    assert len(scores) == len(PASSAGES)
    assert max(scores) == scores[1] > 5.0
    assert max(score for at, score in enumerate(scores) if at != 1) < 0.0
    assert scorer.score(FRANCE, PASSAGES) == scores, "to the last digit"
    alone = [scorer.score(FRANCE, [passage])[0] for passage in PASSAGES]
    assert alone == pytest.approx(scores, abs=1e-4), "neighbours in a batch move the last digits at most"
    onnx = cross_encoders.OnnxScorer(str(cross_encoder()), 512, 1).score(FRANCE, PASSAGES[:3])
    assert scores[:3] == pytest.approx(onnx, abs=0.5), (
        "the weights are the same; the other one rounds on its way"
    )


@pytest.mark.slow
def test_sentence_transformers_rerank_and_the_stages_say_so(torch_model: str) -> None:
    lines = texts(*PASSAGES[:3], "france france capital", "nothing of the kind")
    asked = [Query(id="q", text=FRANCE), Query(id="r", text="the key"), Query(id="s", text=FRANCE)]
    built = context(
        snapshot(lines), of="bm25", backend="sentence-transformers", model=torch_model, top=4, max_length=64
    )
    run = RerankRetriever(built).retrieve(asked, 5)
    hits = run.rankings[0].hits
    assert hits[0].id == "c2"
    assert hits[0].score > 5.0
    keys = [(hit.score, hit.id) for hit in hits]
    assert keys == sorted(keys, reverse=True)
    first = RerankRetriever(
        context(snapshot(lines), of="bm25", backend="onnx", model=str(cross_encoder()), top=4)
    )
    assert [hit.id for hit in first.retrieve(asked, 5).rankings[0].hits[:4]] == [hit.id for hit in hits[:4]]
    plain = {
        hit.id: hit.score
        for hit in build("bm25", context(snapshot(lines))).retrieve(asked, 5).rankings[0].hits
    }
    assert {hit.id: (hit.stages or {})["bm25"] for hit in hits} == plain
    assert run.rankings[2].hits == hits, "a query is not moved by its neighbours"
    assert set(run.rankings[0].latency_ms) == {"retrieve", "rerank", "total"}
    assert run.parameters["reranker"] == torch_model


def test_a_model_that_cannot_be_loaded_is_said(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    with pytest.raises(CannotMeasureError) as caught:
        cross_encoders.SentenceTransformersScorer(str(tmp_path), 512)
    assert (caught.value.code, caught.value.exit_code) == ("rerank.model-not-loaded", 3)


def test_a_real_cross_encoder_puts_the_answer_first() -> None:
    pytest.importorskip("onnxruntime")
    scorer = cross_encoders.OnnxScorer(str(cross_encoder()), 512, 1)
    passages = [
        "Paris is the capital and largest city of France.",
        "The capital of Germany is Berlin.",
        "Capital letters begin a sentence.",
    ]
    scores = scorer.score("what is the capital of france", passages)
    assert scores[0] > 5.0
    assert max(scores[1:]) < 0.0


@pytest.mark.slow
def test_a_real_cross_encoder_lifts_real_questions() -> None:
    pytest.importorskip("onnxruntime")
    made, queries, _ = corpus("anthropic_docs")
    asked = queries[:12]
    built = context(made, of="bm25", backend="onnx", model=str(cross_encoder()), top=8, max_length=256)
    run = RerankRetriever(built).retrieve(asked, 10)
    assert all(not ranking.error for ranking in run.rankings)
    assert means(run, asked)["recall@5"] >= 0.7
