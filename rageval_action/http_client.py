"""HTTP for everything here: one way to ask once, and one loop that asks again, under limits of time and size.

May import: `world`. What an answer means is for those who ask: nothing here raises for a status or a broken connection.
"""

from __future__ import annotations

import http.client
import io
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from rageval_action.world import Clock

if TYPE_CHECKING:
    import socket

    import requests

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses of a service that may answer otherwise in a moment."""

PIECE_BYTES = 1 << 16


class Request(Struct, frozen=True, kw_only=True):
    """What is sent. Credentials stand in `headers` and nowhere else: no ~/.netrc adds any."""

    method: str
    url: str
    headers: Mapping[str, str] = {}
    params: Mapping[str, str | int] | None = None
    body: bytes | None = None


class Limits(Struct, frozen=True, kw_only=True):
    """What one try may take.

    Attributes:
        connect_s: seconds until a connection stands. read_s: seconds between two pieces of the answer.
        answer_s: seconds from the start to the last byte, however small the pieces are.
        body: bytes of the answer's body.
    """

    connect_s: float
    read_s: float
    answer_s: float = math.inf
    body: int


class Reply(Struct, frozen=True, kw_only=True):
    """A whole answer, of whatever status. `headers` are case-insensitive; `following` is the link `rel="next"`."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    following: str = ""


class NoReply(Struct, frozen=True, kw_only=True):
    """No whole answer.

    Attributes:
        kind: `unreachable`: no connection; `timeout`; `broken`: the connection ended early; `too-large`: over
            `Limits.body`; `bad-request`: the address or a header holds what neither may hold.
        delivered: whether the server may have acted on the request.
        cause: name of the library's error.
    """

    kind: Literal["unreachable", "timeout", "broken", "too-large", "bad-request"]
    delivered: bool = False
    cause: str = ""


Outcome: TypeAlias = Reply | NoReply


class Budget:
    """Seconds that all waiting and calling of one phase may take together, from its first call on."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self.clock = clock
        self._seconds = seconds
        self._end: float | None = None

    def left(self) -> float:
        """Seconds left, never negative."""
        if self._end is None:
            self._end = self.clock.now() + self._seconds
        return max(0.0, self._end - self.clock.now())

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds` if the budget holds so many; False without sleeping when it does not."""
        if seconds >= self.left():
            return False
        self.clock.sleep(seconds)
        return True


def repeat(
    once: Callable[[], Outcome],
    delay: Callable[[Outcome, int], float | None],
    budget: Budget,
    *,
    tries: int,
    waits_s: float = math.inf,
) -> tuple[Outcome | None, int]:
    """Ask until an outcome is final, or tries, waits or time are used up.

    Args:
        once: asks once.
        delay: seconds to wait after an outcome, given the number of tries before it; None: the outcome is final.
        budget: for all of it.
        tries: the most tries.
        waits_s: the most seconds of waiting, all waits together.

    Returns:
        The last outcome (None: there was no time even for the first) and the number of tries.
    """
    last: Outcome | None = None
    for done in range(tries):
        if budget.left() <= 0:
            return last, done
        last = once()
        wait = delay(last, done)
        waits_s -= wait or 0.0
        if wait is None or done + 1 == tries or waits_s < 0 or not budget.wait(wait):
            return last, done + 1
    return last, tries


def passing_delay(
    outcome: Outcome, done: int, clock: Clock, *, statuses: frozenset[int] = PASSING, first_s: float = 1.0
) -> float | None:
    """Seconds to wait: as Retry-After says (seconds or a date), else `first_s` doubled with every try; None: final."""
    backoff = first_s * 2.0**done
    if isinstance(outcome, NoReply):
        return None if outcome.kind in ("too-large", "bad-request") else backoff
    if outcome.status not in statuses:
        return None
    given = outcome.headers.get("Retry-After", "")
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - clock.wall())
    except (TypeError, ValueError):
        return backoff


