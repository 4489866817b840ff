"""Errors that a user can act on. Everything else is our bug and keeps its traceback (exit code 70)."""

from __future__ import annotations

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
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        way_out = f" {self.hint}" if self.hint else ""
        return f"{place}{self.message}{way_out}"


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


class PublishError(RagevalError):
    """A publishing step that the user marked as required failed."""

    exit_code = EXIT_PUBLISH
