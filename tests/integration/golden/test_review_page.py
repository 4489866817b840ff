"""The review page in a real browser: keys, edits, reloads, and what ends up in the file."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rageval_action.golden.formats import read_golden
from rageval_action.golden.review.server import ReviewServer
from rageval_action.golden.review.session import Session
from tests.fakes.question_corpus import FACTS, chunks

ROWS = [
    {
        "id": "q1",
        "query": "At what time can boats enter the port?",
        "evidence": [{"doc": "tide.md", "quote": FACTS["tide.md"][0][0]}],
        "tags": ["style:natural"],
        "type": "lookup",
        "source": "synthetic",
        "review": "pending",
        "provenance": {"model": "m", "scores": {"overlap": 0.1, "copied": 1}, "ranks": {"bm25": 0}},
    },
    {
        "id": "q2",
        "query": "Berth price in sumer?",
        "evidence": [
            {"doc": "fees.md", "quote": FACTS["fees.md"][0][0]},
            {"doc": "tide.md", "quote": FACTS["tide.md"][1][0]},
        ],
        "review": "pending",
    },
    {"id": "q3", "query": "<img src=x onerror=alert(1)> who built it?", "answerable": False, "review": "pending"},
    {"id": "q4", "query": "夏天停泊一晚多少錢？", "relevant": {"fees.md": 2}, "review": "pending"},
    {"id": "q5", "query": "Kept as it was", "relevant": ["fuel.md#0"],   "review": "accepted"},
]  # fmt: skip


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    file = tmp_path / "golden.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in ROWS]
    lines[4] = lines[4].replace(": ", ":   ")
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture
def server(golden: Path) -> Iterator[ReviewServer]:
    made = ReviewServer(Session(golden, chunks(), "ana"))
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def rows(golden: Path) -> dict[str, dict]:
    return {row["id"]: row for row in map(json.loads, golden.read_text().splitlines())}


def wait(page, script: str) -> None:
    """Poll from outside: the page's own policy forbids the waiting script that playwright would put in."""
    for _ in range(100):
        if page.evaluate(script):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {script}; message: {page.locator('#message').inner_text()}")


def edit_the_berth(page, golden: Path) -> None:
    """Mend the second question, untick the passage that does not answer it, and accept."""
    page.keyboard.press("e")
    page.keyboard.press("Control+A")
    page.keyboard.type("How much is a berth in summer?")
    page.locator("input[data-place='1']").uncheck()
    page.locator("#edit-tags").fill("fees, style:natural")
    page.keyboard.press("Control+Enter")
    wait(page, "document.querySelector('#question').textContent.startsWith('<img')")
    edited = rows(golden)["q2"]
    assert edited["query"] == "How much is a berth in summer?"
    assert edited["provenance"]["edited_from"] == "Berth price in sumer?"
    assert [item["doc"] for item in edited["evidence"]] == ["fees.md"]
    assert (edited["tags"], edited["review"]) == (["fees", "style:natural"], "accepted")
    assert page.locator("#question img").count() == 0, "a question is text, whatever it holds"


