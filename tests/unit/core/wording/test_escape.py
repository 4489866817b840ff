"""Hostile text stays text, judged by a real GitHub-flavoured Markdown renderer where one is installed."""

from __future__ import annotations

import html as std_html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_action.core.wording import escape

HOSTILE = [
    "a|b",
    "a\nb\r\n\r\n# heading",
    "`code` ``` fence",
    "<img src=x onerror=alert(1)>",
    "</td></tr></table><script>",
    "<!-- rageval:main -->",
    "**bold** _it_ ~~no~~ ![x](https://evil.example/p.png) [a](javascript:x)",
    "@octocat @org/team a@example.com",
    "see #123 and org/repo#7 GH-9",
    "https://evil.example www.evil.example ftp://evil.example",
    "&lt;b&gt; &amp; &#64;octocat",
    ":tada: :+1:",
    "$x^2$ $$y$$",
    "1. list",
    "- item",
    "    indented",
    "\u202egnp.exe\u2066",
    "[^1] [!NOTE] > quote",
    "\\| \\` \\<b>",
    "\x00\x1b[31m",
    "x" * 5000,
]


def render(markdown: str) -> str:
    cmarkgfm = pytest.importorskip("cmarkgfm")
    options = cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE | cmarkgfm.cmark.Options.CMARK_OPT_FOOTNOTES
    return str(cmarkgfm.github_flavored_markdown_to_html(markdown, options))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.seen.append("comment")


def parse(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    return tags


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("function", [escape.markdown, escape.markdown_code])
def test_a_table_keeps_its_shape(text: str, function: object) -> None:
    cell = function(text)  # type: ignore[operator]
    tags = parse(render(f"| a | b |\n|---|---|\n| {cell} | end |\n"))
    assert [tag for tag in tags.seen if tag != "code"] == [
        "table",
        "thead",
        "tr",
        "th",
        "th",
        "tbody",
        "tr",
        "td",
        "td",
    ]
    shown = "".join(tags.text)
    assert "end" in shown


@given(st.text(max_size=80))
def test_any_text_is_one_paragraph_of_itself(text: str) -> None:
    tags = parse(render("x " + escape.markdown(text)))
    assert tags.seen == ["p"]
    shown = "".join(tags.text).replace("\u200b", "")
    assert shown.split() == ("x " + escape.visible(text)).split()


@pytest.mark.parametrize("text", [*HOSTILE, "10. list", "1) list", "+ item", "---", "==="])
def test_a_text_at_the_start_of_a_line_is_a_paragraph(text: str) -> None:
    assert set(parse(render(escape.markdown(text))).seen) <= {"p"}


@given(st.text(alphabet="#-*+1.)>=`~|[]!<& \tx", max_size=12))
def test_nothing_starts_a_block(text: str) -> None:
    assert set(parse(render(escape.markdown(text))).seen) <= {"p"}


def test_what_github_reads_after_rendering_is_broken() -> None:
    shown = "".join(parse(render(escape.markdown(" ".join(HOSTILE[:-1]), 10_000))).text)
    assert "&#64;octocat" in shown.replace("\u200b", "")  # stays literal, not decoded
    assert not re.search(r"@\w", shown)
    assert not re.search(r"#\d", shown.replace("&#64;", ""))
    assert not re.search(r"GH-\d", shown)
    assert "://" not in shown
    assert "www." not in shown
    assert ":tada:" not in shown
    assert ":+1:" not in shown


def test_bidi_and_invisible_characters_show() -> None:
    assert (
        escape.visible("a\u202eb\u2066c\ufeffd\U000e0041e\ud800f") == "a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf"
    )
    assert escape.visible("می\u200cخواهم 👩\u200d👩") == "می\u200cخواهم 👩\u200d👩"


@given(st.text(max_size=60), st.integers(0, 30))
def test_caps_hold(text: str, limit: int) -> None:
    assert len(escape.cap(text, limit)) <= max(limit, 0) or len(text) <= limit
    cut = escape.cap_bytes(text, limit)
    assert len(cut.encode("utf-8", "replace")) <= limit
    assert text.startswith(cut)


def test_a_text_is_cut_before_it_is_escaped() -> None:
    assert std_html.unescape(escape.markdown("<" * 900)) == "<" * 299 + "…"
    assert std_html.unescape(escape.html("<" * 9000)) == "<" * 1999 + "…"
    assert escape.log_line("字" * 9000) == "字" * 1999 + "…"


def test_a_cut_never_splits_what_belongs_together() -> None:
    assert escape.cap("ab", 2) == "ab"
    assert escape.cap("abc", 2) == "a…"
    assert escape.cap("abc", 0) == ""
    assert escape.cap("ae\u0301x", 3) == "a…"
    assert escape.cap("a👩\u200d👩bcd", 4) == "a…"
    assert escape.cap("a👍🏽bcd", 3) == "a…"
    assert escape.cap_bytes("日本", 4) == "日"


def test_html_is_safe_in_text_and_attribute() -> None:
    assert escape.html("\"'<b>&") == "&quot;&#x27;&lt;b&gt;&amp;"


SHA = "0123456789abcdef0123456789abcdef01234567"


def test_links_stay_inside_their_commit() -> None:
    url = escape.blob_url("https://github.com/", "o/r", SHA, "a b/q(1)#é.jsonl", 7)
    assert url == f"https://github.com/o/r/blob/{SHA}/a%20b/q%281%29%23%C3%A9.jsonl#L7"
    assert escape.blob_url("https://h", "o/r", SHA, "g.md", 2).endswith("/g.md?plain=1#L2")
    assert escape.blob_url("https://h", "o/r", SHA, "g.md").endswith("/g.md")
    for path in ("../x", "/etc/passwd", "a//b", "a/./b", ""):
        assert escape.blob_url("https://h", "o/r", SHA, path) == ""
    assert escape.blob_url("https://h", "o/r", "main", "x") == ""
    assert escape.blob_url("", "o/r", SHA, "x") == ""
    assert escape.markdown_link("x", "") == "x"
    assert escape.markdown_link("x", "https://h/") == "[x](https://h/)"
    label = escape.markdown("](https://evil) @me")
    assert escape.markdown_link(label, "https://h/").count("](") == 1


def test_workflow_commands_are_data() -> None:
    assert escape.command_data("50%\r\n::set-env") == "50%25%0D%0A::set-env"
    assert escape.command_property("a:b,c\n%") == "a%3Ab%2Cc%0A%25"


@pytest.mark.parametrize(
    "text", ["::add-mask::x", "  ::error::x", "a\n::stop-commands::t", "x ##[add-mask]y", "##[error]"]
)
def test_a_log_line_is_no_command(text: str) -> None:
    line = escape.log_line(text)
    assert "\n" not in line
    assert not line.lstrip().startswith("::")
    assert "##[" not in line


def test_a_text_keeps_its_lines_and_indentation() -> None:
    told = escape.log_text("rows:\n  a\x1b[2J\n::error::b\r::error::c")
    assert told == "rows:\n  a [2J\n:\u200b:error::b ::error::c"
