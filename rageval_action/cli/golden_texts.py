"""The question texts of golden sets, for commands that keep vectors of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rageval_action.core.model.types import Notice


def golden_texts(locations: Sequence[str]) -> tuple[list[str], tuple[Notice, ...]]:
    """Texts of the golden sets, one set after the other in file order, and what their readers should know.

    Raises:
        GoldenError: as `golden.formats.read_golden`.
    """
    if not locations:
        return [], ()
    from rageval_action.golden.formats import read_golden

    read = [read_golden(location) for location in locations]
    texts = [query.text for golden in read for query in golden.queries]
    return texts, tuple(notice for golden in read for notice in golden.notices)
