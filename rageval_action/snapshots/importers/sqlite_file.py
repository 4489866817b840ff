"""What a SQLite file says about its own length."""

from __future__ import annotations

from pathlib import Path

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.importers.reader_process import DAMAGED


def check_whole(path: Path) -> None:
    """That no page is missing: past the end of a file that may not change SQLite may read zeros.

    Raises:
        SnapshotError: `snapshot.not-sqlite`, `snapshot.truncated`.
    """
    with path.open("rb") as stream:
        head = stream.read(100)
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        raise SnapshotError("snapshot.not-sqlite", "this is not a SQLite database.")
    page, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    counted = head[24:28] == head[92:96]  # else a SQLite before 3.7 wrote it, and the number is none
    if counted and path.stat().st_size < pages * (65536 if page == 1 else page):
        raise SnapshotError(
            "snapshot.truncated", "the database is shorter than its header says.", hint=DAMAGED
        )
