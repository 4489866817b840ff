"""Collects what is wrong with a file, so that a user mends it in one go and not line by line."""

from __future__ import annotations

from typing import NoReturn

from rageval_action.errors import GoldenError

SHOWN = 20
"""Problems spelled out in a message; the rest is counted."""


class Problems:
    """Problems of one golden set, in the order they were met."""

    def __init__(self) -> None:
        self._first: list[tuple[str, str, str]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, code: str, where: str, text: str) -> None:
        """Note one problem: `where` is `file:line`, `text` says what is wrong and, if unclear, what to do."""
        self._count += 1
        if len(self._first) < SHOWN:
            self._first.append((code, where, text))

    def raise_if_any(self) -> None:
        """Raise when a problem was noted.

        Raises:
            GoldenError: with the code and place of the first problem and up to 20 problems in its message.
        """
        if self._first:
            self._raise()

    def _raise(self) -> NoReturn:
        code, where, text = self._first[0]
        lines = [text, *(f"{place}: {more}" for _, place, more in self._first[1:])]
        if self._count > SHOWN:
            lines.append(f"… and {self._count - SHOWN} more problems ({self._count} in all).")
        raise GoldenError(code, "\n".join(lines), where=where)
