"""Untrusted text at its borders: Markdown, HTML, links, workflow commands.

Query texts, ids, paths, branch names and error messages come from a pull request, so every one of them
passes through a function of this module before it is put into something that a machine interprets:

- a character that the *renderer* would interpret becomes a numeric character reference, which CommonMark
  (§2.5) always reads as literal text;
- what GitHub interprets *after* rendering, in the text of the HTML (mentions, issue references, bare
  addresses, emoji codes), is broken with a zero-width space: a character reference is gone by then.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

ZERO_WIDTH_SPACE = "\u200b"
ELLIPSIS = "…"
REPLACEMENT = "\ufffd"

_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_CONTROL = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
_MARKUP = re.compile(r"[&<>\"'`*_~\[\]()!|\\#:$={}+^-]")
_MENTION = re.compile(r"@(?=\S)")
_REFERENCE = re.compile(r"(#|\bGH-)(?=\d)", re.IGNORECASE)
_SCHEME = re.compile(r":(?=//)")
_WWW = re.compile(r"\bwww(?=\.)", re.IGNORECASE)
_EMOJI_CODE = re.compile(r":(?=[\w+-]+:)")
_LIST_NUMBER = re.compile(r"^(\d+)\.")
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"


def visible(text: str) -> str:
    """`text` on one line, without what hides or reorders it.

    Runs of control characters and blanks become one space; bidirectional controls, invisible format
    characters, tag characters and lone surrogates become U+FFFD, so that a reader sees that something was
    there. Zero-width joiners stay: Persian, Indic scripts and emoji need them.
    """
    return _INVISIBLE.sub(REPLACEMENT, _CONTROL.sub(" ", text)).strip(" ")


def cap(text: str, limit: int) -> str:
    """`text` cut to at most `limit` code points, the ellipsis included, never inside a combined character."""
    if len(text) <= limit:
        return text
    end = max(limit - 1, 0)
    while end > 0 and (_joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return text[:end] + ELLIPSIS if limit > 0 else ""


def cap_bytes(text: str, limit: int) -> str:
    """`text` cut to at most `limit` bytes of UTF-8, never inside a code point."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    return data[: max(limit, 0)].decode("utf-8", "ignore")


def markdown(text: str, limit: int = 300) -> str:
    """Untrusted `text` as literal inline text of GitHub-flavoured Markdown, safe in a table cell.

    Nothing in it can become markup, HTML, a table border, a link, a mention, a reference or an emoji.

    Args:
        text: anything.
        limit: code points kept; escaping comes after the cut, so a character reference is never cut.
    """
    shown = cap(visible(text), limit)
    shown = _MENTION.sub("@" + ZERO_WIDTH_SPACE, shown)
    shown = _REFERENCE.sub(r"\1" + ZERO_WIDTH_SPACE, shown)
    shown = _SCHEME.sub(":" + ZERO_WIDTH_SPACE, shown)
    shown = _WWW.sub(lambda found: found[0] + ZERO_WIDTH_SPACE, shown)
    shown = _EMOJI_CODE.sub(":" + ZERO_WIDTH_SPACE, shown)
    shown = _MARKUP.sub(lambda found: f"&#{ord(found[0])};", shown)
    return _LIST_NUMBER.sub(r"\1&#46;", shown)


def markdown_code(text: str, limit: int = 120) -> str:
    """Untrusted `text` (an id, a path) in a code face.

    A code span is of no use here: its content cannot be escaped and one backtick in the text ends it.
    """
    return f"<code>{markdown(text, limit)}</code>"


def markdown_link(label: str, url: str) -> str:
    """A link whose label is already escaped Markdown; the bare label when there is no address."""
    return f"[{label}]({url})" if url else label


def html(text: str, limit: int = 2000) -> str:
    """Untrusted `text` for an HTML text node or a quoted attribute."""
    from html import escape  # a thousand entities that nobody needs who only prints to a terminal

    return escape(cap(visible(text), limit), quote=True)


def blob_url(server_url: str, repository: str, sha: str, path: str, line: int = 0) -> str:
    """Address of `path` (and line, from 1) at a commit; empty when it would not point into that commit.

    A path comes from a pull request: `..`, an absolute path or an empty segment would let it climb out.
    """
    segments = path.split("/")
    if not (server_url and repository and re.fullmatch(r"[0-9a-f]{40,64}", sha)):
        return ""
    if any(segment in ("", ".", "..") for segment in segments):
        return ""
    anchor = f"#L{line}" if line > 0 else ""
    plain = "?plain=1" if path.lower().endswith((".md", ".markdown")) and anchor else ""
    encoded = quote(path.encode("utf-8", "replace"), safe="/")
    return f"{server_url.rstrip('/')}/{quote(repository, safe='/')}/blob/{sha}/{encoded}{plain}{anchor}"


def command_data(text: str) -> str:
    """`text` as the data of a workflow command (`::error::DATA`), as the runner's parser reads it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str) -> str:
    """`text` as a property of a workflow command (`::error file=VALUE::`)."""
    return command_data(text).replace(":", "%3A").replace(",", "%2C")


def log_line(text: str, limit: int = 2000) -> str:
    """Untrusted `text` as one log line that the runner cannot take for a command.

    The runner reads `::name` at the start of a line and the older `##[name]` anywhere in one.
    """
    shown = cap(visible(text), limit).replace("##[", "#" + ZERO_WIDTH_SPACE + "#[")
    return shown.replace("::", ":" + ZERO_WIDTH_SPACE + ":", 1) if shown.startswith("::") else shown


def log_text(text: str) -> str:
    """Untrusted `text` of several lines for a terminal or a log: each as `log_line`, its indentation kept."""
    return "\n".join(
        " " * (len(line) - len(line.lstrip(" "))) + log_line(line)
        for line in text.replace("\r", " ").split("\n")
    )


def _joins(character: str) -> bool:
    """True when `character` belongs to the one before it."""
    return (
        character in _JOINERS
        or unicodedata.combining(character) != 0
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
