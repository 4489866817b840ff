"""Collects what is wrong with a file, so that its owner mends it in one go and not line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rageval_action.errors import RagevalError

SHOWN = 20
"""Problems spelled out in a message; the rest is counted."""


class Problems:
    """Problems of one golden set, snapshot or corpus, in the order they were met.

    Args:
        error: what `raise_if_any` raises.
    """

    def __init__(self, error: type[RagevalError]) -> None:
        self._error = error
        self._first: list[tuple[str, str, str]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, code: str, where: str, text: str) -> None:
        """Note one problem: `where` is `file:line`, `file row N` or a file; `text` is a sentence with the way out."""
        self._count += 1
        if len(self._first) < SHOWN:
            self._first.append((code, where, text))

    def add_error(self, error: RagevalError) -> None:
        """Note what another function raised."""
        self.add(error.code, error.where, f"{error.message} {error.hint}".strip())

    def extend(self, others: Problems) -> None:
        """Note all problems of `others` after these."""
        for problem in others._first:
            self.add(*problem)
        self._count += others._count - len(others._first)

    def raise_if_any(self) -> None:
        """Raise when a problem was noted.

        Raises:
            RagevalError: of the class given, with the code and place of the first problem and up to 20 problems in
                its message.
        """
        if not self._first:
            return
        code, where, text = self._first[0]
        lines = [text, *(f"{place}: {more}" for _, place, more in self._first[1:])]
        left = self._count - len(self._first)
        if left:
            lines.append(f"… and {left} more problems ({self._count} in all).")
        raise self._error(code, "\n".join(lines), where=where)
