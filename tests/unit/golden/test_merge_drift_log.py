from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from rageval_action.core.model.types import Chunk
from rageval_action.errors import GoldenError
from rageval_action.golden.agreement import agreement, cohen_kappa, krippendorff_alpha
from rageval_action.golden.canonical_file import RowFile, append_row
from rageval_action.golden.containers import Line
from rageval_action.golden.drift import Drift, drift
from rageval_action.golden.formats import read_golden
from rageval_action.golden.merging import merge
from rageval_action.golden.privacy import Detector
from rageval_action.golden.query_log import FromLog, from_log


def test_cohens_kappa_on_a_worked_table() -> None:
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)
    assert math.isnan(cohen_kappa([]))
    assert math.isnan(cohen_kappa([("a", "a")]))


def test_krippendorffs_alpha_on_the_papers_example() -> None:
    """The reliability data of Krippendorff (2011), four observers, twelve units, missing codes left out."""
    observers = (
        (1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0),
        (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3),
        (0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0),
        (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0),
    )
    units = [[code for code in codes if code] for codes in zip(*observers, strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(units, "ordinal") == pytest.approx(0.815, abs=5e-4)


def test_perfect_and_chance_agreement() -> None:
    same = agreement([(0, 0), (1, 1), (2, 2)], "ordinal")
    assert (same.observed, same.kappa, same.alpha) == (1, 1, 1)
    assert agreement([(0, 1), (1, 0)]).kappa == -1


@pytest.fixture
def two(tmp_path: Path):
    def write(a: list[dict], b: list[dict]) -> tuple[RowFile, RowFile]:
        files = []
        for name, rows in (("a", a), ("b", b)):
            path = tmp_path / f"{name}.jsonl"
            path.write_text("\n".join(json.dumps(row) for row in rows))
            files.append(RowFile.open(path))
        return files[0], files[1]

    return write


A = [
    {"id": "1", "query": "gate?", "relevant": {"d1": 2, "d2": 1}, "review": "accepted"},
    {"id": "2", "query": "berth?", "relevant": ["d3"], "review": "accepted"},
    {"id": "3", "query": "fuel?", "relevant": ["d4"], "review": "rejected"},
    {"id": "4", "query": "crane?", "relevant": ["d5"], "review": "pending"},
    {"id": "5", "query": "only in a?", "relevant": ["d6"]},
]
B = [
    {"id": "1", "query": "gate?", "relevant": {"d1": 2, "d7": 1}, "review": "accepted"},
    {"id": "2", "query": "berths?", "relevant": ["d3"], "review": "rejected"},
    {"id": "3", "query": "fuel?", "relevant": ["d4"], "review": "rejected"},
    {"id": "4", "query": "crane?", "relevant": ["d5"], "review": "accepted"},
    {"id": "6", "query": "only in b?", "relevant": ["d6"]},
]


def test_conflicts_are_listed_and_wait_by_default(two) -> None:
    merged = merge(*two(A, B), "pending")
    assert [(one.id, one.what) for one in merged.conflicts] == [("1", "judgments"), ("2", "review")]
    assert "d2=1" in merged.conflicts[0].a
    assert "d2=unjudged" in merged.conflicts[0].b
    rows = {row["id"]: row for row in merged.rows}
    assert [rows[name]["review"] for name in "1234"] == ["pending", "pending", "rejected", "accepted"]
    assert rows["1"]["provenance"]["merged"] == {
        "a": "accepted", "b": "accepted", "conflict": ["judgments"], "resolved": "pending",
        "b_says": {"judgments": merged.conflicts[0].b},
    }  # fmt: skip
    assert (merged.only_a, merged.only_b) == (("5",), ("6",))
    assert merged.decisions.n == 3
    assert merged.decisions.observed == pytest.approx(2 / 3)
    assert merged.grades.n == 5


def test_rows_that_nobody_reviewed_are_no_agreement(two) -> None:
    untouched = [{"id": str(number), "query": f"{number}?", "relevant": ["d1"]} for number in range(7, 40)]
    merged = merge(*two([*A, *untouched], [*B, *untouched]), "pending")
    assert (merged.decisions.n, merged.grades.n) == (3, 5)


def test_conflicts_can_be_settled_by_one_or_by_what_both_say(two) -> None:
    by_b = {row["id"]: row for row in merge(*two(A, B), "b").rows}
    assert by_b["1"]["relevant"] == {"d1": 2, "d7": 1}
    assert by_b["2"]["review"] == "rejected"
    strict = {row["id"]: row for row in merge(*two(A, B), "strict").rows}
    assert (strict["1"]["relevant"], strict["1"]["review"]) == ({"d1": 2}, "accepted")
    assert strict["2"]["review"] == "rejected"
    assert strict["2"]["provenance"]["merged"]["resolved"] == "strict"


def test_a_merged_set_reads_back(two, tmp_path: Path) -> None:
    merged = merge(*two(A, B), "pending")
    out = tmp_path / "merged.jsonl"
    file = RowFile.open_or_new(out)
    for row in merged.rows:
        append_row(file, row)
    assert len(read_golden(out).queries) == 6


OLD = [
    Chunk(
        id="t#0",
        doc="tide",
        text="The gate opens two hours before high tide on every day of the year.",
        start=0,
        end=67,
    ),
    Chunk(
        id="t#1",
        doc="tide",
        text="Vessels longer than nine metres wait at the outer pontoon.",
        start=68,
        end=126,
    ),
    Chunk(
        id="f#0",
        doc="fees",
        text="Mooring costs twelve crowns a night in summer and six in winter.",
        start=0,
        end=64,
    ),
    Chunk(
        id="x#0",
        doc="gone",
        text="The old lighthouse may be visited on Sundays in August only.",
        start=0,
        end=60,
    ),
    Chunk(
        id="m#0",
        doc="manual",
        text="Batteries are removed before storage so that frost cannot crack them.",
        start=0,
        end=69,
    ),
]


def lost(tmp_path: Path, rows: list[dict], new: list[Chunk], old: list[Chunk] = OLD) -> Drift:
    file = tmp_path / "g.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return drift(read_golden(file).queries, {row["id"]: row for row in rows}, new, old)


def quoted(doc: str, quote: str, **more: object) -> dict:
    return {"id": "q", "query": "?!", "evidence": [{"doc": doc, "quote": quote, **more}]}


def test_nothing_is_lost_when_chunks_are_cut_anew_inside_their_documents(tmp_path: Path) -> None:
    text = OLD[0].text + " " + OLD[1].text
    new = [
        Chunk(id=f"n{at}", doc="tide", text=text[at : at + 40], start=at, end=min(len(text), at + 40))
        for at in range(0, len(text), 40)
    ]
    rows = [
        quoted("tide", "opens two hours before high tide", start=9),
        {"id": "r", "query": "x", "relevant": ["t#1"]},
    ]
    found = lost(tmp_path, rows, new)
    assert [(loss.id, loss.why) for loss in found.losses] == [("r", "re-chunked")]
    assert found.patched["r"]["relevant"] == ["n80"]


@pytest.mark.parametrize(
    ("row", "new", "why", "better"),
    [
        (
            quoted("tide", "Vessels longer than nine metres wait at the outer pontoon"),
            [Chunk(id="t", doc="tide", text="All vessels longer than ten metres wait at the outer pontoon.")],
            "edited",
            {"quote": "essels longer than ten metres wait at the outer pontoon"},
        ),
        (
            quoted("fees", "Mooring costs twelve crowns", start=0),
            [Chunk(id="p", doc="prices", text="From May: Mooring costs twelve crowns a night.", start=0)],
            "moved",
            {"doc": "prices"},
        ),
        (
            quoted("fees", "Mooring costs twelve crowns", start=0),
            [
                Chunk(
                    id="f",
                    doc="fees",
                    text="New rules. Mooring costs twelve crowns a night.",
                    start=0,
                    end=47,
                )
            ],
            "shifted",
            {"start": 11},
        ),
        (
            quoted("gone", "old lighthouse may be visited"),
            [Chunk(id="t", doc="tide", text="Nothing of it.")],
            "deleted",
            None,
        ),
    ],
)
def test_why_evidence_was_lost(
    tmp_path: Path, row: dict, new: list[Chunk], why: str, better: dict | None
) -> None:
    found = lost(tmp_path, [row], new)
    assert [loss.why for loss in found.losses] == [why]
    if better is None:
        assert found.patched == {}
    else:
        item = found.patched["q"]["evidence"][0]
        for key, value in better.items():
            assert str(value) in str(item[key])


@pytest.mark.parametrize(
    ("relevant", "new", "why", "better"),
    [
        (["f#0"], [Chunk(id="new-7", doc="fees", text=OLD[2].text)], "re-identified", ["new-7"]),
        ({"manual": 3}, [Chunk(id="h#0", doc="handbook", text=OLD[4].text)], "renamed", {"handbook": 3}),
        (["fees"], [Chunk(id="p", doc="prices", text=f"New. {OLD[2].text} End.")], "renamed", ["prices"]),
        (["x#0"], [Chunk(id="t", doc="tide", text="else")], "deleted", None),
        (["never-there"], [Chunk(id="t", doc="tide", text="else")], "deleted", None),
    ],
)
def test_why_ids_were_lost(
    tmp_path: Path, relevant: object, new: list[Chunk], why: str, better: object
) -> None:
    found = lost(tmp_path, [{"id": "q", "query": "?!", "relevant": relevant}], new)
    assert [loss.why for loss in found.losses] == [why]
    assert found.patched == {} if better is None else found.patched["q"]["relevant"] == better
    assert found.counts() == {why: 1}


def test_lost_members_of_groups_are_replaced_too(tmp_path: Path) -> None:
    row = {"id": "q", "query": "?!", "any_of": [["f#0", "t#0"]]}
    found = lost(tmp_path, [row], [Chunk(id="new-7", doc="fees", text=OLD[2].text), OLD[0]])
    assert found.patched["q"]["any_of"] == [["new-7", "t#0"]]


def logged(*rows: dict, **options: object) -> FromLog:
    lines = [Line(number, row) for number, row in enumerate(rows, start=1)]
    return from_log(lines, Detector(), path="log.jsonl", **options)


def test_clicks_become_rows_to_review_most_asked_first() -> None:
    found = logged(
        {"query": "berth price", "clickedIds": ["fees"], "user": "u1"},
        {"query": "Berth  Price", "clickedIds": ["fees", "summer"], "user": "u2", "feedback": "up"},
        {"query": "gate times", "clicked": "tide", "feedback": "down"},
        {"query": "gate times", "clicked": None},
        {"query": "lonely question", "clicked": []},
        {"q": "berth prices", "clicks": [{"doc_id": "fees"}]},
        {"query": "what is free wifi", "feedback": "up", "results": ["guests"]},
    )
    assert [row["query"] for row in found.rows] == ["berth price", "gate times", "what is free wifi"]
    first = found.rows[0]
    assert (first["relevant"], first["source"], first["review"]) == (["fees", "summer"], "log", "pending")
    assert first["provenance"] == {"asked": 2, "clicks": {"fees": 2, "summer": 1}, "up": 1}
    assert found.rows[1]["provenance"]["down"] == 1
    assert found.left_out == {"no-clicks": 1, "near-duplicate": 1}
    assert "u1" not in json.dumps(found.rows)


def test_personal_data_is_taken_out_and_rare_questions_left_out() -> None:
    rows = [
        {"query": "invoice for ana@office.org", "clicked": "d", "user": "u1"},
        {"query": "ana@office.org", "clicked": "d"},
    ]
    found = logged(*rows)
    assert [row["query"] for row in found.rows] == ["invoice for [email]"]
    assert found.rows[0]["provenance"]["redacted"] == ["email"]
    assert (found.redacted, found.left_out) == (2, {"nothing-left": 1})
    assert "office.org" not in json.dumps(found.rows)
    asked = {"query": "gate", "clicked": "d"}
    assert logged(asked, least_times=2).left_out == {"too-rare": 1}
    assert logged({**asked, "count": 2}, least_times=2).rows[0]["provenance"]["asked"] == 2
    assert logged({**asked, "user": 1}, {**asked, "user": 1}, least_users=2).left_out == {"too-few-users": 1}
    assert len(logged({**asked, "user": 1}, {**asked, "user": 2}, least_users=2).rows) == 1


def test_a_log_without_queries_or_with_bad_counts_is_refused() -> None:
    with pytest.raises(GoldenError, match="no field of the log"):
        logged({"when": "now", "who": "me"})
    with pytest.raises(GoldenError, match="whole number") as caught:
        logged({"query": "x", "count": "many"})
    assert caught.value.where == "log.jsonl:1"
