"""Two annotators' copies of a golden set: how far they agree, where they do not, and one set out of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from rageval_action.golden.agreement import Agreement, agreement

if TYPE_CHECKING:
    from rageval_action.golden.canonical_file import RowDict, RowFile

OnConflict: TypeAlias = Literal["pending", "a", "b", "strict"]
"""What becomes of a row that the two see differently: it waits, one of them decides, or only what both say stays."""


class Conflict(Struct, frozen=True, kw_only=True):
    """One thing about one row that the two annotators see differently."""

    id: str
    what: Literal["review", "question", "judgments", "answerable"]
    a: str
    b: str


class Merged(Struct, frozen=True, kw_only=True):
    """The outcome: rows in A's order, then those only B has.

    Attributes:
        decisions: agreement on accepted or rejected, over rows that both decided; one without `review` was decided
            by nobody, and would agree with itself.
        grades: agreement on the grade of every id or quote that either of them judged, over the same rows; one that
            an annotator does not list counts as not relevant.
    """

    rows: tuple[dict[str, Any], ...]
    conflicts: tuple[Conflict, ...]
    decisions: Agreement
    grades: Agreement
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def merge(a: RowFile, b: RowFile, on_conflict: OnConflict) -> Merged:
    """Join two annotations of one set, row by row."""
    rows: list[RowDict] = []
    conflicts: list[Conflict] = []
    decided: list[tuple[str, str]] = []
    graded: list[tuple[int, int]] = []
    for row in a:
        name = str(row["id"])
        if name not in b:
            rows.append(_noted(row, {"only": "a"}))
            continue
        other = b[name]
        found = _conflicts(row, other)
        conflicts += found
        states = (_state(row), _state(other))
        if "pending" not in states and "review" in row and "review" in other:
            decided.append(states)
            left, right = grades(row), grades(other)
            graded += [(left.get(key, 0), right.get(key, 0)) for key in sorted(left.keys() | right.keys())]
        rows.append(_joined(row, other, found, on_conflict))
    only_b = [row for row in b if str(row["id"]) not in a]
    return Merged(
        rows=(*rows, *(_noted(row, {"only": "b"}) for row in only_b)),
        conflicts=tuple(conflicts),
        decisions=agreement(decided),
        grades=agreement(graded, "ordinal"),
        only_a=tuple(str(row["id"]) for row in a if str(row["id"]) not in b),
        only_b=tuple(str(row["id"]) for row in only_b),
    )


def grades(row: RowDict) -> dict[str, int]:
    """What a row judges, as key -> grade; an evidence item is `document: quote`, a group its members."""
    relevant = row.get("relevant", {})
    found = dict(relevant) if isinstance(relevant, dict) else {str(name): 1 for name in relevant}
    found |= {f"{item['doc']}: {item['quote']}": 1 for item in row.get("evidence", ())}
    return found | {" | ".join(sorted(map(str, group))): 1 for group in row.get("any_of", ())}


def _conflicts(a: RowDict, b: RowDict) -> list[Conflict]:
    name = str(a["id"])
    found: list[Conflict] = []
    if {_state(a), _state(b)} == {"accepted", "rejected"}:
        found.append(Conflict(id=name, what="review", a=_state(a), b=_state(b)))
    if "rejected" in (_state(a), _state(b)):
        # What a rejected row says is not an annotation any more.
        return found
    if a["query"] != b["query"]:
        found.append(Conflict(id=name, what="question", a=str(a["query"]), b=str(b["query"])))
    if a.get("answerable", True) != b.get("answerable", True):
        shown = ("answerable" if row.get("answerable", True) else "unanswerable" for row in (a, b))
        found.append(Conflict(id=name, what="answerable", a=next(shown), b=next(shown)))
    left, right = grades(a), grades(b)
    if left != right:
        apart = [key for key in sorted(left.keys() | right.keys()) if left.get(key) != right.get(key)]
        said = tuple(
            ", ".join(f"{key[:80]}={row.get(key, 'unjudged')}" for key in apart) for row in (left, right)
        )
        found.append(Conflict(id=name, what="judgments", a=said[0], b=said[1]))
    return found


def _joined(a: RowDict, b: RowDict, conflicts: list[Conflict], on_conflict: OnConflict) -> RowDict:
    states = {"a": _state(a), "b": _state(b)}
    if not conflicts:
        settled = a if _state(a) != "pending" else b
        return _noted(settled, states) if a != b else dict(a)
    note: dict[str, Any] = {**states, "conflict": [one.what for one in conflicts], "resolved": on_conflict}
    if on_conflict in ("a", "b"):
        return _noted(a if on_conflict == "a" else b, note)
    if on_conflict == "strict":
        return _noted(_strict(a, b), note)
    said = {one.what: one.b for one in conflicts}
    return _noted({**a, "review": "pending"}, {**note, "b_says": said})


def _strict(a: RowDict, b: RowDict) -> RowDict:
    """A's row with only the judgments that both made; rejected when either rejected it or nothing is left."""
    shared = {key for key, grade in grades(a).items() if grades(b).get(key) == grade}
    row = dict(a)
    if isinstance(row.get("relevant"), dict):
        row["relevant"] = {name: grade for name, grade in row["relevant"].items() if str(name) in shared}
    elif row.get("relevant"):
        row["relevant"] = [name for name in row["relevant"] if str(name) in shared]
    if row.get("evidence"):
        row["evidence"] = [item for item in row["evidence"] if f"{item['doc']}: {item['quote']}" in shared]
    if row.get("any_of"):
        row["any_of"] = [group for group in row["any_of"] if " | ".join(sorted(map(str, group))) in shared]
    same = a["query"] == b["query"] and a.get("answerable", True) == b.get("answerable", True)
    agreed = (
        same and _state(a) == _state(b) == "accepted" and (bool(grades(row)) or not a.get("answerable", True))
    )
    if not agreed:
        return {**a, "review": "rejected"}
    return {key: value for key, value in row.items() if value not in ([], {})}


def _noted(row: RowDict, note: dict[str, Any]) -> RowDict:
    return {**row, "provenance": {**row.get("provenance", {}), "merged": note}}


def _state(row: RowDict) -> str:
    return str(row.get("review", "accepted"))
