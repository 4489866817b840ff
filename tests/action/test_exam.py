"""No edit of what is asked hides a real loss, and none invents one.

A small collection on disk: forty documents of one chunk, forty questions. The losing pull request damages the vectors of
twelve documents; every edit of the golden set, of ids and of access is tried beside it, alone and in pairs.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.cli.configuration import configure
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.judging.policy import parse_policy
from rageval_action.core.model.hashing import query_key
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.snapshot import BuildSettings
from rageval_action.core.model.types import Chunk, ChunkAcl
from rageval_action.snapshots.write import Contents, write_snapshot
from rageval_action.world import real_world
from tests.small_project import MODEL, vector, write_golden

LOST = range(12)
"""Whose vectors the losing pull request damages."""

Row: TypeAlias = dict[str, Any]


class State(Struct, frozen=True):
    """What a branch holds: golden rows, chunks, options."""

    rows: tuple[Row, ...]
    chunks: tuple[Chunk, ...]
    options: dict[str, str] = {}


def _text(number: int) -> str:
    return f"subject{number:02} detail{number:02} chapter{number:02}"


BASE = State(
    rows=tuple(
        {
            "id": f"q{n:02}",
            "query": f"what is subject{n:02} detail{n:02}",
            "relevant": [f"d{n:02}"],
            "tags": ["all"],
        }
        for n in range(40)
    ),
    chunks=tuple(Chunk(id=f"d{n:02}#0", doc=f"d{n:02}", text=_text(n)) for n in range(40)),
)


def _rows(change: Callable[[int, Row], Row | None]) -> Callable[[State], State]:
    """Edit row by row; None takes a row out."""

    def edit(state: State) -> State:
        made = [change(place, dict(row)) for place, row in enumerate(state.rows)]
        return replace(state, rows=tuple(row for row in made if row is not None))

    return edit


def _lost(change: Callable[[Row], Row | None]) -> Callable[[State], State]:
    """Edit the rows that ask for what is lost."""
    names = {f"subject{number:02}" for number in LOST}
    return _rows(lambda _place, row: change(row) if names & set(row["query"].split()) else row)


def _chunks(change: Callable[[Chunk], Chunk]) -> Callable[[State], State]:
    return lambda state: replace(state, chunks=tuple(map(change, state.chunks)))


def _options(**given: str) -> Callable[[State], State]:
    return lambda state: replace(state, options={**state.options, **given})


def _renamed(state: State) -> State:
    """Half of the documents get other names, and no label follows."""
    return _chunks(lambda one: replace(one, id=f"x{one.id}", doc=f"x{one.doc}") if one.doc < "d20" else one)(
        state
    )


def _few_renamed(state: State) -> State:
    """Three documents get other names, and no label follows."""
    return _chunks(lambda one: replace(one, id=f"x{one.id}", doc=f"x{one.doc}") if one.doc < "d03" else one)(
        state
    )


def _now(name: str) -> str:
    return f"x{name}" if name < "d20" else name


def _insert(state: State) -> State:
    """Ids are row numbers, and a question is inserted at the top."""
    first = {"id": "new", "query": "a question of another kind", "relevant": ["d39"]}
    return replace(
        state, rows=tuple({**row, "id": str(n)} for n, row in enumerate((first, *state.rows), start=1))
    )


def _easy(state: State) -> State:
    """Four hundred questions that nobody misses."""
    easy = [
        {
            "id": f"e{n}",
            "query": f"what is subject{39 - n % 20:02} please {n}",
            "relevant": [f"d{39 - n % 20:02}"],
        }
        for n in range(400)
    ]
    return replace(state, rows=(*state.rows, *easy))


def _copies(state: State) -> State:
    """One added file that holds every chunk again."""
    copied = tuple(replace(one, id=f"copy#{n}", doc="copy") for n, one in enumerate(state.chunks))
    return replace(state, chunks=(*state.chunks, *copied))


EDITS: dict[str, Callable[[State], State]] = {
    "nothing": lambda state: state,
    "delete the losers": _lost(lambda _row: None),
    "delete most rows": _rows(lambda place, row: row if place >= 35 else None),
    "fresh ids": _rows(lambda place, row: {**row, "id": f"fresh-{place}"}),
    "insert a row": _insert,
    "trailing blanks": _lost(lambda row: {**row, "query": row["query"] + " "}),
    "zero-width spaces": _lost(lambda row: {**row, "query": row["query"].replace(" is", "\u200b is")}),
    "reword": _lost(lambda row: {**row, "query": f"{row['query']} exactly"}),
    "reject": _lost(lambda row: {**row, "review": "rejected"}),
    "pend": lambda state: _options(review="required")(_lost(lambda row: {**row, "review": "pending"})(state)),
    "label another": _lost(lambda row: {**row, "relevant": ["d39"]}),
    "label by grade 0": _lost(lambda row: {**row, "relevant": {"d39": 1, row["relevant"][0]: 0}}),
    "any of an easy one": _lost(
        lambda row: (
            {key: value for key, value in row.items() if key != "relevant"}
            | {"any_of": [["d39", "d38", "d37", "d36", "d35", *row["relevant"]]]}
        )
    ),
    "unanswerable": _lost(
        lambda row: {key: value for key, value in row.items() if key != "relevant"} | {"answerable": False}
    ),
    "name an asker": _lost(lambda row: {**row, "acl": {"tenant": "acme"}}),
    "drop tags": _rows(lambda _place, row: {**row, "tags": []}),
    "other tags": _lost(lambda row: {**row, "tags": ["legacy"], "lang": "xx", "type": "y"}),
    "rename documents": _renamed,
    "rename chunks": _chunks(lambda one: replace(one, id=f"other-{one.id}")),
    "copy everything": _copies,
    "hundreds of easy questions": _easy,
    "raise k": _options(k="20"),
    "order": lambda state: replace(state, rows=tuple(reversed(state.rows))),
}


class Branch:
    """States written to disk, evaluated, and judged by the base's policy."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, itertools.count()

    def record(self, state: State, *, damaged: bool, baseline: RunRecord | None = None) -> RunRecord:
        place = self._folder / str(next(self._number))
        place.mkdir()
        write_golden(place / "golden.jsonl", state.rows)
        hurt = {_text(number) for number in LOST} if damaged else set()
        vectors = [
            vector(f"nothing{n}" if one.text in hurt else one.text) for n, one in enumerate(state.chunks)
        ]
        asked = {row["query"] for row in (*state.rows, *BASE.rows)}
        keys = {query_key(model=MODEL, revision="", prefix="", text=text): vector(text) for text in asked}
        contents = Contents(chunks=list(state.chunks), vectors=np.stack(vectors), query_vectors=keys)
        write_snapshot(place / "index", contents, BuildSettings(metric="ip", model=MODEL, chunker="whole"))
        wanted = {"golden": str(place / "golden.jsonl"), "snapshot": str(place / "index"), **state.options}
        return pipeline.evaluate(configure(wanted, ""), real_world(place), baseline)

    def judged(
        self, base: RunRecord, state: State, *, damaged: bool, policy: Mapping[str, object] | None = None
    ) -> tuple[ComparisonDocument, RunRecord]:
        made = self.record(state, damaged=damaged, baseline=base)
        rules = parse_policy(policy or base.record.policy, where="the base's record")
        return (
            pipeline.conclude(made, pipeline.Baseline(record=base), rules, today=real_world().today()),
            made,
        )


