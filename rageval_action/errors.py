"""Errors that a user can act on. Everything else is our bug and keeps its traceback (exit code 70)."""

from __future__ import annotations

import errno

EXIT_FAIL = 1
EXIT_BAD_INPUT = 2
EXIT_CANNOT_MEASURE = 3
EXIT_PUBLISH = 4
EXIT_BUG = 70


class RagevalError(Exception):
    """A fault in what the user gave or in the world around us, never in our own code.

    Attributes:
        code: stable, dotted, for machines (`golden.duplicate-id`).
        message: what is wrong, one sentence.
        hint: what to do about it; empty when the message says it.
        where: file and line, row, option or address; empty when there is no place to point at.
        exit_code: what the process ends with.
    """

    exit_code = EXIT_BAD_INPUT

    def __init__(self, code: str, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = written(message)
        self.hint = written(hint)
        self.where = written(where)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        way_out = f" {self.hint}" if self.hint else ""
        return f"{place}{self.message}{way_out}"


def written(text: str) -> str:
    """`text` without the lone surrogates that stand for the bytes of a file name that is not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class ConfigError(RagevalError):
    """An option, `rageval.yml` or the policy is wrong."""


class GoldenError(RagevalError):
    """The golden set cannot be used."""


class SnapshotError(RagevalError):
    """The index snapshot cannot be used."""


class RecordError(RagevalError):
    """A run record cannot be read or written."""


class CannotMeasureError(RagevalError):
    """Nothing is wrong with the files, but no honest number can be had (a model is missing, all queries failed)."""

    exit_code = EXIT_CANNOT_MEASURE


_A_PATH = (
    errno.ENAMETOOLONG,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.EROFS,
)
"""What is wrong with a path that somebody gave; anything else is wrong with the machine."""


def refused(error: OSError | MemoryError) -> RagevalError:
    """What the operating system did not do, where nobody foresaw it: a name too long, a full disk, no more memory."""
    if isinstance(error, MemoryError):
        text = "there is not enough memory for this."
        return CannotMeasureError("system.out-of-memory", text, hint="Use a machine with more, or less data.")
    kind = ConfigError if error.errno in _A_PATH else CannotMeasureError
    where = error.filename if isinstance(error.filename, str) else ""
    return kind("system.refused", f"the system refused: {error.strerror or error}.", where=where)
