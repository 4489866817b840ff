"""The Message Batches API: half the price, results within a day.

A batch survives our own death: its id is written down before anything else happens, and results are matched by the
request's content hash.
"""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

from rageval_action.errors import CannotMeasureError
from rageval_action.golden.generate.client import failure_of, no_key, parameters, said, to_answer
from rageval_action.golden.generate.model_requests import ID_LENGTH, Answer, Failure, Outcome, Request
from rageval_action.world import REAL_CLOCK, Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import anthropic

    from rageval_action.golden.generate.budget import Budget
    from rageval_action.golden.generate.ledger import Ledger

MOST_REQUESTS = 10_000
"""Requests in one batch; the API allows 100,000 and 256 MB."""

ATTEMPTS = 3
"""How often an item that expired or met an error of the service is sent, all in all."""

_AGAIN = frozenset({"expired", "overloaded", "server-error", "rate-limited", "timeout"})


class Batched:
    """Asks by batches, waits for them, and sends again what expired or failed on the service's side.

    Args:
        poll_s: seconds between looks at a batch.
        say: told about each batch's progress.
    """

    def __init__(
        self,
        client: anthropic.Anthropic,
        ledger: Ledger,
        budget: Budget,
        *,
        poll_s: float = 30.0,
        say: Callable[[str], None] = lambda _: None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._budget = budget
        self._poll_s = poll_s
        self._clock = clock
        self._say = say

    def ask(self, requests: Sequence[Request]) -> list[Outcome]:
        """Outcomes in the order of the requests; returns when every batch has ended.

        Raises:
            ConfigError: the key or the model is refused.
            CannotMeasureError: `generate.service` when a batch can neither be made nor looked at.
        """
        outcomes: dict[str, Outcome] = {}
        by_key = {request.key: request for request in requests}
        self._adopt()
        for batch, keys in self._ledger.open_batches.items():
            for key in keys:
                if key in by_key:
                    self._budget.reserve(by_key[key], force=True)
            outcomes |= self._collect(batch, keys, by_key)
        for _ in range(ATTEMPTS):
            left = [
                request
                for request in by_key.values()
                if self._ledger.answer(request.key) is None and _worth_sending(outcomes.get(request.key))
            ]
            sendable = self._affordable(left, outcomes)
            if not sendable:
                break
            for at in range(0, len(sendable), MOST_REQUESTS):
                part = sendable[at : at + MOST_REQUESTS]
                outcomes |= self._collect(self._create(part), [request.key for request in part], by_key)
        return [self._ledger.answer(request.key) or outcomes[request.key] for request in requests]

    def _affordable(self, requests: list[Request], outcomes: dict[str, Outcome]) -> list[Request]:
        """Requests that fit the budget, reserved; the others get their outcome here."""
        sendable: list[Request] = []
        for request in requests:
            if self._budget.reserve(request):
                sendable.append(request)
            else:
                outcomes[request.key] = Failure(key=request.key, kind="over-budget")
        return sendable

    def _create(self, requests: list[Request]) -> str:
        import anthropic

        keys = [request.key for request in requests]
        at = datetime.datetime.fromtimestamp(self._clock.wall(), datetime.UTC).isoformat()
        self._ledger.intend(at, keys)
        items: list[Any] = [{"custom_id": one.custom_id, "params": parameters(one)} for one in requests]
        try:
            batch = self._client.messages.batches.create(requests=items)
        except anthropic.APIConnectionError as error:
            # Nobody knows whether the batch was made: the intent stays, and the next run looks for it.
            raise _unreachable(error) from error
        except (anthropic.AnthropicError, json.JSONDecodeError) as error:
            self._ledger.forget(at)
            failure_of("", error)
            raise _unreachable(error) from error
        except TypeError as error:
            self._ledger.forget(at)
            raise no_key(error) from error
        self._ledger.opened(at, batch.id, keys)
        self._say(f"batch {batch.id}: {len(requests)} requests sent.")
        return str(batch.id)

    def _adopt(self) -> None:
        """Find batches that were sent but whose id never reached the ledger: same size, made just after."""
        for at, keys in self._ledger.intents.items():
            sent = datetime.datetime.fromisoformat(at)
            known = set(self._ledger.open_batches)
            for batch in self._listed():
                delay = (batch.created_at - sent).total_seconds()
                counts = batch.request_counts
                size = (
                    counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
                )
                if batch.id not in known and size == len(keys) and -60 <= delay <= 900:
                    self._ledger.opened(at, batch.id, keys)
                    self._say(f"batch {batch.id}: found again, {size} requests.")
                    break
            else:
                self._ledger.forget(at)

    def _listed(self) -> list[Any]:
        import anthropic

        try:
            return list(self._client.messages.batches.list(limit=50).data)
        except anthropic.AnthropicError as error:
            failure_of("", error)
            raise _unreachable(error) from error

    def _collect(self, batch: str, keys: Sequence[str], by_key: dict[str, Request]) -> dict[str, Outcome]:
        """Wait for a batch and take its results, those of another stage included: they were paid for."""
        outcomes: dict[str, Outcome] = {}
        missing = {key[:ID_LENGTH]: key for key in keys}
        try:
            ended = self._wait(batch)
            for item in self._results(batch) if ended else ():
                key = missing.pop(item.custom_id, "")
                if key:
                    outcomes[key] = self._keep(key, by_key.get(key), item.result)
        finally:
            for key in missing.values():
                outcomes[key] = Failure(key=key, kind="expired", text="no result in the batch")
                if key in by_key:
                    self._budget.settle(by_key[key], None)
        self._ledger.closed(batch)
        return outcomes

    def _keep(self, key: str, request: Request | None, result: Any) -> Outcome:
        outcome: Outcome
        if result.type == "succeeded":
            outcome = to_answer(key, result.message, batch=True)
            self._ledger.keep(outcome)
        elif result.type == "errored":
            detail = getattr(result.error, "error", result.error)
            outcome = Failure(key=key, kind=_error_kind(detail.type), text=str(detail.message)[:300])
        else:
            outcome = Failure(key=key, kind=result.type, text="")
        if request is not None:
            self._budget.settle(request, outcome if isinstance(outcome, Answer) else None)
        return outcome

    def _wait(self, batch: str) -> bool:
        """Wait until the batch has ended; False when it does not exist any more."""
        import anthropic

        failures = 0
        while True:
            try:
                state = self._client.messages.batches.retrieve(batch)
                failures = 0
            except anthropic.NotFoundError:
                return False
            except (anthropic.AnthropicError, json.JSONDecodeError) as error:
                failures += 1
                failure_of("", error)
                if failures >= ATTEMPTS:
                    raise _unreachable(error) from error
            else:
                if state.processing_status == "ended":
                    return True
                counts = state.request_counts
                self._say(f"batch {batch}: {counts.processing} of its requests are being processed.")
            self._clock.sleep(self._poll_s)

    def _results(self, batch: str) -> list[Any]:
        import anthropic

        for attempt in range(1, ATTEMPTS + 1):
            try:
                return list(self._client.messages.batches.results(batch))
            except (anthropic.AnthropicError, json.JSONDecodeError) as error:
                if attempt == ATTEMPTS:
                    raise _unreachable(error) from error
                self._clock.sleep(self._poll_s)
        return []


def _worth_sending(outcome: Outcome | None) -> bool:
    return outcome is None or (isinstance(outcome, Failure) and outcome.kind in _AGAIN)


def _error_kind(name: str) -> str:
    kinds = {
        "overloaded_error": "overloaded",
        "api_error": "server-error",
        "rate_limit_error": "rate-limited",
        "timeout_error": "timeout",
        "invalid_request_error": "rejected",
    }
    return kinds.get(name, "api-error")


def _unreachable(error: Exception) -> CannotMeasureError:
    return CannotMeasureError(
        "generate.service",
        f"the batch service cannot be used: {said(error)}.",
        hint="Run the same command later: the batches under way are in the ledger and will be collected.",
    )