@pytest.fixture(scope="module")
def branch() -> Branch:
    return Branch(Path(tempfile.mkdtemp(prefix="rageval-exam-")))


@pytest.fixture(scope="module")
def base(branch: Branch) -> RunRecord:
    return branch.record(BASE, damaged=False)


def _applied(state: State, names: Sequence[str]) -> State:
    for name in names:
        state = EDITS[name](state)
    return state


def test_the_control_fails(branch: Branch, base: RunRecord) -> None:
    found, made = branch.judged(base, BASE, damaged=True)
    assert (found.verdict, found.exit_code) == ("fail", 1)
    assert made.record.measures["recall@5"].mean is not None
    assert made.record.measures["recall@5"].mean < 0.9


@pytest.mark.parametrize("name", EDITS)
def test_no_edit_hides_a_loss(branch: Branch, base: RunRecord, name: str) -> None:
    found, _ = branch.judged(base, _applied(BASE, [name]), damaged=True)
    assert found.verdict != "pass"


@pytest.mark.parametrize("name", EDITS)
def test_no_edit_invents_a_loss(branch: Branch, base: RunRecord, name: str) -> None:
    found, _ = branch.judged(base, _applied(BASE, [name]), damaged=False)
    assert found.verdict != "fail"


COMBINED = sorted(set(EDITS) - {"nothing", "any of an easy one", "unanswerable", "label by grade 0"})


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.sampled_from(COMBINED), min_size=2, max_size=2, unique=True), st.booleans())
def test_no_pair_of_edits_hides_or_invents_a_loss(
    branch: Branch, base: RunRecord, names: list[str], damaged: bool
) -> None:
    found, _ = branch.judged(base, _applied(BASE, names), damaged=damaged)
    assert found.verdict != ("pass" if damaged else "fail")


