"""The runner's file and log commands: outputs, summary, annotations, masks, a fence for untrusted text.

Sources: the runner's own parsers (`FileCommandManager`, `ActionCommand`, `ExecutionContext`) and GitHub's
pages on workflow commands.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TextIO, TypeAlias

from msgspec import Struct

from rageval_action.core.wording import escape
from rageval_action.core.wording.limits import SENT_SUMMARY_BYTES

ANNOTATIONS_PER_LEVEL = 10
ANNOTATION_CHARACTERS = 4096

Level: TypeAlias = Literal["notice", "warning", "error"]

_CUT_NOTE = "\n\n*Cut here to fit GitHub's limit of 1 MiB for a summary; the report holds all of it.*\n"
_OUTPUT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Place(Struct, frozen=True):
    """Where an annotation points: a file of the checkout and a line from 1; 0 = the whole file."""

    file: str
    line: int = 0


def write_outputs(path: Path, outputs: Mapping[str, str]) -> None:
    """Append `outputs` to the runner's output file.

    Every value goes between a delimiter drawn for it alone, so that no value can end its own block and start
    another output. The readers of this format differ on CR and NUL, so these become spaces.

    Raises:
        OSError: the file cannot be written.
        ValueError: a name is not a legal output name, or a value holds the delimiter just drawn.
    """
    blocks = []
    for name, value in outputs.items():
        if not _OUTPUT_NAME.fullmatch(name):
            raise ValueError(f"not an output name: {name!r}")
        delimiter = f"rageval_{uuid.uuid4().hex}"
        if delimiter in value:
            raise ValueError("a value holds the delimiter")
        clean = value.replace("\r\n", "\n").replace("\r", " ").replace("\0", " ")
        blocks.append(f"{name}<<{delimiter}\n{clean}\n{delimiter}\n")
    with path.open("a", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write("".join(blocks))


def write_summary(path: Path, markdown: str) -> bool:
    """Append `markdown` to the step's summary, cut on a line to keep the file within `SENT_SUMMARY_BYTES`.

    Returns:
        True when all of it was written.

    Raises:
        OSError: the file cannot be written.
    """
    used = path.stat().st_size if path.exists() else 0
    room = SENT_SUMMARY_BYTES - used
    text = markdown if markdown.endswith("\n") else markdown + "\n"
    whole = len(text.encode("utf-8", "replace")) <= room
    if not whole:
        text = fit_lines(text, room - len(_CUT_NOTE)) + _CUT_NOTE if room > len(_CUT_NOTE) else ""
    with path.open("a", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(text)
    return whole


def fit_lines(text: str, limit: int) -> str:
    """The longest run of whole lines from the start of `text` that takes at most `limit` bytes of UTF-8."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    end = data.rfind(b"\n", 0, max(limit, 0))
    return data[: end + 1].decode("utf-8") if end >= 0 else ""


class Log:
    """The step's log.

    Everything is printed inside a fence that only this object can open (`::stop-commands::<random>`), so
    that no text, ours or a child's on the same stream, is taken for a command. Annotations and masks leave
    it for one line.

    Args:
        stream: standard output.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._fence = ""
        self._annotated: Counter[str] = Counter()

    @contextmanager
    def fenced(self) -> Iterator[None]:
        """Treat all that is printed inside as text; the fence is closed whatever happens."""
        self._open()
        try:
            yield
        finally:
            self._close()

    def line(self, text: str) -> None:
        """Print `text`, lines kept, nothing in it a command even without the fence."""
        for part in text.splitlines() or [""]:
            self._stream.write(escape.log_line(part) + "\n")
        self._stream.flush()

    def annotate(self, level: Level, message: str, *, title: str = "", place: Place | None = None) -> None:
        """Print `message` and put it on the run's page; past ten of a level the runner drops it: log it."""
        self._annotated[level] += 1
        if self._annotated[level] > ANNOTATIONS_PER_LEVEL:
            self.line(f"{level}: {message}")
            return
        properties = []
        if place and place.file:
            properties.append(f"file={escape.command_property(escape.visible(place.file))}")
            if place.line > 0:
                properties.append(f"line={place.line}")
        if title:
            properties.append(f"title={escape.command_property(escape.visible(title))}")
        lines = "\n".join(map(escape.visible, message.split("\n")))
        data = escape.command_data(escape.cap(lines, ANNOTATION_CHARACTERS))
        self._command(f"::{level} {','.join(properties)}".rstrip() + f"::{data}")

    def mask(self, value: str) -> None:
        """Have the runner replace `value` by `***` from here on, line by line as it matches."""
        for part in value.splitlines():
            if part.strip():
                self._command(f"::add-mask::{escape.command_data(part)}")

    def _command(self, text: str) -> None:
        fenced = bool(self._fence)
        if fenced:
            self._close()
        self._stream.write(text + "\n")
        self._stream.flush()
        if fenced:
            self._open()

    def _open(self) -> None:
        self._fence = uuid.uuid4().hex
        self._stream.write(f"::stop-commands::{self._fence}\n")
        self._stream.flush()

    def _close(self) -> None:
        self._stream.write(f"::{self._fence}::\n")
        self._stream.flush()
        self._fence = ""
