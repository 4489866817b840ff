"""A small client of GitHub's REST API: one session, one retry rule, one time budget, typed, capped answers.

What the caller gets is either a value of the type it asked for or an `ApiError` that says which kind of
failure it was. Nothing here decides what a failure means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec.structs import replace

from rageval_action import __version__
from rageval_action.github.api_errors import ApiError, final, is_limit, limit_wait, no_reply
from rageval_action.github.runner import Token
from rageval_action.http_client import (
    Budget,
    Limits,
    NoReply,
    Outcome,
    Reply,
    Request,
    fetch,
    passing_delay,
    repeat,
)

if TYPE_CHECKING:
    import requests

T = TypeVar("T")
Method: TypeAlias = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]
Parameters: TypeAlias = Mapping[str, str | int]

API_VERSION = "2022-11-28"
JSON_BYTES = 20_000_000
PAGE_SIZE = 100
MAX_PAGES = 50
LIMITS = Limits(connect_s=5.0, read_s=20.0, body=JSON_BYTES)
"""Of one try; all of them together have the budget."""

_TRIES = 4
_PASSING = frozenset({500, 502, 503, 504})
_HEADERS = {
    "User-Agent": f"rag-eval-action/{__version__}",
    "X-GitHub-Api-Version": API_VERSION,
    "Accept-Encoding": "identity",
}
_REDIRECTS = (301, 302, 303, 307, 308)


class Api:
    """Calls to one repository's API.

    Args:
        api_url: where the API is, without a trailing slash.
        repository: `owner/name`.
        token: sent to that origin and to no other.
        budget: shared by all calls made through this object.
        sessions: makes network sessions.
        limits: of one try.
        page_size: entries of a list in one answer. max_pages: the most pages of a list.
    """

    def __init__(
        self,
        api_url: str,
        repository: str,
        token: Token,
        budget: Budget,
        sessions: Callable[[], requests.Session],
        *,
        limits: Limits = LIMITS,
        page_size: int = PAGE_SIZE,
        max_pages: int = MAX_PAGES,
    ) -> None:
        self._base = api_url
        self._repository = repository
        self._token = token
        self.budget = budget
        self.sessions = sessions
        self._session = sessions()
        self._limits = limits
        self.page_size = page_size
        self.max_pages = max_pages

    @property
    def signed(self) -> bool:
        """Whether calls carry a token."""
        return bool(self._token)

    def repo(self, path: str = "") -> str:
        """Path of something in the repository, or of the repository itself."""
        return f"/repos/{self._repository}/{path}".rstrip("/")

    def get(self, path: str, kind: type[T], params: Parameters | None = None) -> T:
        """GET `path`, decoded as `kind`.

        Raises:
            ApiError: see `Failure`.
        """
        return self._decoded("GET", path, kind, params=params)

    def send(self, method: Method, path: str, kind: type[T], body: Mapping[str, Any]) -> T:
        """Send `body` and decode the answer as `kind`. A POST is never sent twice when it may have arrived.

        Raises:
            ApiError: see `Failure`; for a POST look at `delivered`.
        """
        return self._decoded(method, path, kind, body=body)

    def delete(self, path: str) -> None:
        """DELETE `path`; already gone is fine.

        Raises:
            ApiError: see `Failure`.
        """
        try:
            self._call("DELETE", self._base + path)
        except ApiError as error:
            if error.failure not in ("not-found", "gone"):
                raise

    def pages(self, path: str, kind: type[T], params: Parameters | None = None) -> Iterator[T]:
        """Every page of a list, each decoded as `kind`; follows `rel="next"` while it stays on our origin.

        Raises:
            ApiError: see `Failure`; `too-large` after `MAX_PAGES` pages.
        """
        url = self._base + path
        query: Parameters | None = {**(params or {}), "per_page": self.page_size}
        for _ in range(self.max_pages):
            reply = self._call("GET", url, params=query)
            yield _decode(reply.body, kind, path)
            url = reply.following
            if not url:
                return
            if not _same_origin(url, self._base):
                raise ApiError("malformed", f"GET {path}: the next page lies on another host.")
            query = None
        raise ApiError("too-large", f"GET {path}: more than {self.max_pages} pages.")

    def raw(self, path: str, most: int, params: Parameters | None = None) -> bytes:
        """A file's bytes (`application/vnd.github.raw+json`), at most `most`.

        Raises:
            ApiError: see `Failure`.
        """
        return self._call("GET", self._base + path, params=params, most=most, accept="raw+json").body

    def download(self, path: str, most: int) -> bytes:
        """What `path` redirects to, at most `most` bytes. The token stays behind.

        Raises:
            ApiError: see `Failure`.
        """
        return self._call("GET", self._base + path, most=most, follow=True).body

    def _decoded(self, method: Method, path: str, kind: type[T], **call: Any) -> T:
        return _decode(self._call(method, self._base + path, **call).body, kind, path)

    def _call(
        self,
        method: Method,
        url: str,
        *,
        params: Parameters | None = None,
        body: Mapping[str, Any] | None = None,
        most: int = JSON_BYTES,
        accept: str = "json",
        follow: bool = False,
    ) -> Reply:
        """Ask until the answer is final; messages never name the query, which may hold a signature."""
        name = f"{method} {urlsplit(url).path}"
        headers = {**_HEADERS, "Accept": f"application/vnd.github.{accept}"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token.reveal()}"
        data = None if body is None else msgspec.json.encode(body)
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = Request(method=method, url=url, params=params, headers=headers, body=data)
        limits = replace(self._limits, body=most)

        def once() -> Outcome:
            outcome = fetch(self._session, request, limits, self.budget)
            if follow and isinstance(outcome, Reply) and outcome.status in _REDIRECTS:
                return self._elsewhere(outcome, url, limits, name)
            return outcome

        outcome, _ = repeat(once, lambda got, done: self._delay(method, got, done), self.budget, tries=_TRIES)
        if outcome is None:
            raise ApiError("limited", f"{name}: no time was left for it.")
        if isinstance(outcome, NoReply):
            raise no_reply(name, outcome, most)
        if 200 <= outcome.status < 300:
            return outcome
        raise final(name, outcome)

    def _delay(self, method: Method, outcome: Outcome, done: int) -> float | None:
        """Seconds until the next try; None where none would help, or where a POST may have arrived."""
        clock = self.budget.clock
        if isinstance(outcome, Reply) and is_limit(outcome):
            return limit_wait(outcome.headers, clock.wall())
        arrived = outcome.delivered if isinstance(outcome, NoReply) else True
        if method == "POST" and arrived:
            return None
        return passing_delay(outcome, done, clock, statuses=_PASSING)

    def _elsewhere(self, reply: Reply, url: str, limits: Limits, name: str) -> Outcome:
        """GET the redirect's target with a session that has never seen the token."""
        target = urljoin(url, reply.headers.get("Location", ""))
        plain_http = urlsplit(self._base).scheme == "http"
        if urlsplit(target).scheme not in (("https", "http") if plain_http else ("https",)):
            raise ApiError("malformed", f"{name}: redirected to something that is not https.")
        with self.sessions() as bare:
            return fetch(bare, Request(method="GET", url=target, headers=_HEADERS), limits, self.budget)


def _decode(data: bytes, kind: type[T], path: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError("malformed", f"{path}: not the documented answer ({error}).", delivered=True) from None


def _same_origin(url: str, base: str) -> bool:
    one, other = urlsplit(url), urlsplit(base)
    return (one.scheme, one.netloc) == (other.scheme, other.netloc)