def test_accept_edit_and_reject_by_keyboard_then_reload(browser, server: ReviewServer, golden: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    faults: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.url)
    wait(page, "document.querySelector('#question').textContent.startsWith('At what time')")
    assert "token" not in page.url
    assert page.locator("mark").inner_text() == FACTS["tide.md"][0][0]
    assert "3 rows" not in page.content()

    page.keyboard.press("a")
    wait(page, "document.querySelector('#question').textContent.startsWith('Berth price')")
    assert rows(golden)["q1"]["review"] == "accepted"
    assert rows(golden)["q1"]["provenance"]["reviewed_by"] == "ana"

    edit_the_berth(page, golden)
    page.keyboard.press("r")
    wait(page, "document.querySelector('#question').textContent.startsWith('夏天')")
    assert rows(golden)["q3"]["review"] == "rejected"
    assert "grade 2" in page.locator("#passages").inner_text()

    page.keyboard.press("k")
    page.reload()
    wait(page, "document.querySelector('#question').textContent.startsWith('夏天')")
    assert page.locator("#tally").inner_text() == "3 accepted · 1 rejected · 1 pending of 5"
    page.keyboard.press("a")
    wait(page, "!document.querySelector('#empty').hidden")

    page.get_by_role("button", name="Rejected").click()
    wait(page, "document.querySelector('#question').textContent.startsWith('<img')")
    page.keyboard.press("u")
    page.get_by_role("button", name="All").click()
    page.keyboard.press("/")
    page.keyboard.type("kept as")
    page.keyboard.press("Enter")
    wait(page, "document.querySelector('#question').textContent.startsWith('Kept')")

    after = read_golden(golden)
    assert [query.review for query in after.queries] == [
        "accepted",
        "accepted",
        "pending",
        "accepted",
        "accepted",
    ]
    assert golden.read_text().splitlines()[4] == json.dumps(ROWS[4]).replace(": ", ":   "), (
        "an untouched row keeps its bytes"
    )
    assert faults == []
    assert {urlsplit(url).hostname for url in asked} == {"127.0.0.1"}


def test_the_page_holds_in_dark_and_on_a_phone(browser, server: ReviewServer) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 780}, color_scheme="dark")
    page.goto(server.url)
    wait(page, "!document.querySelector('#row').hidden")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 29)"


def test_an_edit_that_leaves_no_usable_row_is_refused_with_a_reason(
    browser, server: ReviewServer, golden: Path
) -> None:
    page = browser.new_page()
    page.goto(server.url)
    wait(page, "!document.querySelector('#row').hidden")
    before = golden.read_bytes()
    page.keyboard.press("e")
    page.locator("input[data-place='0']").uncheck()
    page.keyboard.press("Control+Enter")
    wait(page, "document.querySelector('#message').className === 'bad'")
    assert "nothing says what should be found" in page.locator("#message").inner_text()
    assert golden.read_bytes() == before


def request(
    server: ReviewServer, method: str, path: str, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    body = headers.pop("body", None)
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def test_only_the_token_on_this_machine_opens_it(server: ReviewServer, golden: Path) -> None:
    assert server.server_address[0] == "127.0.0.1"
    cookie = f"rageval-review={server.token}"
    before = golden.read_bytes()
    decision = {"body": '{"review": "rejected"}', "Content-Type": "application/json"}
    assert request(server, "GET", "/")[0] == 403
    assert request(server, "GET", "/?token=guess")[0] == 403
    assert request(server, "GET", "/api/rows", Cookie="rageval-review=guess")[0] == 403
    assert request(server, "POST", "/api/rows/q1", **decision)[0] == 403
    assert (
        request(server, "POST", "/api/rows/q1", Cookie=cookie, Origin="http://evil.example", **decision)[0]
        == 403
    )
    assert request(server, "GET", "/", Cookie=cookie, Host="evil.example")[0] == 403
    assert (
        request(server, "POST", "/api/rows/q1", Cookie=cookie, body="x=1", **{"Content-Type": "text/plain"})[
            0
        ]
        == 400
    )
    assert golden.read_bytes() == before
    status, headers, _ = request(server, "GET", f"/?token={server.token}")
    assert status == 303
    assert "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
    status, headers, _ = request(server, "GET", "/", Cookie=cookie)
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert request(server, "GET", "/api/rows/none", Cookie=cookie)[0] == 404
    assert request(server, "GET", "/etc/passwd", Cookie=cookie)[0] == 404


def test_a_file_changed_by_somebody_else_is_not_overwritten(server: ReviewServer, golden: Path) -> None:
    other = golden.read_text().replace("Kept as it was", "Changed in an editor")
    golden.write_text(other)
    decision = {"body": '{"review": "rejected"}', "Content-Type": "application/json"}
    status, _, body = request(
        server, "POST", "/api/rows/q1", Cookie=f"rageval-review={server.token}", **decision
    )
    assert status == 409
    assert b"changed by somebody else" in body
    assert golden.read_text() == other
