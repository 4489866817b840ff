from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from rageval_action.core.model.types import Query, QueryAcl
from rageval_action.errors import ConfigError
from rageval_action.retrievers.http import HttpRetriever
from rageval_action.retrievers.interface import OptionValue
from tests.fakes.server import FakeService, Handler, Reply, Request
from tests.unit.retrievers.text_corpora import context, snapshot, texts

THREE = texts("one", "two", "three")
QUERIES = [Query(id=f"q{at}", text=text) for at, text in enumerate(("one", "two", "three"), 1)]


def made(service: FakeService, **options: OptionValue) -> HttpRetriever:
    return HttpRetriever(context(snapshot(THREE), access="audit", url=f"{service.url}/search", **options))


def answering(body: object) -> Handler:
    return lambda request, match: body


def on_two(bad: Callable[[], object]) -> dict[str, Handler]:
    def handler(request: Request, match: object) -> object:
        asked = json.loads(request.body)
        return bad() if asked["query"] == "two" else {"results": [{"id": "c1", "score": 0.5}]}

    return {"POST /search": handler}


def test_the_template_is_filled_and_the_results_found() -> None:
    answer = {
        "hits": {
            "hits": [{"_score": 2.0, "_source": {"chunk": "c2"}}, {"_score": 1.0, "_source": {"chunk": "c1"}}]
        }
    }
    with FakeService({"POST /search\\?v=2": answering(answer)}) as service:
        retriever = HttpRetriever(
            context(
                snapshot(THREE), access="audit", url=f"{service.url}/search?v=2",
                body='{"q": "{query}", "size": "{depth}", "note": "for {acl.principal}", "groups": ["{acl.groups}"]}',
                results_path="hits.hits", id_path="_source.chunk", score_path="_score",
            )
        )  # fmt: skip
        asked = Query(id="q", text='say "{depth}"', acl=QueryAcl(principal="ana", groups=("ops",)))
        run = retriever.retrieve([asked], 7)
    assert [(hit.id, hit.score) for hit in run.rankings[0].hits] == [("c2", 2.0), ("c1", 1.0)]
    assert json.loads(service.requests[0].body) == {
        "q": 'say "{depth}"', "size": 7, "note": "for ana", "groups": [["ops"]],
    }  # fmt: skip


def test_a_get_puts_the_query_in_the_address() -> None:
    with FakeService({"GET /find\\?q=a%26b%20%2F&n=4": answering(["c3"])}) as service:
        retriever = HttpRetriever(
            context(
                snapshot(THREE), url=f"{service.url}/find?q={{query}}&n={{depth}}", method="GET",
                results_path="", id_path="", score_path="",
            )
        )  # fmt: skip
        run = retriever.retrieve([Query(id="q", text="a&b /")], 4)
    assert [hit.id for hit in run.rankings[0].hits] == ["c3"]


def test_a_key_travels_in_a_header_and_is_recorded_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", "k3y-value")
    with FakeService({"POST /search": answering({"results": []})}) as service:
        run = made(service, header__Authorization="Bearer ${SEARCH_KEY}").retrieve(QUERIES[:1], 3)
    assert service.requests[0].headers["authorization"] == "Bearer k3y-value"
    assert "k3y-value" not in repr(run)
    assert run.parameters["url"] == f"{service.url}/search"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (lambda: Reply(body=b"not json"), "the answer is not JSON."),
        (lambda: Reply(status=500, body=b"boom"), "answered 500: boom"),
        (lambda: Reply(status=302, headers={"Location": "http://127.0.0.1:1/"}), "answered 302"),
        (lambda: {"results": "none"}, "the answer has no list at results"),
        (lambda: {"results": [{"score": 1.0}]}, "result 1 has no id"),
        (lambda: Reply(body=b'{"results": [{"id": "c1", "score": NaN}]}'), "the answer is not JSON."),
        (lambda: {"results": [{"id": "zz", "score": 1}]}, "none of the ids returned is in the snapshot"),
        (lambda: time.sleep(1.5) or {}, "no answer within 0.3 s."),
    ],
)
def test_a_bad_answer_costs_only_its_query(bad: Callable[[], object], said: str) -> None:
    with FakeService(on_two(bad)) as service:
        run = made(service, retries=0, timeout_s=0.3).retrieve(QUERIES, 3)
    assert run.rankings[1].error.startswith(said.rstrip("."))
    assert [ranking.hits[0].id for ranking in (run.rankings[0], run.rankings[2])] == ["c1", "c1"]