@pytest.mark.parametrize("name", EDITS)
def test_no_two_steps_are_both_green(branch: Branch, base: RunRecord, name: str) -> None:
    """One pull request changes what is asked, the next one loses."""
    first, merged = branch.judged(base, _applied(BASE, [name]), damaged=False)
    second, _ = branch.judged(merged, _applied(BASE, [name]), damaged=True)
    assert (first.verdict, second.verdict) != ("pass", "pass")


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        (
            "add a question",
            lambda s: replace(
                s, rows=(*s.rows, {"id": "n", "query": "what is subject05", "relevant": ["d05"]})
            ),
        ),
        ("fix a typo", _rows(lambda place, row: {**row, "query": f"{row['query']}?"} if place == 3 else row)),
        ("add tags", _rows(lambda _place, row: {**row, "tags": ["all", "more"]})),
        ("delete one stale question", _rows(lambda place, row: None if place == 7 else row)),
        (
            "rename documents, labels following",
            lambda s: _rows(
                lambda _place, row: {**row, "relevant": [_now(name) for name in row["relevant"]]}
            )(_renamed(s)),
        ),
        ("rename three documents alone", _few_renamed),
    ],
)
def test_honest_maintenance_passes(
    branch: Branch, base: RunRecord, name: str, edit: Callable[[State], State]
) -> None:
    found, merged = branch.judged(base, edit(BASE), damaged=False)
    assert (name, found.verdict) == (name, "pass")
    after, _ = branch.judged(merged, edit(BASE), damaged=False)
    assert after.verdict == "pass"


def test_retiring_a_tenth_is_at_most_undecided_and_once_merged_it_is_over(
    branch: Branch, base: RunRecord
) -> None:
    fewer = _rows(lambda place, row: None if place >= 34 else row)(BASE)
    found, merged = branch.judged(base, fewer, damaged=False)
    assert (found.verdict, found.reasons[0].code) == ("inconclusive", "exam.withdrawn")
    assert "the next pull request is judged by the new ones" in found.reasons[0].text
    assert branch.judged(merged, fewer, damaged=False)[0].verdict == "pass"


def test_a_floor_is_not_diluted(branch: Branch, base: RunRecord) -> None:
    floor = {**base.record.policy, "gates": [{"measure": "recall@5", "min": 0.9}]}
    found, _ = branch.judged(base, _easy(BASE), damaged=True, policy=floor)
    assert found.verdict == "fail"
    assert found.gates[0].exam == "base"


def test_access_that_was_taken_off_is_undecided(branch: Branch) -> None:
    guarded = _chunks(lambda one: replace(one, acl=ChunkAcl(tenant="globex")) if one.doc < "d20" else one)(
        BASE
    )
    asking = _rows(lambda _place, row: {**row, "acl": {"tenant": "acme"}})(guarded)
    before = branch.record(asking, damaged=False)
    opened = _chunks(lambda one: replace(one, acl=None))(asking)
    found, _ = branch.judged(before, opened, damaged=False)
    assert (found.verdict, found.reasons[0].code) == ("inconclusive", "acl-base")
    nobody = _rows(lambda _place, row: {key: value for key, value in row.items() if key != "acl"})(opened)
    assert branch.judged(before, nobody, damaged=False)[0].verdict == "inconclusive"
