"""What messages about snapshots share."""

from __future__ import annotations

from rageval_action.core.model import lfs_pointer
from rageval_action.core.wording import problem_list
from rageval_action.errors import SnapshotError


class Problems(problem_list.Problems):
    """Problems of one snapshot or corpus."""

    def __init__(self) -> None:
        super().__init__(SnapshotError)


def refuse_pointer(start: bytes, what: str, where: str) -> None:
    """Refuse a file that begins as a Git LFS pointer.

    Args:
        start: the first `lfs_pointer.MOST_BYTES` of the file, or more.
        what: what belongs in its place.
        where: the file, for the message.

    Raises:
        SnapshotError: `snapshot.lfs-pointer`.
    """
    if text := lfs_pointer.pointer_problem(start, what):
        raise SnapshotError("snapshot.lfs-pointer", text, hint=lfs_pointer.HINT, where=f"{where}:1")
