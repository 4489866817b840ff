"""What a report fills leaves room for what its sender adds, within what GitHub takes."""

from __future__ import annotations

from rageval_action.core.wording import limits


def test_a_report_leaves_room_for_its_sender() -> None:
    assert limits.COMMENT_BYTES < limits.SENT_COMMENT_BYTES <= 65_535
    assert limits.SUMMARY_BYTES < limits.SENT_SUMMARY_BYTES == 1_048_576
    assert limits.TITLE_CHARACTERS == 255
