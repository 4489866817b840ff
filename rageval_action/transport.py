"""JSON over HTTP to services that a team runs or rents: time limits, retries, size limits, keys by name only.

May import: `errors`. Used by retrievers and by the embedding APIs of snapshots.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from rageval_action.errors import ConfigError, RagevalError

if TYPE_CHECKING:
    import requests

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
MAX_BYTES = 64 * 1024 * 1024
OURS = re.compile(r"^(ACTIONS_|INPUT_|GITHUB_|GH_|RUNNER_)", re.IGNORECASE)
"""Variables that belong to the job: never handed to a service or a process that a pull request can name."""

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class TransportError(RagevalError):
    """A service gave no usable answer: it costs the queries that asked."""

    exit_code = 3


def credential(name: str, where: str) -> str:
    """The value of the environment variable `name`, which the user named as a key.

    Raises:
        ConfigError: `config.forbidden-variable` for the job's own variables, `config.missing-variable` when
            unset.
    """
    if OURS.match(name):
        raise ConfigError(
            "config.forbidden-variable",
            f"the variable {name} belongs to the job and is never sent to a service.",
            hint="Give the service a key of its own, in a variable of another name.",
            where=where,
        )
    value = os.environ.get(name, "")
    if not value:
        raise ConfigError("config.missing-variable", f"the variable {name} is not set.", where=where)
    return value


def fill(text: str, where: str) -> str:
    """`text` with every `${NAME}` replaced by that environment variable, under the rules of `credential`."""
    return REFERENCE.sub(lambda match: credential(match.group(1), where), text)


def public(url: str) -> str:
    """`url` without user, password, query and fragment: fit for messages and records."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that is none"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def is_address(url: str) -> bool:
    """True for http or https with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class Client:
    """Posts JSON and reads JSON.

    Args:
        base: address that paths are added to; http or https.
        headers: sent with every request, never logged.
        timeout_s: of one try: for connecting, for the answer to begin, and for all of it to have come. Between two
            pieces it may take as long again, so that a try never lasts longer than twice that.
        retries: further tries after a failed connection or a status in `RETRIED`; waits by Retry-After
            where given, else 0.5 s doubled each time, in all at most `patience_s`.
        sleep: replaced in tests.

    Raises:
        ConfigError: `config.bad-address` for another scheme.
    """

    def __init__(
        self,
        base: str,
        headers: Mapping[str, str],
        *,
        timeout_s: float = 30.0,
        retries: int = 3,
        patience_s: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not is_address(base):
            raise ConfigError(
                "config.bad-address", "an address must start with http:// or https://.", where=public(base)
            )
        self.base = base.rstrip("/")
        self._headers = {"User-Agent": "rageval", **headers}
        self._timeout_s = timeout_s
        self._retries = retries
        self._patience_s = patience_s
        self._sleep = sleep
        self._local = threading.local()

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send one request and decode the answer's JSON; `body` None sends none.

        Raises:
            TransportError: `transport.unreachable`, `transport.status`, `transport.too-large`,
                `transport.not-json`.
        """
        url = f"{self.base}{path}"
        data = None if body is None else msgspec.json.encode(body)
        waited, tries = 0.0, 0
        while True:
            status, headers, content, fault = self._once(method, url, data)
            if not fault and status < 300:
                return _decoded(content, url)
            wait = _wait(headers, tries)
            last = tries >= self._retries or waited + wait > self._patience_s
            if last or not (fault or status in RETRIED):
                raise _failure(url, status, content, fault, tries + 1)
            self._sleep(wait)
            waited += wait
            tries += 1

    def _once(self, method: str, url: str, data: bytes | None) -> tuple[int, Mapping[str, str], bytes, str]:
        import requests
        from urllib3.exceptions import HTTPError, ReadTimeoutError

        deadline = time.monotonic() + self._timeout_s
        headers = dict(self._headers)
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            with self._session().request(
                method,
                url,
                data=data,
                headers=headers,
                timeout=self._timeout_s,
                stream=True,
                allow_redirects=False,
            ) as answer:
                content = _limited(answer, url, deadline)
                return answer.status_code, answer.headers, content, ""
        except (requests.Timeout, ReadTimeoutError):
            return 0, {}, b"", f"no answer within {self._timeout_s:g} s"
        except (requests.RequestException, HTTPError) as error:
            return 0, {}, b"", f"no connection ({type(error).__name__})"
        except ValueError:  # from below requests; its words may hold a key
            text = "the address or a header holds what neither may hold."
            raise TransportError("transport.bad-request", text, where=public(url)) from None

    def _session(self) -> requests.Session:
        """One session a thread: keeps connections open without sharing them."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            import requests

            session = requests.Session()
            session.trust_env = False  # no .netrc: nothing is sent that the user did not name
            self._local.session = session
        return session


def _limited(answer: requests.Response, url: str, deadline: float) -> bytes:
    """The body, read as it comes: a server that sends a byte now and then must not hold us for ever."""
    import requests

    content = bytearray()
    while piece := answer.raw.read1(65536, decode_content=True):
        content += piece
        if time.monotonic() > deadline:
            raise requests.Timeout
        if len(content) > MAX_BYTES:
            raise TransportError(
                "transport.too-large", f"the answer is over {MAX_BYTES} bytes.", where=public(url)
            )
    return bytes(content)


def _decoded(content: bytes, url: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        raise TransportError("transport.not-json", "the answer is not JSON.", where=public(url)) from None


def _wait(headers: Mapping[str, str], tries: int) -> float:
    """Seconds until the next try."""
    given = headers.get("Retry-After", "")
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.5 * 2.0**tries


def _failure(url: str, status: int, content: bytes, fault: str, tries: int) -> TransportError:
    times = "" if tries == 1 else f" after {tries} tries"
    if fault:
        return TransportError("transport.unreachable", f"{fault}{times}.", where=public(url))
    said = content[:300].decode("utf-8", "replace").strip().replace("\n", " ")
    return TransportError("transport.status", f"answered {status}{times}: {said}", where=public(url))
