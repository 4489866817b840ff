"""What tests hand over as the network: a clock that never waits, limits that hardly do, a session without proxies."""

from __future__ import annotations

import time

import requests
from msgspec.structs import replace

from rageval_action.github.api import LIMITS
from rageval_action.http_client import new_session
from rageval_action.world import Clock

IMPATIENT = replace(LIMITS, connect_s=0.5, read_s=0.5)


def network() -> requests.Session:
    return new_session(proxies=False)


class FastClock:
    """Sleeping costs nothing and moves the clock."""

    def __init__(self) -> None:
        self.skipped = 0.0
        self.sleeps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.skipped += seconds

    def handle(self) -> Clock:
        return Clock(
            now=lambda: time.monotonic() + self.skipped,
            wall=lambda: time.time() + self.skipped,
            sleep=self.sleep,
        )
