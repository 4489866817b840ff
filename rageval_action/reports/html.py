"""The HTML report: one file that works from an archive, fetches nothing and runs no text from outside."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

import msgspec

from rageval_action.core import escape
from rageval_action.reports.page import Page

SCRIPTS = {
    "d3": "vendor/d3.min.js",
    "plot": "vendor/plot.min.js",
    "charts": "charts.js",
    "table": "table.js",
    "report": "report.js",
}
"""In the order in which they run. Those below `vendor` are Mike Bostock's D3 and Observable's Plot (both ISC)."""

LICENCES = ("vendor/d3.LICENSE", "vendor/plot.LICENSE")


def html(page: Page) -> str:
    """The whole report as one document.

    Its content security policy lets only the scripts that are in it run, by their hashes, and lets nothing be fetched.
    """
    scripts = {name: _asset(path).replace("</script", "<\\/script") for name, path in SCRIPTS.items()}
    licences = "\n".join(_asset(path) for path in LICENCES)
    scripts["d3"] = f"/* {licences} */\n{scripts['d3']}"
    parts = {
        **scripts,
        "csp": _policy(list(scripts.values())),
        "css": _asset("report.css"),
        "title": escape.html(f"{page.view.title} · retrieval report", 200),
        "footer": escape.html(page.view.footer, 400),
        "data": _data(page),
    }
    return _filled(_asset("report.html"), parts)


def _asset(path: str) -> str:
    return (resources.files("rageval_action.reports") / "assets" / path).read_text(encoding="utf-8")


def _data(page: Page) -> str:
    """JSON that no HTML parser can find anything in: `<` is spelt out, and so are the two line ends of JavaScript."""
    text = msgspec.json.encode(page).decode()
    for char in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _policy(scripts: list[str]) -> str:
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    rules = (
        "default-src 'none'",
        f"script-src {hashes}",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _filled(template: str, parts: dict[str, str]) -> str:
    """Put the parts into their places in one pass, so that nothing inside a part is taken for a place."""
    pieces = template.split("{{")
    done = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        done += (parts[name], rest)
    return "".join(done)
