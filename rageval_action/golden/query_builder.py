"""Turns rows, whatever file they came from, into queries: the rules that every format shares."""

from __future__ import annotations

import unicodedata
from typing import Literal, TypeAlias

from msgspec import Struct

from rageval_action.core.model.types import Evidence, Notice, Query, QueryAcl, Review, Source
from rageval_action.core.wording.problem_list import Problems
from rageval_action.errors import GoldenError

Id: TypeAlias = str | int

MAX_GRADE = 1_000_000
"""Beyond this a grade is a slip (an id, a timestamp), and gains of 2 to its power have no meaning."""

Repeats: TypeAlias = Literal["refuse", "note"]
"""What a second query with the same text and access is: an error (the owner can mend the file), or worth
a notice (a published collection is what it is)."""


class GoldenRow(Struct, kw_only=True, gc=False, rename={"text": "query"}):
    """One row as it stands in a file: types are right, nothing else is known. The fields: docs/golden-sets.md."""

    id: Id
    text: str
    relevant: dict[str, int] | list[Id] = []
    any_of: tuple[tuple[Id, ...], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    answerable: bool = True
    tags: tuple[str, ...] = ()
    type: str = ""
    lang: str = ""
    acl: QueryAcl | None = None
    source: Source = "human"
    review: Review = "accepted"
    group: str = ""


class RowError(Exception):
    """A row that cannot be a query."""

    def __init__(self, text: str, code: str = "golden.bad-row") -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class QueryBuilder:
    """Collects the queries of one golden set and what is wrong with them.

    Args:
        path: of the file the rows come from, for messages.
        repeats: see `Repeats`.
    """

    def __init__(self, path: str, *, repeats: Repeats = "refuse") -> None:
        self.problems = Problems(GoldenError)
        self._path = path
        self._repeats = repeats
        self._queries: list[Query] = []
        self._by_id: dict[str, Query] = {}
        self._by_text: dict[tuple[str, QueryAcl | None], Query] = {}
        self._seen: dict[str, tuple[int, int]] = {}

    def where(self, line: int) -> str:
        """`file:line`."""
        return f"{self._path}:{line}"

    def reject(self, line: int, text: str, code: str = "golden.bad-row") -> None:
        """Note that the row on `line` cannot be used."""
        self.problems.add(code, self.where(line), text)

    def note(self, kind: str, line: int) -> None:
        """Count something worth one notice for the whole file."""
        count, first = self._seen.get(kind, (0, line))
        self._seen[kind] = (count + 1, first)

    def add(self, row: GoldenRow, line: int) -> None:
        """Check the row and keep it as a query, or note what is wrong with it."""
        try:
            query = self._query(row, line)
        except RowError as error:
            self.reject(line, error.text, error.code)
            return
        if self._is_new(query):
            self._queries.append(query)

    def finish(self) -> tuple[tuple[Query, ...], tuple[Notice, ...]]:
        """The queries and the notices.

        Raises:
            GoldenError: when any row was wrong, or (`golden.empty`) there was none.
        """
        self.problems.raise_if_any()
        if not self._queries:
            raise GoldenError("golden.empty", "the file holds no rows.", where=self._path)
        notices = (_notice(kind, count, self.where(first)) for kind, (count, first) in self._seen.items())
        return tuple(self._queries), tuple(notices)

    def _query(self, row: GoldenRow, line: int) -> Query:
        text = row.text
        if not text or text.isspace():
            raise RowError("the query is empty.")
        relevant = self._grades(row.relevant, line)
        any_of = tuple(tuple(self._id(member, "any_of", line) for member in group) for group in row.any_of)
        if any_of and not all(any_of):
            raise RowError("a group in `any_of` is empty.")
        if row.evidence:
            _check_evidence(row.evidence)
        _check_judged(row, judged=bool(relevant or any_of or row.evidence))
        return Query(
            id=self._id(row.id, "id", line),
            text=text,
            relevant=relevant,
            any_of=any_of,
            evidence=row.evidence,
            answerable=row.answerable,
            tags=row.tags,
            type=row.type,
            lang=row.lang,
            acl=row.acl,
            source=row.source,
            review=row.review,
            group=row.group,
            line=line,
        )

    def _id(self, value: Id, field: str, line: int) -> str:
        """The id as an NFC string; an integer is its decimal digits, and noted."""
        if not isinstance(value, str):
            self.note("integer-ids", line)
            return str(value)
        if value.isascii():
            if not value or value.isspace():
                raise RowError(f"an id in `{field}` is empty.")
            return value
        normal = unicodedata.normalize("NFC", value)
        if normal != value:
            self.note("ids-to-nfc", line)
        return normal

    def _grades(self, relevant: dict[str, int] | list[Id], line: int) -> dict[str, int]:
        """Judged id -> grade."""
        if isinstance(relevant, dict):
            pairs = [(self._id(key, "relevant", line), grade) for key, grade in relevant.items()]
        else:
            pairs = [(self._id(key, "relevant", line), 1) for key in relevant]
        grades = dict(pairs)
        if len(grades) < len(pairs):
            self._check_repeats(pairs, grades, line)
        if grades:
            self._check_range(min(grades.values()), max(grades.values()), line)
        return grades

    def _check_range(self, lowest: int, highest: int, line: int) -> None:
        if highest > MAX_GRADE or lowest < -MAX_GRADE:
            raise RowError(f"a grade lies outside ±{MAX_GRADE:,}.")
        if lowest < 0:
            self.note("negative-grades", line)
        if highest < 1:
            self.note("nothing-relevant", line)

    def _check_repeats(self, pairs: list[tuple[str, int]], grades: dict[str, int], line: int) -> None:
        for key, grade in pairs:
            if grades[key] != grade:
                raise RowError(
                    f'"{key}" has two grades, {grade} and {grades[key]} (its spellings agree in NFC).'
                )
        self.note("repeated-judgments", line)

    def _is_new(self, query: Query) -> bool:
        """False, with a problem noted, when the query repeats an earlier one and that is refused."""
        earlier = self._by_id.setdefault(query.id, query)
        if earlier is not query:
            self.reject(
                query.line,
                f'the id "{query.id}" was used before, on line {earlier.line}.',
                "golden.duplicate-id",
            )
            return False
        earlier = self._by_text.setdefault((query.text, _who(query.acl)), query)
        if earlier is query:
            return True
        if self._repeats == "note":
            self.note("repeated-queries", query.line)
            return True
        self._reject_repeat(query, earlier)
        return False

    def _reject_repeat(self, query: Query, earlier: Query) -> None:
        same = _judgments(query) == _judgments(earlier)
        self.reject(
            query.line,
            f'"{query.id}" asks the same as "{earlier.id}" on line {earlier.line}, for the same `acl`, '
            + (
                "with the same judgments. Keep one of them."
                if same
                else "but is judged otherwise. Keep one of them."
            ),
            "golden.duplicate-query" if same else "golden.conflicting-judgments",
        )


def _who(acl: QueryAcl | None) -> QueryAcl | None:
    """The access in a form that can be compared: groups have no order."""
    if acl is None:
        return None
    return QueryAcl(tenant=acl.tenant, principal=acl.principal, groups=tuple(sorted(set(acl.groups))))


def _judgments(query: Query) -> tuple[object, ...]:
    groups = {frozenset(group) for group in query.any_of}
    return (query.relevant, groups, set(query.evidence), query.answerable)


def _check_evidence(evidence: tuple[Evidence, ...]) -> None:
    for item in evidence:
        if not item.doc.strip():
            raise RowError("an item in `evidence` names no `doc`.")
        if not item.quote.strip():
            raise RowError("an item in `evidence` has an empty `quote`.")
        if item.start < -1:
            raise RowError(f"`evidence` starts at {item.start}; offsets count characters from 0.")


def _check_judged(row: GoldenRow, *, judged: bool) -> None:
    if row.answerable and not judged:
        raise RowError(
            "nothing says what should be found: give `relevant`, `any_of` or `evidence`, "
            "or `answerable: false` when nothing should."
        )
    if judged and not row.answerable:
        raise RowError(
            "the row is `answerable: false` but names what should be found; take one of the two out."
        )


_NOTICES = {
    "integer-ids": "ids given as numbers are read as text ({count} of them).",
    "ids-to-nfc": "ids are compared in Unicode form NFC; {count} were in another form.",
    "negative-grades": "negative grades mean “not judged”, as in trec_eval ({count} rows).",
    "nothing-relevant": "{count} rows judge documents but none as relevant; they score 0.",
    "any-of": "{count} rows list alternatives: any one of them satisfies its group (recall counts groups).",
    "found-texts": "{count} rows quote passages; they were found in the snapshot and are kept as evidence.",
    "repeated-judgments": "ids repeated within one row count once ({count} rows).",
    "repeated-queries": "{count} rows repeat the text of an earlier query; each counts.",
}


def _notice(kind: str, count: int, where: str) -> Notice:
    return Notice(code=f"golden.{kind}", text=_NOTICES[kind].format(count=count), where=where)
