"""HTML in one file that works from an archive, fetches nothing and runs no text from outside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

import msgspec

from rageval_action.core.wording import escape

SCRIPTS = {
    "d3": "vendor/d3.min.js",
    "plot": "vendor/plot.min.js",
    "charts": "charts.js",
    "table": "table.js",
    "report": "report.js",
    "history": "history.js",
}
"""Those below `vendor` are Mike Bostock's D3 and Observable's Plot (both ISC)."""

LICENCES = ("vendor/d3.LICENSE", "vendor/plot.LICENSE")


def document(body: str, scripts: Sequence[str], data: object, *, title: str, footer: str) -> str:
    """A page made of an asset that is its body, scripts that run in this order, and data that they read.

    Its content security policy lets only the scripts that are in it run, by their hashes, and lets nothing be fetched.
    """
    code = {name: _asset(SCRIPTS[name]).replace("</script", "<\\/script") for name in scripts}
    licences = "\n".join(_asset(path) for path in LICENCES)
    code["d3"] = f"/* {licences} */\n{code['d3']}"
    named = {"title": escape.html(title, 200), "footer": escape.html(footer, 400)}
    parts = {
        **named,
        "csp": _policy(list(code.values())),
        "css": _asset("report.css"),
        "body": _filled(_asset(body), named),
        "data": _data(data),
        "scripts": "\n".join(f"<script>{script}</script>" for script in code.values()),
    }
    return _filled(_asset("shell.html"), parts)


def _asset(path: str) -> str:
    return (resources.files("rageval_action.reports") / "assets" / path).read_text(encoding="utf-8")


def _data(data: object) -> str:
    """JSON that no HTML parser can find anything in: `<` is spelt out, and so are the two line ends of JavaScript."""
    text = msgspec.json.encode(data).decode()
    for char in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _policy(scripts: Sequence[str]) -> str:
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
