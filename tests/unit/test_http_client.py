"""One retry loop, and a deadline that also ends an answer that drips a byte at a time."""

from __future__ import annotations

import contextlib
import io
import math
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest

from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.artifact_upload import Uploader
from rageval_action.github.rest_types import Commit
from rageval_action.github.runner import Token
from rageval_action.github.workflow_commands import Log
from rageval_action.http_client import (
    Budget,
    Limits,
    NoReply,
    Outcome,
    Reply,
    Request,
    fetch,
    new_session,
    passing_delay,
    repeat,
)
from rageval_action.transport import Client, TransportError
from rageval_action.world import REAL_CLOCK, Clock
from tests.fakes.github_results import runtime_token
from tests.fakes.network import network
from tests.fakes.server import FakeService
from tests.fakes.server import Reply as Answer

HEADER = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n"
DRIPS = {
    "a status line": b"",
    "a header": HEADER + b"X-Slow: ",
    "headers without end": HEADER,
    "a body": HEADER + b"\r\n",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "the size of a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0",
}
PIECES = {"headers without end": b"A: b\r\n", "chunks": b"1\r\nx\r\n", "the size of a chunk": b"0"}
LIMITS = Limits(connect_s=5.0, read_s=5.0, body=1 << 20)


class _Dripping(socketserver.ThreadingTCPServer):
    """Begins an answer, then sends a piece every 50 ms until the client has gone."""

    daemon_threads = True
    start = b""
    piece = b" "

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Drip(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Dripping)
        self.request.recv(65536)
        with contextlib.suppress(OSError):
            self.request.sendall(self.server.start)
            for _ in range(400):
                self.request.sendall(self.server.piece)
                time.sleep(0.05)


@pytest.fixture(params=DRIPS)
def dripping(request: pytest.FixtureRequest) -> Iterator[_Dripping]:
    with _Dripping(("127.0.0.1", 0), _Drip) as server:
        server.start, server.piece = DRIPS[request.param], PIECES.get(request.param, b"x")
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def test_the_budget_ends_an_answer_in_drops(dripping: _Dripping) -> None:
    with within(2.0):
        outcome = fetch(network(), Request(method="GET", url=dripping.url), LIMITS, Budget(0.4, REAL_CLOCK))
    assert isinstance(outcome, NoReply)
    assert (outcome.kind, outcome.delivered) == ("timeout", True)


def test_the_network_budget_ends_whatever_github_drips(dripping: _Dripping) -> None:
    api = Api(dripping.url, "acme/docs", Token("t"), Budget(0.4, REAL_CLOCK), network)
    with within(2.0), pytest.raises(ApiError, match="no answer in time") as caught:
        api.get("/x", Commit)
    assert caught.value.failure == "outage"
    with within(0.2), pytest.raises(ApiError, match="no time was left"):
        api.get("/x", Commit)


def test_the_network_budget_ends_a_download_that_drips_elsewhere(dripping: _Dripping) -> None:
    moved = Answer(status=302, headers={"Location": dripping.url})
    with FakeService({"GET /zip": lambda request, match: moved}) as service:
        api = Api(service.url, "acme/docs", Token("t"), Budget(0.4, REAL_CLOCK), network)
        with within(2.0), pytest.raises(ApiError, match="no answer in time"):
            api.download("/zip", 1000)


def test_the_network_budget_ends_an_upload_that_drips(dripping: _Dripping) -> None:
    budget = Budget(0.4, REAL_CLOCK)
    uploader = Uploader(dripping.url, Token(runtime_token()), budget, network(), Log(io.StringIO()))
    with within(2.0), pytest.raises(ApiError, match="no answer in time"):
        uploader.upload("rageval-default", {"record.json": b"{}"})


def test_a_try_at_a_service_ends_in_time(dripping: _Dripping) -> None:
    with within(2.0), pytest.raises(TransportError, match=r"no answer within 0\.3 s") as caught:
        Client(dripping.url, {}, timeout_s=0.3, retries=0).request("GET", "/")
    assert caught.value.code == "transport.unreachable"


def test_silence_after_a_first_piece_ends_with_the_budget_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"

        def answer_late() -> None:
            connection = server.accept()[0]
            time.sleep(0.8)
            connection.sendall(HEADER)
            silent.wait(5)
            connection.close()

        silent = threading.Event()
        threading.Thread(target=answer_late, daemon=True).start()
        with within(1.5):
            outcome = fetch(network(), Request(method="GET", url=url), LIMITS, Budget(1.0, REAL_CLOCK))
        silent.set()
    assert isinstance(outcome, NoReply)
    assert outcome.kind == "timeout"


