"""What messages about snapshots share."""

from __future__ import annotations

from rageval_action.core.wording import problem_list
from rageval_action.errors import SnapshotError

LFS_HINT = "Fetch it with `git lfs pull`; in a workflow give actions/checkout `lfs: true`."


class Problems(problem_list.Problems):
    """Problems of one snapshot or corpus."""

    def __init__(self) -> None:
        super().__init__(SnapshotError)
