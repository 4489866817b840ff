"""What messages about snapshots share."""

from __future__ import annotations

from rageval_action.core.wording import problem_list
from rageval_action.errors import SnapshotError

LFS_MARK = b"version https://git-lfs.github.com/spec/"
"""How a Git LFS pointer begins (the LFS specification, "The Pointer")."""


class Problems(problem_list.Problems):
    """Problems of one snapshot or corpus."""

    def __init__(self) -> None:
        super().__init__(SnapshotError)


def refuse_pointer(data: bytes, what: str, where: str) -> None:
    """Refuse a file that begins as a Git LFS pointer; `what` belongs in its place.

    Raises:
        SnapshotError: `snapshot.lfs-pointer`.
    """
    if data.startswith(LFS_MARK):
        message = f"this is a Git LFS pointer, not {what}."
        hint = "Fetch it with `git lfs pull`; in a workflow give actions/checkout `lfs: true`."
        raise SnapshotError("snapshot.lfs-pointer", message, hint=hint, where=f"{where}:1")