def test_a_connection_is_used_again_with_all_its_time() -> None:
    with FakeService({"GET /": lambda request, match: {"a": 1}}) as service:
        session = new_session(proxies=False)
        for seconds in (0.5, 5.0, 5.0):
            outcome = fetch(
                session, Request(method="GET", url=service.url + "/"), LIMITS, Budget(seconds, REAL_CLOCK)
            )
            assert isinstance(outcome, Reply)
            assert outcome.body == b'{"a":1}'


def test_an_answer_without_end_is_cut_off() -> None:
    with FakeService({"GET /": lambda request, match: Answer(body=b" " * 100_000)}) as service:
        client = Client(service.url, {}, answer_bytes=1000)
        with pytest.raises(TransportError, match="the answer is over 1000 bytes") as caught:
            client.request("GET", "/")
    assert caught.value.code == "transport.too-large"
    assert len(service.requests) == 1


@pytest.mark.parametrize("request_", [{"url": "http://[::1/"}, {"headers": {"X": "a\nsecret"}}])
def test_what_no_request_may_hold_is_not_sent(request_: dict[str, object]) -> None:
    with FakeService({}) as service:
        asked = Request(**({"method": "GET", "url": service.url} | request_))  # type: ignore[arg-type]
        assert fetch(network(), asked, LIMITS, Budget(5, REAL_CLOCK)) == NoReply(kind="bad-request")
    assert service.requests == []


def test_who_is_not_there_has_heard_nothing() -> None:
    with FakeService({}) as service:
        gone = service.url
    outcome = fetch(network(), Request(method="GET", url=gone), LIMITS, Budget(5, REAL_CLOCK))
    assert isinstance(outcome, NoReply)
    assert (outcome.kind, outcome.delivered) == ("unreachable", False)


class _Waits:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.at = 0.0
        self.sleeps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.at += seconds

    def handle(self) -> Clock:
        return Clock(now=lambda: self.at, wall=lambda: 1_000_000.0 + self.at, sleep=self.sleep)


def answer(status: int, after: str = "") -> Reply:
    return Reply(status=status, headers={"Retry-After": after} if after else {}, body=b"")


BUSY, FINE = answer(503), answer(200)


@pytest.mark.parametrize(
    ("outcomes", "sleeps"),
    [
        ([FINE], []),
        ([BUSY, FINE], [1.0]),
        ([BUSY, BUSY, BUSY, FINE], [1.0, 2.0, 4.0]),
        ([BUSY, BUSY, BUSY, BUSY], [1.0, 2.0, 4.0]),
        ([answer(429, "3"), FINE], [3.0]),
        ([answer(429, "2.5"), FINE], [2.5]),
        ([answer(503, formatdate(1_000_007, usegmt=True)), FINE], [7.0]),
        ([answer(503, formatdate(1, usegmt=True)), FINE], [0.0]),
        ([answer(503, "soon"), FINE], [1.0]),
        ([answer(503, "11")], []),
        ([answer(503, "9"), answer(503, "3")], [9.0]),
        ([answer(404)], []),
        ([NoReply(kind="timeout"), FINE], [1.0]),
        ([NoReply(kind="unreachable"), NoReply(kind="broken"), FINE], [1.0, 2.0]),
        ([NoReply(kind="too-large")], []),
        ([NoReply(kind="bad-request")], []),
    ],
)
def test_what_is_asked_again_and_when(outcomes: list[Outcome], sleeps: list[float]) -> None:
    waits = _Waits()
    clock = waits.handle()
    left = iter(outcomes)

    def delay(got: Outcome, done: int) -> float | None:
        return passing_delay(got, done, clock)

    last, tries = repeat(lambda: next(left), delay, Budget(math.inf, clock), tries=4, waits_s=10.0)
    assert (last, tries, waits.sleeps) == (outcomes[-1], len(outcomes), sleeps)


def test_a_budget_that_is_used_up_ends_the_tries() -> None:
    waits = _Waits()
    clock = waits.handle()
    budget = Budget(3.5, clock)
    last, tries = repeat(lambda: BUSY, lambda got, done: passing_delay(got, done, clock), budget, tries=9)
    assert (last, tries, waits.sleeps) == (BUSY, 3, [1.0, 2.0])
    waits.at = 100.0
    assert repeat(lambda: BUSY, lambda got, done: None, budget, tries=9) == (None, 0)
