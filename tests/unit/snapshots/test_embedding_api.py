from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rageval_action.errors import CannotMeasureError, ConfigError
from rageval_action.snapshots.embedding_api import ApiEmbedder, is_api
from rageval_action.snapshots.model import load_model
from rageval_action.snapshots.prefixes import DOCUMENT_ROLE, QUERY_ROLE, known_prefixes
from rageval_action.transport import Client
from tests.fakes import embedders
from tests.fakes.server import FakeService, Handler, Reply, Request

VENDORS = ["openai", "voyage", "cohere"]


@pytest.fixture(params=VENDORS)
def vendor(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, FakeService]]:
    """A vendor's service, its address and key in the environment."""
    name = str(request.param)
    with embedders.service(name) as service:
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", embedders.base(name, service))
        monkeypatch.setenv(f"{name.upper()}_API_KEY", embedders.KEY)
        yield name, service


def test_vectors_come_back_in_order_in_batches_and_are_counted(vendor: tuple[str, FakeService]) -> None:
    name, service = vendor
    made = load_model(f"{name}:m-1")
    assert isinstance(made, ApiEmbedder)
    texts = [f"word{at} word{at % 7}" for at in range(300)]
    vectors = made.encode(texts)
    assert vectors.shape == (300, embedders.DIMENSION)
    assert vectors.dtype == np.float32
    role = "search_document" if name == "cohere" else ""
    np.testing.assert_allclose(vectors[17], embedders.embed(texts[17], role), atol=1e-6)
    batches = {"openai": 1, "voyage": 3, "cohere": 4}[name]
    assert made.cost == {"embed_calls": batches + 2, "embed_tokens": 3.0 * 302}
    assert len(service.requests) == batches + 2


def test_what_was_embedded_once_is_not_paid_for_again(vendor: tuple[str, FakeService]) -> None:
    name, service = vendor
    first = load_model(f"{name}:m-1").encode(["one", "two", "one"])
    before = len(service.requests)
    again = load_model(f"{name}:m-1")
    np.testing.assert_array_equal(again.encode(["two", "one", "three"])[:2], first[[1, 0]])
    assert len(service.requests) == before + 3  # the probe's two, and one for "three"
    load_model(f"{name}:m-2").encode(["one"])
    assert len(service.requests) == before + 6, "another model is another vector"


def test_the_role_travels_as_a_parameter(vendor: tuple[str, FakeService]) -> None:
    name, service = vendor
    prefixes = known_prefixes(f"{name}:m")
    if name == "openai":
        assert known_prefixes("openai:text-embedding-3-small") is not None
        return
    assert prefixes is not None
    assert (prefixes.query, prefixes.document) == (QUERY_ROLE, DOCUMENT_ROLE)
    made = load_model(f"{name}:m")
    query, document = made.encode([QUERY_ROLE + "same", DOCUMENT_ROLE + "same"])
    assert not np.allclose(query, document)
    sent = [json.loads(request.body) for request in service.requests[2:]]
    assert [body["input_type"] for body in sent] == {
        "voyage": ["query", "document"], "cohere": ["search_query", "search_document"],
    }[name]  # fmt: skip
    assert all((body.get("input") or body.get("texts")) == ["same"] for body in sent)


def embedder(handler: Handler, tmp_path: Path, retries: int = 0) -> Iterator[ApiEmbedder]:
    with FakeService({"POST /embeddings": handler}) as service:
        yield ApiEmbedder("openai:m", tmp_path / "c.sqlite", Client(service.url, {}, retries=retries))


def answer(vectors: list[list[float]], **more: object) -> dict[str, object]:
    return {"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)], **more}


def test_an_unstable_service_is_refused(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    base = generator.standard_normal(64)

    def wobbling(request: object, match: object) -> object:
        return answer([(base + 0.4 * generator.standard_normal(64)).tolist()])

    for made in embedder(wobbling, tmp_path):
        with pytest.raises(CannotMeasureError) as caught:
            made.encode(["x"])
    assert caught.value.code == "embedding.unstable"
    assert caught.value.exit_code == 3
    assert "cosine of the two is 0.8" in caught.value.message


def test_rounding_is_no_instability_and_is_reported(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    base = generator.standard_normal(64)

    def rounding(request: object, match: object) -> object:
        return answer([(base + 1e-3 * generator.standard_normal(64)).tolist()], model="m-0613")

    for made in embedder(rounding, tmp_path):
        made.encode(["x"])
        assert made.notices[0].code == "embedding.repeat"
        assert made.revision == "m-0613"


@pytest.mark.parametrize(
    "bad",
    [
        {}, {"data": 7}, {"data": []}, [], answer([[1.0], [2.0]]), answer([[]]), answer([["x"]]),  # type: ignore[list-item]
        {"data": [{"index": 0}]}, Reply(body=b"no"), Reply(status=401, body=b"bad key"),
        Reply(body=b'{"data": [{"index": 0, "embedding": [NaN]}]}'),
    ],
)  # fmt: skip
def test_unusable_answers_cannot_be_measured_by(bad: object, tmp_path: Path) -> None:
    for made in embedder(lambda request, match: bad, tmp_path):
        with pytest.raises(CannotMeasureError) as caught:
            made.encode(["x"])
    assert caught.value.code == "embedding.service"


def test_a_busy_service_is_asked_again(tmp_path: Path) -> None:
    replies = iter(
        [Reply(status=429, headers={"Retry-After": "0"}), Reply(status=500, headers={"Retry-After": "0"})]
    )
    for made in embedder(lambda request, match: next(replies, answer([[1.0, 2.0]])), tmp_path, retries=3):
        assert made.encode(["x"]).shape == (1, 2)


def test_a_service_that_hangs_is_given_up_and_what_was_paid_for_is_kept(tmp_path: Path) -> None:
    done = threading.Event()

    def slow(request: Request, match: re.Match[str]) -> object:
        if b"stuck" in request.body:
            assert done.wait(300)
        return embedders.openai(request, match)

    cache = tmp_path / "c.sqlite"
    with FakeService({"POST /embeddings": slow}) as service:
        client = Client(service.url, {"Authorization": f"Bearer {embedders.KEY}"}, timeout_s=1.0, retries=0)
        made = ApiEmbedder("openai:m", cache, client)
        good = made.encode(["one"])
        with pytest.raises(CannotMeasureError, match="no answer within 1 s"):
            made.encode(["stuck"])
        done.set()
        np.testing.assert_array_equal(ApiEmbedder("openai:m", cache, client).encode(["one"]), good)


def test_a_broken_cache_file_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "c.sqlite").write_bytes(b"not a database at all, but long enough to be looked at as one" * 20)
    for made in embedder(lambda request, match: answer([[1.0, 2.0]]), tmp_path):
        assert made.encode(["x"]).tolist() == [[1.0, 2.0]]


def test_keys_and_names_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "VOYAGE_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for model in ("openai:m", "voyage:m"):
        with pytest.raises(ConfigError) as caught:
            load_model(model)
        assert caught.value.code == "config.missing-variable"
    with pytest.raises(ConfigError, match="names a service and no model"):
        load_model("openai:")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert isinstance(load_model("openai:m"), ApiEmbedder)  # a server of one's own needs no key
    assert not is_api("C:/models/m")
    assert not is_api("openai")
