"""A small client of GitHub's REST API: one session, one retry rule, one time budget, typed, capped answers.

What the caller gets is either a value of the type it asked for or an `ApiError` that says which kind of
failure it was. Nothing here decides what a failure means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, TypeVar
from urllib.parse import urljoin, urlsplit

import msgspec
import requests
from msgspec import Struct
from urllib3.exceptions import MaxRetryError, NewConnectionError

from rageval_action import __version__
from rageval_action.github.context import Token
from rageval_action.github.failures import ApiError, final, is_limit, limit_wait, message_of
from rageval_action.world import Clock

T = TypeVar("T")
Method: TypeAlias = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]
Parameters: TypeAlias = Mapping[str, str | int]

API_VERSION = "2022-11-28"
JSON_BYTES = 20_000_000
PAGE_SIZE = 100
MAX_PAGES = 50
_CHUNK = 65_536
_TIMEOUT = (5.0, 20.0)
_TRIES = 4
_RETRIED = frozenset({500, 502, 503, 504})


class Budget:
    """Seconds that all waiting and calling of one phase may take together, from its first call on."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._clock = clock
        self._seconds = seconds
        self._end: float | None = None

    def left(self) -> float:
        """Seconds left, never negative."""
        if self._end is None:
            self._end = self._clock.now() + self._seconds
        return max(0.0, self._end - self._clock.now())

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds` if the budget holds so many; False without sleeping when it does not."""
        if seconds >= self.left():
            return False
        self._clock.sleep(seconds)
        return True


class Api:
    """Calls to one repository's API.

    Args:
        api_url: where the API is, without a trailing slash.
        repository: `owner/name`.
        token: sent to that origin and to no other.
        budget: shared by all calls made through this object.
        clock: time.
    """

    def __init__(self, api_url: str, repository: str, token: Token, budget: Budget, clock: Clock) -> None:
        self._base = api_url
        self._repository = repository
        self._token = token
        self.budget = budget
        self._clock = clock
        self._session = _session()

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
            self._call(_Request(method="DELETE", url=self._base + path))
        except ApiError as error:
            if error.failure not in ("not-found", "gone"):
                raise

    def pages(self, path: str, kind: type[T], params: Parameters | None = None) -> Iterator[T]:
        """Every page of a list, each decoded as `kind`; follows `rel="next"` while it stays on our origin.

        Raises:
            ApiError: see `Failure`; `too-large` after `MAX_PAGES` pages.
        """
        url = self._base + path
        query: Parameters | None = {**(params or {}), "per_page": PAGE_SIZE}
        for _ in range(MAX_PAGES):
            data, links = self._call(_Request(method="GET", url=url, params=query))
            yield _decode(data, kind, path)
            url = links.get("next", "")
            if not url:
                return
            if not _same_origin(url, self._base):
                raise ApiError("malformed", f"GET {path}: the next page lies on another host.")
            query = None
        raise ApiError("too-large", f"GET {path}: more than {MAX_PAGES} pages.")

    def raw(self, path: str, limit: int, params: Parameters | None = None) -> bytes:
        """A file's bytes (`application/vnd.github.raw+json`), at most `limit`.

        Raises:
            ApiError: see `Failure`.
        """
        url = self._base + path
        request = _Request(method="GET", url=url, params=params, limit=limit, accept="raw+json")
        return self._call(request)[0]

    def download(self, path: str, limit: int) -> bytes:
        """What `path` redirects to, at most `limit` bytes. The token stays behind.

        Raises:
            ApiError: see `Failure`.
        """
        request = _Request(method="GET", url=self._base + path, limit=limit, follow=True)
        return self._call(request)[0]

    def _decoded(self, method: Method, path: str, kind: type[T], **call: Any) -> T:
        data, _ = self._call(_Request(method=method, url=self._base + path, **call))
        return _decode(data, kind, path)

    def _call(self, request: _Request) -> tuple[bytes, dict[str, str]]:
        last = ApiError("limited", f"{request.name}: no time was left for it.")
        for attempt in range(_TRIES):
            if self.budget.left() <= 0:
                break
            try:
                return self._once(request)
            except _RetryableError as problem:
                last = problem.error
                wait = problem.wait if problem.wait is not None else float(2**attempt)
                if attempt + 1 == _TRIES or not self.budget.wait(wait):
                    break
        raise last

    def _once(self, request: _Request) -> tuple[bytes, dict[str, str]]:
        safe = request.method != "POST"
        try:
            answer = self._session.request(
                request.method,
                request.url,
                params=dict(request.params) if request.params else None,
                json=request.body,
                headers={"Accept": f"application/vnd.github.{request.accept}"},
                auth=_bearer(self._token),
                timeout=self._timeout(),
                allow_redirects=False,
                stream=True,
            )
            with answer:
                if request.follow and answer.status_code in (301, 302, 303, 307, 308):
                    return self._elsewhere(answer, request), {}
                data = self._body(answer, request)
                return self._judge(answer, data, request)
        except requests.ConnectTimeout as error:
            raise _RetryableError(ApiError("outage", f"{request.name}: no connection.")) from error
        except requests.RequestException as error:
            problem = ApiError("outage", f"{request.name}: {_in_words(error)}.", delivered=True)
            if safe or _never_sent(error):
                raise _RetryableError(problem) from None
            raise problem from None

        except ValueError:
            # From below requests; its words may hold the token.
            raise ApiError("malformed", f"{request.name}: an address or a header is none.") from None

    def _judge(
        self, answer: requests.Response, data: bytes, request: _Request
    ) -> tuple[bytes, dict[str, str]]:
        status = answer.status_code
        if 200 <= status < 300:
            return data, {name: str(link["url"]) for name, link in answer.links.items() if "url" in link}
        said = message_of(data)
        if status in _RETRIED:
            problem = ApiError("outage", f"{request.name}: HTTP {status}.", status=status, delivered=True)
            if request.method == "POST":
                raise problem
            raise _RetryableError(problem)
        if status == 429 or (status == 403 and is_limit(answer.headers, said)):
            problem = ApiError("limited", f"{request.name}: rate limit ({status}).", status=status)
            raise _RetryableError(problem, wait=limit_wait(answer.headers, self._clock.wall()))
        raise final(request.name, status, said)

    def _elsewhere(self, answer: requests.Response, request: _Request) -> bytes:
        """GET the redirect's target with a session that has never seen the token."""
        target = urljoin(request.url, answer.headers.get("Location", ""))
        plain_http = urlsplit(self._base).scheme == "http"
        if urlsplit(target).scheme not in (("https", "http") if plain_http else ("https",)):
            raise ApiError("malformed", f"{request.name}: redirected to something that is not https.")
        with (
            _session() as bare,
            bare.get(
                target, auth=_no_auth, timeout=self._timeout(), allow_redirects=False, stream=True
            ) as response,
        ):
            data = self._body(response, request)
            return self._judge(response, data, request)[0]

    def _body(self, answer: requests.Response, request: _Request) -> bytes:
        """The body, under the size cap and the time budget, complete as its Content-Length promised."""
        parts: list[bytes] = []
        size = 0
        for part in answer.iter_content(_CHUNK):
            size += len(part)
            if size > request.limit:
                raise ApiError("too-large", f"{request.name}: more than {request.limit:,} bytes.")
            if self.budget.left() <= 0:
                raise ApiError("outage", f"{request.name}: the answer came too slowly.", delivered=True)
            parts.append(part)
        return b"".join(parts)

    def _timeout(self) -> tuple[float, float]:
        left = max(0.1, self.budget.left())
        return min(_TIMEOUT[0], left), min(_TIMEOUT[1], left)


class _Request(Struct, frozen=True, kw_only=True):
    method: Method
    url: str
    params: Parameters | None = None
    body: Mapping[str, Any] | None = None
    limit: int = JSON_BYTES
    accept: str = "json"
    follow: bool = False

    @property
    def name(self) -> str:
        """For messages: never the query, which may hold a signature."""
        return f"{self.method} {urlsplit(self.url).path}"


class _RetryableError(Exception):
    """Worth another try; `wait` is what the server asked for, None = back off."""

    def __init__(self, error: ApiError, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


def _session() -> requests.Session:
    session = requests.Session()
    session.headers.update(
        {
            "User-Agent": f"rag-eval-action/{__version__}",
            "X-GitHub-Api-Version": API_VERSION,
            "Accept-Encoding": "identity",
        }
    )
    return session


def _bearer(token: Token) -> Callable[[requests.PreparedRequest], requests.PreparedRequest]:
    """Puts the token on one request; as an `auth` it also keeps a ~/.netrc out."""

    def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
        if token:
            request.headers["Authorization"] = f"Bearer {token.reveal()}"
        return request

    return sign


def _no_auth(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _decode(data: bytes, kind: type[T], path: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError("malformed", f"{path}: not the documented answer ({error}).", delivered=True) from None


def _never_sent(error: requests.RequestException) -> bool:
    """True when the connection was refused before a byte of the request left."""
    cause = error.args[0] if isinstance(error, requests.ConnectionError) and error.args else None
    reason = cause.reason if isinstance(cause, MaxRetryError) else cause
    return isinstance(reason, NewConnectionError)


def _in_words(error: requests.RequestException) -> str:
    """What happened to a request that got no whole answer."""
    if _never_sent(error):
        return "the server cannot be reached"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    return f"the connection broke ({type(error).__name__})"


def _same_origin(url: str, base: str) -> bool:
    one, other = urlsplit(url), urlsplit(base)
    return (one.scheme, one.netloc) == (other.scheme, other.netloc)