def test_a_busy_service_is_asked_again_and_not_for_ever() -> None:
    replies = iter([Reply(status=503, headers={"Retry-After": "0"}), {"results": ["c1"]}])
    with FakeService({"POST /search": lambda request, match: next(replies)}) as service:
        run = made(service, score_path="", id_path="").retrieve(QUERIES[:1], 3)
    assert [hit.id for hit in run.rankings[0].hits] == ["c1"]
    busy = Reply(status=429, headers={"Retry-After": "0"})
    with FakeService({"POST /search": answering(busy)}) as service:
        run = made(service, retries=2).retrieve(QUERIES[:1], 3)
    assert run.rankings[0].error.startswith("answered 429 after 3 tries")
    assert len(service.requests) == 3
    patient = Reply(status=429, headers={"Retry-After": "3600"})
    with FakeService({"POST /search": answering(patient)}) as service:
        run = made(service).retrieve(QUERIES[:1], 3)
    assert len(service.requests) == 1


def test_no_more_requests_are_open_than_allowed() -> None:
    def slow(request: Request, match: object) -> object:
        time.sleep(0.02)
        return {"results": [{"id": "c1", "score": 1}]}

    many = [Query(id=f"q{at}", text="x") for at in range(30)]
    with FakeService({"POST /search": slow}) as service:
        run = made(service, concurrency=3).retrieve(many, 3)
    assert service.most_at_once <= 3
    assert [ranking.query_id for ranking in run.rankings] == [query.id for query in many]
    assert all(ranking.hits for ranking in run.rankings)


def test_a_service_that_is_not_there_is_not_asked_for_ever() -> None:
    with FakeService({}) as service:
        gone = service.url
    retriever = HttpRetriever(context(snapshot(THREE), url=gone, retries=0, concurrency=1))
    run = retriever.retrieve([Query(id=f"q{at}", text="x") for at in range(15)], 3)
    assert run.rankings[0].error.startswith("no connection")
    assert run.rankings[-1].error == "not asked: 10 queries in a row got no answer"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"url": "file:///etc/passwd"}, "config.bad-address"),
        ({"url": "http://[::1/x"}, "config.bad-option"),
        ({"url": "http://x:99999/"}, "config.bad-address"),
        ({"url": "http://x", "body": "{"}, "config.bad-option"),
        ({"url": "http://x", "body": "[" * 100_000}, "config.bad-option"),
        ({"url": "http://x", "header__Authorization": "${GITHUB_TOKEN}"}, "config.forbidden-variable"),
        ({"url": "http://x", "header__X": "${NOT_SET_ANYWHERE}"}, "config.missing-variable"),
        ({}, "config.missing-option"),
    ],
)
def test_bad_options_are_refused(
    options: dict[str, OptionValue], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    with pytest.raises(ConfigError) as caught:
        HttpRetriever(context(snapshot(THREE), **options))
    assert caught.value.code == code


@pytest.mark.parametrize("header", ["header__\u00e9", "header__X"])
def test_what_no_header_may_hold_costs_the_queries_and_is_not_shown(header: str) -> None:
    with FakeService({}) as service:
        made = context(snapshot(THREE), url=service.url, retries=0, **{header: "secret \u4e2d"})
        run = HttpRetriever(made).retrieve([Query(id="q1", text="x")], 3)
    assert run.rankings[0].error
    assert "secret" not in run.rankings[0].error
