"""How soon the HTML report of 10,000 queries can be used in headless Chromium, opened from disk."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 3.0


def main() -> None:
    """Print the seconds until the page says that it is ready; end with 1 when they are more than the limit."""
    sys.path.insert(0, str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.browser.test_report import large
    from tests.conftest import BROWSERS

    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        print("skipped: no Chromium on this machine (apt-get install chromium)")
        return

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        page_file.write_text(large(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(offline=True).new_page()
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        seconds = int(page.locator("html").get_attribute("data-ready") or 0) / 1000
        browser.close()
        size = page_file.stat().st_size / 1e6
    print(f"report of 10,000 queries, {size:.1f} MB: ready after {seconds:.2f} s (at most {LIMIT_S:.0f})")
    sys.exit(seconds > LIMIT_S)


if __name__ == "__main__":
    main()
