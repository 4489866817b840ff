"""YAML from people we do not know: plain values only, each key once, no alias bombs, every fault with its line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from rageval_action.core.wording.field_checks import shown

MOST_VALUES = 100_000
"""Values that one document may hold, its aliases written out."""

_UNREADABLE = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError)
"""What the YAML library raises, beside its own errors, for values that are not what their form or tag says."""

_READ_BY_FORM = ("timestamp", "int", "float", "bool")
"""Kinds of YAML values that look like one and may be none (`2024-13-45`, `!!bool maybe`)."""


class YamlError(Exception):
    """A text that is not YAML, or not YAML that we take.

    Attributes:
        problem: what is wrong, without a full stop.
        line: from 1; 0 when it is not known.
    """

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line

    def place(self, path: str) -> str:
        """`path:line`, or the path alone."""
        return f"{path}:{self.line}" if self.line else path


class YamlDocument:
    """The one document of a text as a tree whose parts are read one by one.

    Attributes:
        root: the YAML library's node; None for an empty text.

    Raises:
        YamlError: the text is not YAML, or holds several documents.
    """

    def __init__(self, data: bytes) -> None:
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        with _explained():
            self._loader = loader(data)
            self.root: Any = self._loader.get_single_node()
        self._sizes: dict[int, int] = {}

    def value(self, node: Any, *, as_written: bool = False) -> Any:
        """A node as plain values.

        Args:
            node: of this document.
            as_written: only what JSON would read as a number, true or false is one; `010`, `1_000`, `no` and a date
                stay texts, so that an id is what stands in the file.

        Raises:
            YamlError: a key that occurs twice, too many values, a tag that is not YAML's own, or a value that is
                not what its form or tag says.
        """
        if node is None:
            return None
        with _explained():
            _refuse_repeats(node)
            if _written_out(node, self._sizes) > MOST_VALUES:
                raise YamlError("its aliases stand for too many values")
            self._refuse_unreadable(node)
            if as_written:
                self._loader.constructed_objects.clear()
                _keep_texts(node)
            return self._loader.construct_document(node)

    def _refuse_unreadable(self, root: Any) -> None:
        """The library falls over a value that is not what it looks like, and does not say where it stands."""
        for node in _nodes(root):
            kind = node.tag.removeprefix("tag:yaml.org,2002:")
            if node.id != "scalar" or kind not in _READ_BY_FORM:
                continue
            try:
                self._loader.construct_object(node)
            except _UNREADABLE:
                what = "date of the calendar" if kind == "timestamp" else kind
                raise YamlError(f"{shown(node.value)} is no {what}", line_of(node)) from None


def _keep_texts(root: Any) -> None:
    """Make texts of the plain scalars that YAML would read as another spelling of a number, a word or a date."""
    for node in _nodes(root):
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if node.id == "scalar" and kind in _READ_BY_FORM and not _AS_JSON[kind].fullmatch(node.value):
            node.tag = "tag:yaml.org,2002:str"


_AS_JSON = {
    "int": re.compile(r"0|-?[1-9][0-9]*"),
    "float": re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+"),
    "bool": re.compile("true|false"),
    "timestamp": re.compile("(?!)"),
}
"""The spellings that are kept as values, by the kind that YAML sees in them."""


def line_of(node: Any) -> int:
    """The line on which a node starts, from 1."""
    return int(node.start_mark.line) + 1


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    import yaml

    try:
        yield
    except (yaml.YAMLError, *_UNREADABLE) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "not readable"
        raise YamlError(f"not valid YAML: {problem}", mark.line + 1 if mark else 0) from error


def _written_out(node: Any, known: dict[int, int]) -> int:
    """How many values a node holds when each alias is put where it stands; one that holds itself has no end."""
    if node.id == "scalar":
        return 1
    if id(node) not in known:
        known[id(node)] = MOST_VALUES + 1
        known[id(node)] = 1 + sum(_written_out(part, known) for part in _parts(node))
    return known[id(node)]


def _parts(node: Any) -> Iterator[Any]:
    """What a sequence or mapping holds, keys and values alike."""
    for entry in node.value:
        yield from entry if isinstance(entry, tuple) else (entry,)


def _nodes(root: Any) -> Iterator[Any]:
    """Every node below and with `root`, once."""
    left, seen = [root], set()
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if node.id != "scalar":
            left += _parts(node)


def _refuse_repeats(root: Any) -> None:
    """YAML libraries keep the last of two equal keys: a gate would vanish without a word."""
    for node in _nodes(root):
        if node.id != "mapping":
            continue
        keys: set[object] = set()
        for key, _ in node.value:
            if key.id == "scalar" and key.value in keys:
                raise YamlError(f'"{key.value}" occurs twice', line_of(key))
            keys.add(key.value if key.id == "scalar" else id(key))
