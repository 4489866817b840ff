"""Which slices a query belongs to, and where its row stands in them."""

from __future__ import annotations

from rageval_action.core.judging.policy import SLICE_KINDS
from rageval_action.core.measuring.slices import names, split
from tests.synthetic_runs import plain_chunks, row

CHUNKS = plain_chunks(["a"])


def test_names() -> None:
    full = row(
        "q", [], ["a"], CHUNKS, tags=("x", "y", "x"), type="lookup", lang="en", source="log", principal="u-7"
    )
    assert names(full) == ("tag:x", "tag:y", "type:lookup", "lang:en", "source:log", "principal:u-7")
    assert names(row("q", [], ["a"], CHUNKS)) == ("source:human",)
    assert {name.partition(":")[0] for name in names(full)} == set(SLICE_KINDS)


def test_split_is_by_name_and_keeps_positions_in_order() -> None:
    rows = [
        row("q1", [], ["a"], CHUNKS, tags=("z", "z")),
        row("q2", [], ["a"], CHUNKS, tags=("b",)),
        row("q3", [], ["a"], CHUNKS, tags=("z", "b")),
    ]
    assert split(rows) == {"source:human": [0, 1, 2], "tag:b": [1, 2], "tag:z": [0, 2]}
    assert list(split(rows)) == ["source:human", "tag:b", "tag:z"]
    assert split([]) == {}
