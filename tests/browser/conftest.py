"""Pages opened from disk in headless Chromium, and what happens on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


class Watched:
    """A page and everything that must not happen on it."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(address)
        page.wait_for_selector("html[data-ready]", timeout=20_000)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    """Write a document to disk and open it from there, with the network gone."""
    contexts = []

    def go(text: str, **options: Any) -> Watched:
        path = tmp_path / f"report-{len(contexts)}.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(offline=True, **{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        return Watched(context.new_page(), path.as_uri())

    yield go
    for context in contexts:
        context.close()
