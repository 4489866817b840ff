"""JSON over HTTP to services that a team runs or rents: time limits, retries, size limits, keys by name only.

May import: `http_client`, `world`, `errors`. Used by retrievers and by the embedding APIs of snapshots.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from rageval_action.errors import ConfigError, RagevalError
from rageval_action.http_client import (
    Budget,
    Limits,
    Outcome,
    Reply,
    Request,
    fetch,
    new_session,
    passing_delay,
    repeat,
)
from rageval_action.world import REAL_CLOCK, REAL_ENVIRONMENT, Clock

if TYPE_CHECKING:
    import requests

ANSWER_BYTES = 64 << 20
OURS = re.compile(r"^(ACTIONS_|INPUT_|GITHUB_|GH_|RUNNER_)", re.IGNORECASE)
"""Variables that belong to the job: never handed to a service or a process that a pull request can name."""

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class TransportError(RagevalError):
    """A service gave no usable answer: it costs the queries that asked."""

    exit_code = 3


def credential(name: str, where: str, environ: Mapping[str, str] = REAL_ENVIRONMENT) -> str:
    """The value of the variable `name` of `environ`, which the user named as a key.

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
    value = environ.get(name, "")
    if not value:
        raise ConfigError("config.missing-variable", f"the variable {name} is not set.", where=where)
    return value


def fill(text: str, where: str, environ: Mapping[str, str] = REAL_ENVIRONMENT) -> str:
    """`text` with every `${NAME}` replaced by that variable of `environ`, under the rules of `credential`."""
    return REFERENCE.sub(lambda match: credential(match.group(1), where, environ), text)


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
        timeout_s: of one try, from the connection to the last byte of the answer.
        retries: further tries after a failed connection or a status in `http_client.PASSING`; waits by Retry-After
            where given, else 0.5 s doubled each time, in all at most `patience_s`.
        answer_bytes: the longest answer that is read.
        sessions: makes a network session for each thread.

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
        answer_bytes: int = ANSWER_BYTES,
        clock: Clock = REAL_CLOCK,
        sessions: Callable[[], requests.Session] = lambda: new_session(proxies=False),
    ) -> None:
        if not is_address(base):
            raise ConfigError(
                "config.bad-address", "an address must start with http:// or https://.", where=public(base)
            )
        self.base = base.rstrip("/")
        self._headers = {"User-Agent": "rageval", **headers}
        self._limits = Limits(connect_s=timeout_s, read_s=timeout_s, answer_s=timeout_s, body=answer_bytes)
        self._retries = retries
        self._patience_s = patience_s
        self._clock = clock
        self._sessions = sessions
        self._local = threading.local()

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send one request and decode the answer's JSON; `body` None sends none.

        Raises:
            TransportError: `transport.unreachable`, `transport.status`, `transport.too-large`,
                `transport.bad-request`, `transport.not-json`.
        """
        url = f"{self.base}{path}"
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        data = None if body is None else msgspec.json.encode(body)
        request = Request(method=method, url=url, headers=headers, body=data)
        budget = Budget(math.inf, self._clock)
        outcome, tries = repeat(
            lambda: fetch(self._session(), request, self._limits, budget),
            lambda outcome, done: passing_delay(outcome, done, self._clock, first_s=0.5),
            budget,
            tries=self._retries + 1,
            waits_s=self._patience_s,
        )
        if isinstance(outcome, Reply) and outcome.status < 300:
            return _decoded(outcome.body, url)
        raise self._failure(outcome, url, "" if tries == 1 else f" after {tries} tries")

    def _session(self) -> requests.Session:
        """One session a thread: keeps connections open without sharing them."""
        if not hasattr(self._local, "session"):
            self._local.session = self._sessions()
        session: requests.Session = self._local.session
        return session

    def _failure(self, outcome: Outcome | None, url: str, times: str) -> TransportError:
        where = public(url)
        if isinstance(outcome, Reply):
            said = outcome.body[:300].decode("utf-8", "replace").strip().replace("\n", " ")
            return TransportError(
                "transport.status", f"answered {outcome.status}{times}: {said}", where=where
            )
        match outcome and outcome.kind:
            case "too-large":
                text = f"the answer is over {self._limits.body} bytes."
                return TransportError("transport.too-large", text, where=where)
            case "bad-request":
                return TransportError("transport.bad-request", "invalid URL or header.", where=where)
            case "timeout":
                fault = f"no answer within {self._limits.answer_s:g} s"
            case _:
                fault = f"no connection ({outcome.cause if outcome else 'no time'})"
        return TransportError("transport.unreachable", f"{fault}{times}.", where=where)


def _decoded(content: bytes, url: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        raise TransportError("transport.not-json", "the answer is not JSON.", where=public(url)) from None
