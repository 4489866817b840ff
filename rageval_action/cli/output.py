"""Where results go: a file or standard output, one JSON document a command, an error included."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from rageval_action.errors import ConfigError, RagevalError, refused

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD_OUTPUT = "-"


class ErrorReport(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """What is written instead of a result when a command fails."""

    schema_name: Literal["rageval.error/1"] = "rageval.error/1"
    code: str
    message: str
    hint: str
    where: str
    exit_code: int


def write_json(target: str, value: object) -> None:
    """Write `value` as one line of JSON to the file `target`, or to standard output when it is `-`.

    Numbers are unrounded; NaN becomes null.

    Raises:
        ConfigError: `config.output` when the file cannot be written.
    """
    line = msgspec.json.encode(value) + b"\n"
    if target == STANDARD_OUTPUT:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return
    try:
        write_whole(Path(target), line)
    except OSError as error:
        raise ConfigError(
            "config.output", f"cannot write the JSON file: {error.strerror}.", where=target
        ) from error


def write_text(target: str, text: str) -> None:
    """Write to a file, or to standard output for `-`.

    Raises:
        ConfigError: `output.not-written`.
    """
    if target == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    try:
        write_whole(Path(target), text.encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigError("output.not-written", f"{error.strerror}.", where=target) from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file; of one that was not there before nothing stays when the disk is full half-way."""
    fresh = not path.exists()
    try:
        path.write_bytes(data)
    except OSError:
        if fresh:
            path.unlink(missing_ok=True)
        raise


def one_on_stdout(json_target: str, markdown: str) -> None:
    """Refuse to put two documents into one stream.

    Raises:
        ConfigError: `config.output`.
    """
    if json_target == markdown == STANDARD_OUTPUT:
        text = "--json - and --markdown - would both be written to standard output."
        raise ConfigError("config.output", text, hint="Give one of them a file.")


def fail_json(target: str, error: RagevalError) -> None:
    """Write `error` to `target` as `write_json` does."""
    report = ErrorReport(
        code=error.code,
        message=error.message,
        hint=error.hint,
        where=error.where,
        exit_code=error.exit_code,
    )
    write_json(target, report)


@contextlib.contextmanager
def errors_as_json(target: str) -> Iterator[None]:
    """Write an error raised inside to `target` before it goes on; an empty target writes nothing."""
    try:
        try:
            yield
        except BrokenPipeError:
            raise
        except (OSError, MemoryError) as error:
            raise refused(error) from error
    except RagevalError as error:
        # A target that cannot be written must not hide what went wrong first.
        with contextlib.suppress(ConfigError):
            if target:
                fail_json(target, error)
        raise
