"""GitHub-flavoured Markdown as HTML, and what is in it: cmark-gfm is the parser that GitHub's own grew from."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

OURS = {
    "a", "b", "blockquote", "br", "code", "details", "em", "h4", "hr", "li", "p", "pre", "strong", "sub", "summary",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
"""Elements that our templates may produce."""

VOID = {"br", "hr"}


class Page(HTMLParser):
    """A rendered page: elements counted, cells by row, links, text; `faults` are unbalanced or foreign tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.rows: list[int] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.faults: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        if tag not in OURS:
            self.faults.append(f"<{tag}>")
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1
        if tag == "a":
            self.links.append(dict(attrs)["href"])
        for name, _ in attrs:
            if name not in ("href", "align", "lang"):
                self.faults.append(f"{tag} {name}=")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        self.faults.append("comment")

    def close(self):
        super().close()
        self.faults += [f"<{tag}> is not closed" for tag in self._open]


def page(markdown: str) -> Page:
    """Render and take apart; raw HTML stays, as on GitHub before its sanitiser."""
    found = Page()
    found.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))
    found.close()
    return found
