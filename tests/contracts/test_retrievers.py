"""What every retriever promises, run over every entry of `RETRIEVERS`.

The corpus is made so that vectors and words agree: a text's vector counts its words, and so does a query's. A retriever
that needs more than a snapshot gets what it needs in `CASES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.hashing import text_hash
from rageval_action.core.ranking import unit_scores
from rageval_action.core.snapshot import Manifest, Snapshot
from rageval_action.core.types import Chunk, ChunkAcl, Query, QueryAcl, Run, Unit
from rageval_action.retrievers.interface import RETRIEVERS, Access, Retriever, RetrieverContext, build
from tests.contracts import built

UNITS: tuple[Unit, ...] = ("chunk", "document")


class Case(Struct, frozen=True, kw_only=True):
    """How a retriever is built here, and what may be asked of it.

    Attributes:
        make: from the context; by default what the registry names.
        returns_all: a chunk that shares no word with the query is returned too, only later.
        enforces: it can leave out what a query may not see.
    """

    make: Callable[[str, RetrieverContext], Retriever] = build
    returns_all: bool = True
    enforces: bool = True


CASES: dict[str, Case] = {name: Case(make=make) for name, make in built.MAKERS.items()}

WORDS = [
    "vpn",
    "gateway",
    "certificate",
    "rotate",
    "invoice",
    "refund",
    "樣本",
    "검색",
    "ключ",
    "clé",
    "delta",
    "echo",
]
built.WORDS[:] = WORDS


def _vector(text: str) -> NDArray[np.float32]:
    counts = np.array([text.split().count(word) for word in WORDS], dtype=np.float32)
    return counts + np.float32(0.001)


def _encode(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([_vector(text) for text in texts])


def _snapshot(chunks: Sequence[Chunk]) -> Snapshot:
    manifest = Manifest(
        chunks=len(chunks),
        documents=len({chunk.doc for chunk in chunks}),
        dimension=len(WORDS),
        dtype="float32",
        metric="cosine",
        normalised=False,
    )
    vectors = np.array([_vector(chunk.text) for chunk in chunks])
    return Snapshot(path="made", manifest=manifest, chunks=tuple(chunks), shards=(vectors,))


def _corpus() -> list[Chunk]:
    """Sixty chunks in twenty documents, with one word repeated so that lengths and scores differ."""
    rng = np.random.default_rng(4)
    return [
        Chunk(
            id=f"文件-{number % 20}#{number}",
            doc=f"文件-{number % 20}",
            text=" ".join(WORDS[word] for word in rng.integers(0, len(WORDS), 5 + number % 7)),
            start=number,
            end=number + 5,
        )
        for number in range(60)
    ]


QUERIES = [
    Query(id="q-vpn", text="rotate vpn certificate"),
    Query(id="q-中文", text="樣本 검색"),
    Query(id="q-😀", text="refund invoice ключ"),
    Query(id="q-again", text="rotate vpn certificate"),
]


@pytest.fixture(params=sorted(CASES))
def name(request: pytest.FixtureRequest) -> str:
    """Each retriever in turn."""
    return str(request.param)


def _run(
    name: str,
    chunks: Sequence[Chunk],
    queries: Sequence[Query] = tuple(QUERIES),
    depth: int = 10,
    access: Access = "enforce",
) -> Run:
    context = RetrieverContext(snapshot=_snapshot(chunks), encode=_encode, access=access)
    return CASES[name].make(name, context).retrieve(queries, depth)


def test_every_retriever_has_a_case() -> None:
    assert set(CASES) == set(RETRIEVERS)


def test_one_ranking_a_query_in_the_order_given(name: str) -> None:
    run = _run(name, _corpus())
    assert [ranking.query_id for ranking in run.rankings] == [query.id for query in QUERIES]
    assert (run.retriever, run.depth) == (name, 10)
    assert all(not ranking.error for ranking in run.rankings)


def test_hits_are_in_the_one_order_each_id_once(name: str) -> None:
    for ranking in _run(name, _corpus()).rankings:
        keys = [(hit.score, hit.id) for hit in ranking.hits]
        assert keys == sorted(keys, reverse=True)
        assert len({hit.id for hit in ranking.hits}) == len(ranking.hits) > 0
        assert [hit.rank for hit in ranking.hits] == list(range(1, len(ranking.hits) + 1))
        assert all(math.isfinite(hit.score) for hit in ranking.hits)


def test_hits_say_what_the_snapshot_says(name: str) -> None:
    chunks = {chunk.id: chunk for chunk in _corpus()}
    for ranking in _run(name, _corpus()).rankings:
        for hit in ranking.hits:
            chunk = chunks[hit.id]
            assert (hit.doc, hit.start, hit.end) == (chunk.doc, chunk.start, chunk.end)
            assert hit.text_hash == text_hash(chunk.text)


def test_the_depth_counts_distinct_documents(name: str) -> None:
    for depth in (1, 7, 20, 500):
        for ranking in _run(name, _corpus(), depth=depth).rankings:
            documents = len({hit.doc for hit in ranking.hits})
            if CASES[name].returns_all:
                assert documents >= min(depth, 20)
            else:
                assert documents >= 1


def test_a_smaller_depth_is_the_beginning_of_a_larger_one(name: str) -> None:
    for short, long in zip(
        _run(name, _corpus(), depth=5).rankings, _run(name, _corpus(), depth=20).rankings, strict=True
    ):
        for unit in UNITS:
            first = [column[:5] for column in unit_scores(short.hits, unit)]
            assert [column[:5] for column in unit_scores(long.hits, unit)] == first


def test_the_best_match_comes_first(name: str) -> None:
    chunks = [*_corpus(), Chunk(id="target", doc="target", text="rotate vpn certificate")]
    assert _run(name, chunks).rankings[0].hits[0].id == "target"


def test_equal_texts_tie_and_go_by_id_descending(name: str) -> None:
    ids = ["a", "Z", "10", "9", "é", "e\u0301x", "\uffff", "𝄞"]
    chunks = [*_corpus(), *(Chunk(id=key, doc=key, text="rotate vpn certificate") for key in ids)]
    hits = [hit for hit in _run(name, chunks).rankings[0].hits if hit.id in ids]
    assert len({hit.score for hit in hits}) == 1
    assert [hit.id for hit in hits] == sorted(ids, key=str.encode, reverse=True)


def test_storage_order_does_not_matter(name: str) -> None:
    chunks = _corpus() + [Chunk(id=f"twin{at}", doc=f"twin{at}", text="delta echo") for at in range(30)]
    order = np.random.default_rng(9).permutation(len(chunks))
    one = _run(name, chunks, depth=15)
    other = _run(name, [chunks[at] for at in order], depth=15)
    assert [ranking.hits for ranking in one.rankings] == [ranking.hits for ranking in other.rankings]


def test_running_again_gives_the_same(name: str) -> None:
    one, other = _run(name, _corpus()), _run(name, _corpus())
    assert [ranking.hits for ranking in one.rankings] == [ranking.hits for ranking in other.rankings]
    assert one.parameters == other.parameters


def test_a_query_is_not_moved_by_its_neighbours(name: str) -> None:
    together = _run(name, _corpus())
    for number, query in enumerate(QUERIES):
        assert _run(name, _corpus(), [query]).rankings[0].hits == together.rankings[number].hits
    assert together.rankings[0].hits == together.rankings[3].hits, "the same text twice"


def test_no_queries_give_no_rankings(name: str) -> None:
    assert _run(name, _corpus(), []).rankings == ()


def test_latencies_are_of_known_stages_and_add_up(name: str) -> None:
    run = _run(name, _corpus())
    timed = [ranking.latency_ms for ranking in run.rankings if ranking.latency_ms]
    assert timed, "some query is timed"
    for stages in timed:
        assert set(stages) <= {"embed", "retrieve", "rerank", "total"}
        assert all(0 <= value < 60_000 for value in stages.values())
        parts = sum(value for stage, value in stages.items() if stage != "total")
        assert stages["total"] >= parts * 0.999


def _guarded() -> list[Chunk]:
    """The best match belongs to `acme`, the next best to its group `ops`; the rest is open."""
    secret = Chunk(id="secret", doc="secret", text="rotate vpn certificate", acl=ChunkAcl(tenant="acme"))
    group = ChunkAcl(tenant="acme", groups=("ops",))
    ops = Chunk(id="ops", doc="ops", text="rotate vpn certificate delta", acl=group)
    return [*_corpus(), secret, ops]


def _ask(name: str, who: QueryAcl | None, access: Access) -> list[str]:
    query = Query(id="q", text="rotate vpn certificate", acl=who)
    (ranking,) = _run(name, _guarded(), [query], depth=10, access=access).rankings
    return [hit.id for hit in ranking.hits]


def test_enforce_returns_only_what_may_be_seen(name: str) -> None:
    if not CASES[name].enforces:
        pytest.skip("this retriever cannot filter; its answers are audited")
    assert _ask(name, QueryAcl(tenant="acme", groups=("ops",)), "enforce")[:2] == ["secret", "ops"]
    member = _ask(name, QueryAcl(tenant="acme"), "enforce")
    assert member[0] == "secret"
    assert "ops" not in member
    stranger = _ask(name, QueryAcl(tenant="other", groups=("ops",)), "enforce")
    assert not {"secret", "ops"} & set(stranger)
    if CASES[name].returns_all:
        assert len({key.partition("#")[0] for key in stranger}) >= 10, "the depth is filled from the rest"


def test_a_query_without_acl_sees_everything(name: str) -> None:
    assert _ask(name, None, "enforce")[:2] == ["secret", "ops"]


def test_audit_leaves_nothing_out(name: str) -> None:
    assert _ask(name, QueryAcl(tenant="other"), "audit")[:2] == ["secret", "ops"]


def test_who_may_see_nothing_gets_nothing_and_no_error(name: str) -> None:
    if not CASES[name].enforces:
        pytest.skip("this retriever cannot filter; its answers are audited")
    closed = [
        Chunk(id=chunk.id, doc=chunk.doc, text=chunk.text, acl=ChunkAcl(tenant="acme")) for chunk in _corpus()
    ]
    query = Query(id="q", text="rotate vpn certificate", acl=QueryAcl(tenant="other"))
    (ranking,) = _run(name, closed, [query]).rankings
    assert (ranking.hits, ranking.error) == ((), "")
