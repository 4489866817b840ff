"""Collects what is wrong with a snapshot, so that its owner mends it in one go."""

from __future__ import annotations

from rageval_action.errors import SnapshotError

SHOWN = 20
"""Problems spelled out in a message; the rest is counted."""

LFS_HINT = "Fetch it with `git lfs pull`; in a workflow give actions/checkout `lfs: true`."


class Problems:
    """Problems of one snapshot or corpus, in the order they were met."""

    def __init__(self) -> None:
        self._first: list[tuple[str, str, str]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, code: str, where: str, text: str) -> None:
        """Note one problem: `where` is `file:line`, `file row N` or a file; `text` is a sentence with the way out."""
        self._count += 1
        if len(self._first) < SHOWN:
            self._first.append((code, where, text))

    def add_error(self, error: SnapshotError) -> None:
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
            SnapshotError: with the code and place of the first problem and up to 20 problems in its message.
        """
        if not self._first:
            return
        code, where, text = self._first[0]
        lines = [text, *(f"{place}: {more}" for _, place, more in self._first[1:])]
        left = self._count - len(self._first)
        if left:
            lines.append(f"… and {left} more problems ({self._count} in all).")
        raise SnapshotError(code, "\n".join(lines), where=where)


def shown(items: list[str], most: int = 5) -> str:
    """`items` joined by commas, the first `most` of them, with the number left out."""
    left = len(items) - most
    return ", ".join(items[:most]) + (f" and {left} more" if left > 0 else "")
