"""A record that somebody bent is refused, or compared, judged and shown: it never ends in a traceback."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from rageval_action.core.comparing.comparison import compare
from rageval_action.core.judging.document import BaselineInfo, document
from rageval_action.core.judging.policy import DropGate, FloorGate, KeepGate, LatencyGate, Policy
from rageval_action.core.judging.verdict import judge
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.model.record import RANKINGS, RECORD, RunRecord, decode, encode
from rageval_action.core.model.types import EvidenceItem, EvidenceItems, Groups, Unanswerable, Unit
from rageval_action.errors import RecordError
from rageval_action.reports.comment_and_summary import comment
from rageval_action.reports.terminal import plain
from rageval_action.reports.view import view
from tests.synthetic_runs import FILLERS, TODAY, plain_chunks, row, run

CORPUS = plain_chunks([*FILLERS, "r", "s"])
GATES = (
    DropGate(measure="recall@5", max_drop=0.02),
    DropGate(measure="mrr", max_drop=0.02, slice="tag:x", rule="significant"),
    DropGate(measure="mrr", max_drop=0.02, rule="non-inferior"),
    FloorGate(measure="recall@5", min=0.2, slice="tag:x"),
    KeepGate(tag="x", measure="hit@5"),
    LatencyGate(stage="total", max_ratio=2.0),
)
VALUES: tuple[Any, ...] = (
    *(
        0,
        -1,
        1,
        2**40,
        -(2**70),
        1.5,
        -1e300,
        "",
        "x",
        "f" * 16,
        "q1",
        None,
        True,
        [],
        {},
        [[]],
        ["r"],
        {"r": 1},
        "\u202e",
    ),
    {"type": "any_of", "groups": [[]]},
    {"type": "any_of", "groups": []},
    {"type": "evidence", "items": []},
    {"type": "grades", "grades": {}},
    {"type": "unanswerable"},
)


def good(unit: Unit = "document") -> RunRecord:
    item = EvidenceItem(doc="r", quote="text", start=0, chunks=("r#0",))
    rows = [
        row("q1", ["r", *FILLERS], ["r"], CORPUS, tags=("x",)),
        row("q2", FILLERS, Groups((("r", "s"), ("f1",))), CORPUS),
        row("q3", ["r"], EvidenceItems((item,)), CORPUS),
        row("q4", ["s"], Unanswerable(), CORPUS),
        row("q5", [], ["s"], CORPUS, error="timeout"),
    ]
    return run(rows, CORPUS, unit=unit, threshold=0.5)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place below the top of a JSON value."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, child in children:
        yield (*path, name)
        yield from places(child, (*path, name))


def bent(value: Any, random_: random.Random) -> Any:
    """`value` with one place below it set to something odd, or left out."""
    path = random_.choice(list(places(value)))
    parent = value
    for name in path[:-1]:
        parent = parent[name]
    if random_.random() < 0.8:
        parent[path[-1]] = random_.choice(VALUES)
    else:
        del parent[path[-1]]
    return value


def told(before: RunRecord, after: RunRecord) -> None:
    """Everything that is done with two records."""
    measures = parse_measures(["recall@5", "mrr", "hit@5", "ndcg_exp@5", "judged@5", "map"])
    comparison = compare(before, after, measures)
    verdict = judge(Policy(gates=GATES), after, comparison, today=TODAY)
    made = document(verdict, after, comparison, BaselineInfo(run_id="r", sha="", rung="file", age_s=0.0))
    shown = view(made, after.record)
    comment(shown)
    list(plain(shown))
    encode(after)


@pytest.mark.parametrize("seed", range(4))
def test_one_bent_place(seed: int) -> None:
    random_ = random.Random(seed)
    accepted = 0
    for _ in range(60):
        unit: Unit = random_.choice(["document", "chunk", "evidence"])
        members = encode(good(unit))
        if random_.random() < 0.4:
            members[RECORD] = json.dumps(bent(json.loads(members[RECORD]), random_)).encode()
        else:
            rows = [json.loads(line) for line in members[RANKINGS].splitlines()]
            at = random_.randrange(len(rows))
            rows[at] = bent(rows[at], random_)
            members[RANKINGS] = b"".join(json.dumps(one).encode() + b"\n" for one in rows)
        with suppress(RecordError):
            read = decode(members, where="run")
            accepted += 1
            told(read, good())
            told(good(), read)
    assert accepted > 5
