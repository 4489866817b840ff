"""What every retriever promises, run over every entry of `RETRIEVERS`.

The corpus is made so that vectors and words agree: a text's vector counts its words, and so does a query's. A retriever
that needs more than a snapshot gets what it needs in `CASES`.
"""

from __future__ import annotations

import functools
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.ranking import unit_scores
from rageval_action.core.model.snapshot import Manifest, Snapshot
from rageval_action.core.model.types import Chunk, ChunkAcl, Query, QueryAcl, Run, Unit
from rageval_action.errors import ConfigError
from rageval_action.retrievers.child import LineProcess
from rageval_action.retrievers.interface import (
    RETRIEVERS,
    Access,
    OptionValue,
    Retriever,
    RetrieverContext,
    build,
)
from tests.contracts import retriever_setups as setups

UNITS: tuple[Unit, ...] = ("chunk", "document")
BY_VECTORS = {"dense"}


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


CASES: dict[str, Case] = {name: Case(make=make) for name, make in setups.MAKERS.items()}

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
    setups.STUCK,
    setups.BROKEN,
]
setups.WORDS[:] = WORDS


def _encode(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([setups.word_vector(text) for text in texts])


def _snapshot(chunks: Sequence[Chunk]) -> Snapshot:
    manifest = Manifest(
        chunks=len(chunks),
        documents=len({chunk.doc for chunk in chunks}),
        dimension=len(WORDS),
        dtype="float32",
        metric="cosine",
        normalised=False,
    )
    vectors = np.array([setups.word_vector(chunk.text) for chunk in chunks])
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


@functools.cache
def _kept(name: str, depth: int = 10) -> Run:
    """One run of the usual queries over the usual corpus, for tests that only look at it."""
    return _run(name, _corpus(), depth=depth)


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
    run = _kept(name)
    assert [ranking.query_id for ranking in run.rankings] == [query.id for query in QUERIES]
    assert (run.retriever, run.depth) == (name, 10)
    assert all(not ranking.error for ranking in run.rankings)


def test_hits_are_in_the_one_order_each_id_once(name: str) -> None:
    for ranking in _kept(name).rankings:
        keys = [(hit.score, hit.id) for hit in ranking.hits]
        assert keys == sorted(keys, reverse=True)
        assert len({hit.id for hit in ranking.hits}) == len(ranking.hits) > 0
        assert [hit.rank for hit in ranking.hits] == list(range(1, len(ranking.hits) + 1))
        assert all(math.isfinite(hit.score) for hit in ranking.hits)


def test_hits_say_what_the_snapshot_says(name: str) -> None:
    chunks = {chunk.id: chunk for chunk in _corpus()}
    for ranking in _kept(name).rankings:
        for hit in ranking.hits:
            chunk = chunks[hit.id]
            assert (hit.doc, hit.start, hit.end) == (chunk.doc, chunk.start, chunk.end)
            assert hit.text_hash == text_hash(chunk.text)


def test_the_depth_counts_distinct_documents(name: str) -> None:
    for depth in (1, 7, 20, 500):
        for ranking in _kept(name, depth).rankings:
            documents = len({hit.doc for hit in ranking.hits})
            if CASES[name].returns_all:
                assert documents >= min(depth, 20)
            else:
                assert documents >= 1


def test_a_smaller_depth_is_the_beginning_of_a_larger_one(name: str) -> None:
    for short, long in zip(_kept(name, 5).rankings, _kept(name, 20).rankings, strict=True):
        # What searches vectors itself keeps one chunk a document past the depth; all others keep every chunk.
        same = 5 if name in BY_VECTORS else len(short.hits)
        assert long.hits[:same] == short.hits[:same]
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
    one, other = _kept(name), _run(name, _corpus())
    assert [ranking.hits for ranking in one.rankings] == [ranking.hits for ranking in other.rankings]
    # each of the two run files holds the times of its own making
    assert {**one.parameters, "sha256": ""} == {**other.parameters, "sha256": ""}


def test_a_query_is_not_moved_by_its_neighbours(name: str) -> None:
    together = _kept(name)
    for number, query in enumerate(QUERIES):
        assert _run(name, _corpus(), [query]).rankings[0].hits == together.rankings[number].hits
    assert together.rankings[0].hits == together.rankings[3].hits, "the same text twice"


def test_no_queries_give_no_rankings(name: str) -> None:
    assert _run(name, _corpus(), []).rankings == ()


def test_latencies_are_of_known_stages_and_add_up(name: str) -> None:
    run = _kept(name)
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


# What the system behind a retriever does wrong costs the queries concerned


ONE, TWO = Query(id="q-one", text="rotate vpn certificate"), Query(id="q-two", text="樣本 검색")
STUCK, BROKEN = Query(id="q-stuck", text=setups.STUCK), Query(id="q-broken", text=setups.BROKEN)
LIMITED = sorted(set(RETRIEVERS) - set(setups.NO_TIME_LIMIT))


def _troubled(name: str, **options: OptionValue) -> Retriever:
    if name in setups.RETRIED:
        options.setdefault("retries", 0)
    encode = _spoilt if name == "dense" else _encode
    context = RetrieverContext(snapshot=_snapshot(_corpus()), encode=encode, access="audit", options=options)
    return setups.TROUBLED[name](name, context)


def _spoilt(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors, of which that of `BROKEN` cannot be searched with."""
    vectors = _encode(texts)
    vectors[[text == setups.BROKEN for text in texts]] = np.nan
    return vectors


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that a store's library runs in freezes at the one query and is killed at the other."""
    real = LineProcess.ask

    def ask(process: LineProcess, line: bytes, timeout_s: float) -> bytes:
        if f'"text":"{setups.STUCK}"'.encode() in line:
            os.kill(process._process.pid, signal.SIGSTOP)
            setups.ASKED.set()
        if f'"text":"{setups.BROKEN}"'.encode() in line:
            os.kill(process._process.pid, signal.SIGKILL)
        if f'"query":"{setups.STUCK}"'.encode() in line:
            setups.ASKED.set()
        return real(process, line, timeout_s)

    monkeypatch.setattr(LineProcess, "ask", ask)
    setups.RELEASE.clear()
    setups.ASKED.clear()
    setups.WAITED_FOR.clear()
    yield
    setups.RELEASE.set()


def _children() -> set[str]:
    """Processes that this one started and that are still there."""
    return set(" ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split())


def _answers(run: Run) -> list[list[tuple[str, float]]]:
    return [[(hit.id, hit.score) for hit in ranking.hits] for ranking in run.rankings]


@pytest.mark.usefixtures("played")
@pytest.mark.parametrize("name", LIMITED)
def test_a_system_that_hangs_costs_the_query_it_hangs_at(name: str) -> None:
    retriever = _troubled(name, timeout_s=2.0)
    whole = _answers(retriever.retrieve([ONE, TWO], 10))
    before = _children()
    run = retriever.retrieve([ONE, STUCK, TWO], 10)
    assert setups.ASKED.is_set()
    first, stuck, second = run.rankings
    limit = 3 if name == "pgvector" else 2  # the database itself ends the statement after two
    assert f"no answer within {limit} s" in stuck.error
    assert stuck.hits == ()
    assert (first.error, second.error) == ("", "")
    assert _answers(run)[::2] == whole
    assert _children() <= before, "nothing is left running"


@pytest.mark.parametrize("name", sorted(setups.NO_TIME_LIMIT))
def test_a_retriever_without_a_time_limit_waits_for_nothing(name: str) -> None:
    with pytest.raises(ConfigError, match="no option") as caught:
        _troubled(name, timeout_s=5.0)
    assert caught.value.code == "config.unknown-option", setups.NO_TIME_LIMIT[name]


@pytest.mark.usefixtures("played")
@pytest.mark.parametrize("name", sorted(set(RETRIEVERS) - {"bm25"}))  # which no query can make fail
def test_a_system_that_fails_costs_the_query_it_fails_at(name: str) -> None:
    run = _troubled(name).retrieve([ONE, BROKEN, TWO], 10)
    first, broken, second = run.rankings
    assert broken.error
    assert broken.hits == ()
    assert (first.error, second.error) == ("", "")
    assert first.hits
    assert second.hits
    assert [ranking.query_id for ranking in run.rankings] == ["q-one", "q-broken", "q-two"]


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT as a person's Ctrl-C, sent once the system behind the retriever was asked."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = threading.Event()

    def send() -> None:
        if setups.ASKED.wait(300) and not done.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    yield
    done.set()
    setups.ASKED.set()
    sender.join()
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("played", "interrupts")
@pytest.mark.parametrize("name", LIMITED)
def test_a_stopped_run_waits_for_nobody_and_leaves_nothing_running(name: str) -> None:
    retriever = _troubled(name, timeout_s=3600.0)
    before = _children()
    with pytest.raises(KeyboardInterrupt):
        retriever.retrieve([STUCK, ONE], 10)
    assert not setups.WAITED_FOR.is_set()
    assert _children() <= before


@pytest.mark.parametrize("name", sorted(setups.FINDS_NOTHING))
def test_finding_nothing_is_no_error(name: str) -> None:
    nothing = Query(id="q-nothing", text="nothing")
    (ranking,) = _troubled(name, **setups.FINDS_NOTHING[name]).retrieve([nothing], 10).rankings
    assert (ranking.hits, ranking.error) == ((), "")
