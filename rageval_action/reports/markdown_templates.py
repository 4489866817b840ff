"""The Markdown environment: whatever a template prints is escaped unless it was made by a filter of this module."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rageval_action.core.measuring.measures import WRITTEN, is_measure
from rageval_action.core.wording import escape, lists
from rageval_action.reports.links import Links
from rageval_action.reports.view_types import Fact, QueryLine

if TYPE_CHECKING:
    import jinja2

LIMIT = 300
"""Code points of an outside text that is printed without a filter of its own."""

_NAME = re.compile(
    rf"(?<![\w@:-])({WRITTEN}"
    r"|(?:tag|type|lang|source|principal):\w(?:[\w-]{0,58}\w)?"
    r")(?![\w@:-])"
)
"""Measures and slices inside a sentence: letters, digits and hyphens only, so that they cannot leave a code span."""

_OURS = re.compile(r"(?:(?!www\.)[^\W_]|[ ,.;:()\[\]+=?−%→–▼▲-]){0,300}")
"""What our own numbers and phrases are made of; none of it is markup or a link where they stand."""

_QUOTED = re.compile(r"`([^`]+)`")
"""What our notices put between code marks, an id or a path: it is escaped inside of a code element."""


class Markdown(Markup):
    """Text that is Markdown already; adding anything else to it escapes that as Markdown."""

    __slots__ = ()

    @classmethod
    def escape(cls, s: Any, /) -> Markdown:
        """Escape `s` unless it is Markdown."""
        return s if isinstance(s, cls) else cls(escape.markdown(str(s), LIMIT))


def cell(text: object, limit: int = LIMIT) -> Markdown:
    """Outside text as literal inline Markdown."""
    return text if isinstance(text, Markdown) else Markdown(escape.markdown(str(text), limit))


def code(text: object, limit: int = 120) -> Markdown:
    """Outside text (an id, a slice) in a code face."""
    return Markdown(escape.markdown_code(str(text), limit))


def codes(names: Sequence[str], most: int) -> Markdown:
    """Ids in a code face, those beyond `most` counted."""
    shown = ", ".join(escape.markdown_code(name, 60) for name in names[:most])
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return Markdown(shown + more)


def measure(name: object, mark: str = "`") -> Markdown:
    """A measure's name as code (inside of HTML, where `mark` is empty, as it is); anything else is escaped."""
    text = str(name)
    return Markdown(f"{mark}{text}{mark}") if is_measure(text) else code(text)


def prose(text: object, limit: int = LIMIT) -> Markdown:
    """A sentence of ours with outside words in it: measures and what is quoted become code, the rest is escaped."""
    quoted = _QUOTED.split(escape.cap(escape.visible(str(text)), limit))
    return Markdown(
        "".join(code(piece, limit) if place % 2 else _plain(piece) for place, piece in enumerate(quoted))
    )


def _plain(text: str) -> str:
    pieces = _NAME.split(text)
    return "".join(f"`{piece}`" if place % 2 else _spaced(piece) for place, piece in enumerate(pieces))


def _spaced(piece: str) -> str:
    """Escape a piece of a sentence, the blanks at its ends kept."""
    inner = escape.markdown(piece, len(piece))
    if not inner:
        return " " if piece else ""
    return f"{' ' * (piece[0] == ' ')}{inner}{' ' * (piece[-1] == ' ')}"


def ours(text: object) -> Markdown:
    """A number or phrase of the view's own making as it is; escaped all the same should it hold anything else."""
    plain = str(text)
    return Markdown(plain) if _OURS.fullmatch(plain) else cell(plain)


def words(names: Sequence[str]) -> Markdown:
    """Names separated by commas."""
    return Markdown(", ".join(escape.markdown(name, 80) for name in names))


def count_of(number: int, one: str, many: str) -> str:
    """`1 query`, `2,345 queries`."""
    return lists.plural(number, one, many)


def commas(number: int) -> str:
    """`2,345`."""
    return f"{number:,}"


def states(gates: Sequence[Fact]) -> str:
    """`3 fail, 1 inconclusive, 3 pass`."""
    return ", ".join(f"{count} {name}" for name, count in Counter(gate.name for gate in gates).items())


@cache
def environment() -> jinja2.Environment:
    """Where our templates run: everything they print is escaped, and of the built-in filters only `length` is there.

    The others join or rewrite text, which would lose the escaping.
    """
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("rageval_action.reports", "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters = {
        "length": len,
        "cell": cell,
        "code": code,
        "codes": codes,
        "commas": commas,
        "commit": _commit,
        "count_of": count_of,
        "measure": measure,
        "ours": ours,
        "prose": prose,
        "query_link": _query_link,
        "source": Markdown,
        "states": states,
        "words": words,
    }
    return made


def _finalize(value: object) -> object:
    return value if hasattr(value, "__html__") else cell(value)


def _query_link(row: QueryLine, links: Links, path: str) -> Markdown:
    """The query's id, linked to its line in the golden file where that can be seen."""
    return Markdown(escape.markdown_link(escape.markdown_code(row.id, 48), links.line(path, row.line)))


def _commit(sha: str, links: Links) -> Markdown:
    """The short form of a commit, linked where it can be seen."""
    return Markdown(escape.markdown_link(escape.markdown_code(sha[:7]), links.commit(sha)))
