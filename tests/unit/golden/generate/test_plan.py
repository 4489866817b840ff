"""How questions are laid out over the chunks, and what is said when they cannot be."""

from __future__ import annotations

import pytest

from rageval_action.core.model.types import Chunk
from rageval_action.errors import GoldenError
from rageval_action.golden.generate.question_plan import Settings, make_plan


def test_chunks_too_short_to_ask_about_are_told_how_long_they_must_be() -> None:
    with pytest.raises(GoldenError, match="no chunk can carry a question: 1 short") as caught:
        make_plan([Chunk(id="a", doc="a", text="Too short to ask about.")], Settings(questions=10))
    assert "at least 120 characters" in caught.value.hint
