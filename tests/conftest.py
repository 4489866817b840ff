from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.loopback_only.sitecustomize import REACHED

EXPECTED = Path(__file__).parent / "expected"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-expected", action="store_true", help="Write the files of tests/expected anew.")


@pytest.fixture(autouse=True)
def loopback_only() -> Iterator[None]:
    """Fail the test in which something tried to reach beyond loopback, also where the refusal was caught."""
    REACHED.clear()
    yield
    assert REACHED == []


@pytest.fixture
def expected(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a whole document with its file below tests/expected, or write the file with --update-expected."""

    def check(name: str, text: str) -> None:
        path = EXPECTED / name
        if request.config.getoption("--update-expected"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        assert path.is_file(), f"{path.name} is missing: run pytest --update-expected and read what it wrote"
        assert text == path.read_text(encoding="utf-8")

    return check


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium, one a process, or a line that says why there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="skipped: playwright is not installed")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("skipped: no Chromium on this machine (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()
