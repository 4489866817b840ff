"""The hard stop: no request is sent that could bring the cost over what the user allows."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rageval_action.golden.generate.prices import Price, cost, most_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rageval_action.golden.generate.model_requests import Answer, Request


class Budget:
    """Counts what was spent and what the requests under way may cost at most.

    Args:
        limit: US dollars for this run; 0 = no limit.
        prices: model -> price, for every model that is asked.
        batch: whether requests go at the batch price.
    """

    def __init__(self, limit: float, prices: Mapping[str, Price], *, batch: bool) -> None:
        self.limit = limit
        self.spent = 0.0
        self.stopped = False
        self.tokens_in = 0
        self.tokens_out = 0
        self._batch = batch
        self._prices = prices
        self._reserved = 0.0
        self._lock = threading.Lock()

    def reserve(self, request: Request, *, force: bool = False) -> bool:
        """Set aside what the request may cost at most; False when that could go over the limit.

        With `force` it is set aside in any case: the request was sent by an earlier run.
        """
        most = self._most(request)
        with self._lock:
            if self.limit and not force and self.spent + self._reserved + most > self.limit + 1e-12:
                self.stopped = True
                return False
            self._reserved += most
            return True

    def settle(self, request: Request, answer: Answer | None) -> None:
        """Replace what was set aside by what the answer cost (nothing when there is none)."""
        with self._lock:
            self._reserved -= self._most(request)
            if answer is not None:
                price = self._prices[request.model]
                self.spent += cost(price, answer.input_tokens, answer.output_tokens, batch=answer.batch)
                self.tokens_in += answer.input_tokens
                self.tokens_out += answer.output_tokens

    def _most(self, request: Request) -> float:
        return cost(self._prices[request.model], most_tokens(request), request.max_tokens, batch=self._batch)