def fetch(session: requests.Session, request: Request, limits: Limits, budget: Budget) -> Outcome:
    """Ask once, following no redirect."""
    import requests
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    seconds = max(0.1, min(limits.answer_s, budget.left()))
    try:
        with (
            _until(budget.clock.now() + seconds, limits.read_s, budget.clock),
            session.request(
                request.method,
                request.url,
                params=dict(request.params) if request.params else None,
                data=request.body,
                headers=dict(request.headers),
                auth=_unchanged,
                timeout=(min(limits.connect_s, seconds), min(limits.read_s, seconds)),
                allow_redirects=False,
                stream=True,
            ) as answer,
        ):
            return _whole(answer, limits.body)
    except requests.ConnectTimeout as error:
        return NoReply(kind="timeout", cause=type(error).__name__)
    except (requests.Timeout, ReadTimeoutError) as error:
        return NoReply(kind="timeout", delivered=True, cause=type(error).__name__)
    except ValueError:  # from below requests; its words may hold a key
        return NoReply(kind="bad-request")
    except (requests.RequestException, HTTPError, OSError) as error:
        sent = not _never_sent(error)
        return NoReply(kind="broken" if sent else "unreachable", delivered=sent, cause=type(error).__name__)


def _whole(answer: requests.Response, most: int) -> Outcome:
    """The body, read as it comes, complete as its Content-Length promised."""
    body = bytearray()
    while piece := answer.raw.read1(PIECE_BYTES, decode_content=True):
        body += piece
        if len(body) > most:
            return NoReply(kind="too-large", delivered=True)
    following = answer.links.get("next", {}).get("url", "")
    return Reply(status=answer.status_code, headers=answer.headers, body=bytes(body), following=following)


def _never_sent(error: Exception) -> bool:
    """True when the connection was refused before a byte of the request left."""
    from urllib3.exceptions import MaxRetryError, NewConnectionError

    cause = error.args[0] if error.args else None
    return isinstance(cause.reason if isinstance(cause, MaxRetryError) else cause, NewConnectionError)


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """As an `auth` it keeps a ~/.netrc from adding credentials."""
    return request


def new_session(*, proxies: bool) -> requests.Session:
    """A session over the real network, for `fetch`.

    Args:
        proxies: whether the environment's proxies and certificate bundle count.
    """
    import requests
    from requests.adapters import HTTPAdapter

    class Adapter(HTTPAdapter):
        def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
            pool: Any = super().get_connection_with_tls_context(*args, **options)
            pool.ConnectionCls = _timed(pool.ConnectionCls)
            return pool

    session = requests.Session()
    session.trust_env = proxies
    for scheme in ("http://", "https://"):
        session.mount(scheme, Adapter())
    return session


@cache
def _timed(connection: type[http.client.HTTPConnection]) -> type[http.client.HTTPConnection]:
    """The same kind of connection, whose answers obey the deadline."""
    if connection.response_class is _TimedResponse:
        return connection
    return type(connection.__name__, (connection,), {"response_class": _TimedResponse})


class _Deadline(Struct, frozen=True):
    """When the answer under way must have come, on the clock `now`, and the most seconds between two pieces."""

    end: float
    read_s: float
    now: Callable[[], float]


_deadline: ContextVar[_Deadline] = ContextVar("_deadline")


@contextmanager
def _until(end: float, read_s: float, clock: Clock) -> Iterator[None]:
    """Answers that begin inside are read by `end`, header and body alike."""
    mark = _deadline.set(_Deadline(end, read_s, clock.now))
    try:
        yield
    finally:
        _deadline.reset(mark)


class _TimedResponse(http.client.HTTPResponse):
    """An answer whose every read ends by the deadline: a time-out of the socket alone begins anew with each byte."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_TimedReader(self.fp.detach(), sock, _deadline.get()))


class _TimedReader(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: _Deadline) -> None:
        self._raw = raw
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline.end - self._deadline.now()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(min(left, self._deadline.read_s))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        with suppress(OSError):
            self._sock.settimeout(self._deadline.read_s)  # the next request on this connection sends under it
        self._raw.close()
        super().close()
