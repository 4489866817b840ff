"""The Anthropic API (SDK 2.x): requests one by one over a few threads. `batches` sends them at half the price."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from rageval_action.errors import CannotMeasureError, ConfigError
from rageval_action.golden.generate.model_requests import Answer, Failure, Outcome, Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    import anthropic

    from rageval_action.golden.generate.budget import Budget
    from rageval_action.golden.generate.ledger import Ledger

GIVE_UP_AFTER = 5
"""Failures of the service in a row after which nothing more is sent: it is down, and money waits in the ledger."""

_RETRIES = 4
_SERVICE = frozenset({"rate-limited", "overloaded", "server-error", "timeout", "no-connection"})


def connect(base_url: str = "", *, timeout_s: float = 120.0, retries: int = _RETRIES) -> anthropic.Anthropic:
    """A client with the key of the environment (`ANTHROPIC_API_KEY`).

    Raises:
        ConfigError: `generate.needs-extra` when the extra `[generate]` is not installed, `generate.no-key`.
    """
    try:
        import anthropic
    except ImportError as absent:
        raise ConfigError(
            "generate.needs-extra",
            "the Anthropic SDK is not installed.",
            hint='Install "rag-eval-action[generate]".',
        ) from absent
    try:
        return anthropic.Anthropic(base_url=base_url or None, timeout=timeout_s, max_retries=retries)
    except (anthropic.AnthropicError, TypeError) as fault:
        raise no_key(fault) from fault


def parameters(request: Request) -> dict[str, Any]:
    """The body of `POST /v1/messages`; sampling parameters are not among them, newer models refuse them."""
    output: dict[str, Any] = {"format": {"type": "json_schema", "schema": request.schema}}
    if request.effort:
        output["effort"] = request.effort
    return {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "system": request.system,
        "messages": [{"role": "user", "content": request.prompt}],
        "output_config": output,
    }


def to_answer(key: str, message: Any, *, batch: bool) -> Answer:
    """An API message as an answer: the text blocks joined; a message may start with thinking."""
    text = "".join(block.text for block in message.content if block.type == "text")
    usage = message.usage
    extra = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    return Answer(
        key=key,
        text=text,
        stop=message.stop_reason or "",
        input_tokens=usage.input_tokens + extra,
        output_tokens=usage.output_tokens,
        batch=batch,
    )


class Interactive:
    """Asks at once, `workers` requests at a time. Every answer is in the ledger before the next step sees it."""

    def __init__(
        self, client: anthropic.Anthropic, ledger: Ledger, budget: Budget, *, workers: int = 4
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._budget = budget
        self._workers = workers
        self._failed_in_a_row = 0

    def ask(self, requests: Sequence[Request]) -> list[Outcome]:
        """Outcomes in the order of the requests.

        Raises:
            ConfigError: the key or the model is refused.
            CannotMeasureError: `generate.service` when the service fails again and again.
        """
        with ThreadPoolExecutor(self._workers) as pool:
            futures = [pool.submit(self._one, request) for request in requests]
            try:
                outcomes = [future.result() for future in futures]
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
        if self._failed_in_a_row >= GIVE_UP_AFTER:
            raise service_is_down(next(one for one in outcomes if isinstance(one, Failure)))
        return outcomes

    def _one(self, request: Request) -> Outcome:
        known = self._ledger.answer(request.key)
        if known is not None:
            return known
        if self._failed_in_a_row >= GIVE_UP_AFTER:
            return Failure(key=request.key, kind="not-sent", text="the service kept failing")
        if not self._budget.reserve(request):
            return Failure(key=request.key, kind="over-budget")
        outcome: Outcome | None = None
        try:
            outcome = self._send(request)
        finally:
            self._budget.settle(request, outcome if isinstance(outcome, Answer) else None)
        failed = isinstance(outcome, Failure) and outcome.kind in _SERVICE
        self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
        return outcome

    def _send(self, request: Request) -> Outcome:
        import anthropic

        try:
            message = self._client.messages.create(**parameters(request))
            answer = to_answer(request.key, message, batch=False)
        except anthropic.AnthropicError as error:
            return failure_of(request.key, error)
        except (json.JSONDecodeError, UnicodeDecodeError, AttributeError) as error:
            # The SDK hands on a body that is not JSON, or not a message, as it is.
            return Failure(key=request.key, kind="broken-response", text=type(error).__name__)
        except TypeError as error:
            raise no_key(error) from error
        self._ledger.keep(answer)
        return answer


def failure_of(key: str, error: Exception) -> Failure:
    """What an error of the SDK means for one request.

    Raises:
        ConfigError: errors that every request would meet: the key, the account, the model.
    """
    import anthropic

    fatal = (
        anthropic.AuthenticationError,
        anthropic.PermissionDeniedError,
        anthropic.NotFoundError,
    )
    if isinstance(error, fatal) or getattr(error, "status_code", 0) == 402:
        raise ConfigError(
            "generate.refused",
            f"the API refuses: {said(error)}",
            hint="Check the key, the account and --model. What was paid for is in the ledger.",
        ) from error
    kinds: tuple[tuple[type[Exception], str], ...] = (
        (anthropic.APITimeoutError, "timeout"),
        (anthropic.APIConnectionError, "no-connection"),
        (anthropic.RateLimitError, "rate-limited"),
        (anthropic.BadRequestError, "rejected"),
        (
            anthropic.InternalServerError,
            "overloaded" if getattr(error, "status_code", 0) == 529 else "server-error",
        ),
    )
    kind = next((name for type_, name in kinds if isinstance(error, type_)), "api-error")
    return Failure(key=key, kind=kind, text=said(error))


def no_key(fault: Exception) -> ConfigError:
    """The SDK found no credentials."""
    del fault
    return ConfigError(
        "generate.no-key",
        "there is no key for the Anthropic API.",
        hint="Set ANTHROPIC_API_KEY. To see what a run would cost, --dry-run needs none.",
    )


def service_is_down(failure: Failure) -> CannotMeasureError:
    """The service failed too often in a row."""
    return CannotMeasureError(
        "generate.service",
        f"the API failed {GIVE_UP_AFTER} times in a row ({failure.kind}: {failure.text}).",
        hint="Run the same command later: answers that came are kept and not paid for again.",
    )


def said(error: Exception) -> str:
    """The first line of an error's text, else its name."""
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
