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


class GoldenRow(Struct, kw_only=True, gc=False, rename={"text": "query"}):
    """One row as it stands in a file: types are right, nothing else is known. The fields: docs/golden-sets.md.

    A row without `source` and `review` is one that somebody wrote here: of unknown source, and accepted.
    """

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
    source: Source = "unknown"
    review: Review = "accepted"
    group: str = ""


Join: TypeAlias = Literal["never", "same-id", "always"]


class RowError(Exception):
    """A row that cannot be a query."""

    def __init__(self, text: str, code: str = "golden.bad-row") -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class QueryBuilder:
    """Collects the queries of one golden set and what is wrong with them.

    A question that is asked twice is two queries: published sets have such rows, and each counts.

    Args:
        path: of the file the rows come from, for messages.
        join: rows with one question (`golden.joining`): never, those with one id as well, or all of them.
    """

    def __init__(self, path: str, *, join: Join = "never") -> None:
        self.problems = Problems(GoldenError)
        self.join: Join = join
        self._path = path
        self._joined: dict[object, JoinedRow] = {}
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

    def note(self, kind: str, line: int, times: int = 1) -> None:
        """Count something worth one notice for the whole file."""
        count, first = self._seen.get(kind, (0, line))
        self._seen[kind] = (count + times, first)

    def add(self, row: GoldenRow, line: int) -> None:
        """Check the row and keep it as a query, or note what is wrong with it."""
        if self.join == "never":
            self._keep(row, line)
            return
        key = (row.id if self.join == "same-id" else "", row.text, asker(row.acl))
        earlier = self._joined.get(key)
        if earlier is None:
            self._joined[key] = JoinedRow(row, line)
            return
        try:
            identical = earlier.take(row, line)
        except ValueError as error:
            self.reject(line, f"{error}.", "golden.conflicting-judgments")
            return
        self.note("judgment-rows" if self.join == "same-id" else "joined", line)
        if identical:
            self.note("identical-judgments", line, identical)

    def _keep(self, row: GoldenRow, line: int) -> None:
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
        for joined in self._joined.values():
            self._keep(joined.row, joined.line)
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
        any_of = self._groups(row.any_of, line) if row.any_of else ()
        evidence = self._evidence(row.evidence, line) if row.evidence else ()
        _check_judged(row, judged=bool(relevant or any_of or evidence))
        return Query(
            id=self._id(row.id, "id", line),
            text=text,
            relevant=relevant,
            any_of=any_of,
            evidence=evidence,
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
        if normal.isspace():
            raise RowError(f"an id in `{field}` is empty.")
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

    def _groups(self, any_of: tuple[tuple[Id, ...], ...], line: int) -> tuple[tuple[str, ...], ...]:
        """Groups of alternatives, each once and each member once: a repeated one would count twice in recall."""
        named = [[self._id(member, "any_of", line) for member in group] for group in any_of]
        if not all(named):
            raise RowError("a group in `any_of` is empty.")
        groups: dict[frozenset[str], tuple[str, ...]] = {}
        for group in named:
            groups.setdefault(frozenset(group), tuple(dict.fromkeys(group)))
        if len(groups) < len(named) or any(len(set(group)) < len(group) for group in named):
            self.note("repeated-judgments", line)
        return tuple(groups.values())

    def _evidence(self, evidence: tuple[Evidence, ...], line: int) -> tuple[Evidence, ...]:
        """Items of evidence, each once; white space makes no other quote."""
        _check_evidence(evidence)
        if len(evidence) == 1:
            return evidence
        once: dict[object, Evidence] = {}
        for item in evidence:
            once.setdefault((item.doc, " ".join(item.quote.split()), item.start), item)
        if len(once) < len(evidence):
            self.note("repeated-judgments", line)
        return tuple(once.values())

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
        """False, with a problem noted, when the id was used before; a question asked before is noted."""
        earlier = self._by_id.setdefault(query.id, query)
        if earlier is not query:
            self.reject(
                query.line,
                f'the id "{query.id}" was used before, on line {earlier.line}.',
                "golden.duplicate-id",
            )
            return False
        earlier = self._by_text.setdefault((query.text, asker(query.acl)), query)
        if earlier is not query:
            same = judgments_of(query) == judgments_of(earlier)
            self.note("repeated-queries" if same else "conflicting-judgments", query.line)
        return True


class JoinedRow:
    """A row and those that ask the same for the same access, as one row.

    Attributes:
        row: what is known so far.
        line: of the first row.
    """

    def __init__(self, row: GoldenRow, line: int) -> None:
        self.row = row
        self.line = line
        self._lines = dict.fromkeys(_as_grades(row), line)

    def take(self, other: GoldenRow, line: int) -> int:
        """Add what another row says.

        Returns:
            How many of its judgments were known already.

        Raises:
            ValueError: the two contradict each other; the message names the earlier line.
        """
        row = self.row
        if row.answerable != other.answerable:
            raise ValueError(f"this question is {_can(other)}, but on line {self.line} it is {_can(row)}")
        ids, quotes = (
            (bool(one.relevant or one.any_of) for one in (row, other)),
            (row.evidence, other.evidence),
        )
        if set(ids) == {True, False} and any(quotes):
            raise ValueError(
                f"this question is judged by ids or quotes, and on line {self.line} by the other"
            )
        for name in ("type", "lang", "group"):
            old, new = getattr(row, name), getattr(other, name)
            if old and new and old != new:
                raise ValueError(
                    f'`{name}` is "{new}", but "{old}" for the same question on line {self.line}'
                )
            setattr(row, name, old or new)
        identical = self._add_judgments(other, line)
        row.tags = tuple(dict.fromkeys((*row.tags, *other.tags)))
        row.source = row.source if row.source == other.source else "unknown"
        row.review = row.review if row.review == other.review else "pending"
        return identical

    def _add_judgments(self, other: GoldenRow, line: int) -> int:
        row, mine, theirs = self.row, _as_grades(self.row), _as_grades(other)
        for name, grade in theirs.items():
            if mine.get(name, grade) != grade:
                there = f"{mine[name]} on line {self._lines[name]}"
                raise ValueError(f'"{name}" has grade {grade} here and {there} for the same question')
        identical = len(mine.keys() & theirs.keys())
        identical += len(set(row.evidence) & set(other.evidence)) + len(set(row.any_of) & set(other.any_of))
        self._lines = {**dict.fromkeys(theirs, line), **self._lines}
        row.relevant = mine | theirs
        row.any_of = tuple(dict.fromkeys((*row.any_of, *other.any_of)))
        row.evidence = tuple(dict.fromkeys((*row.evidence, *other.evidence)))
        return identical


def _as_grades(row: GoldenRow) -> dict[str, int]:
    if isinstance(row.relevant, dict):
        return row.relevant
    return {str(name): 1 for name in row.relevant}


def _can(row: GoldenRow) -> str:
    return "answerable" if row.answerable else "unanswerable"


def asker(acl: QueryAcl | None) -> QueryAcl | None:
    """The access in a form that can be compared: groups have no order."""
    if acl is None:
        return None
    return QueryAcl(tenant=acl.tenant, principal=acl.principal, groups=tuple(sorted(set(acl.groups))))


def judgments_of(query: Query) -> tuple[object, ...]:
    """What a query is judged by, in a form that can be compared."""
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


_AGAIN = "`rageval golden import --merge-equal` joins them."

_NOTICES = {
    "integer-ids": "ids given as numbers are read as text ({count} of them).",
    "ids-to-nfc": "ids are compared in Unicode form NFC; {count} were in another form.",
    "negative-grades": "negative grades mean “not judged”, as in trec_eval ({count} rows).",
    "nothing-relevant": "{count} rows judge documents but none as relevant; they score 0.",
    "any-of": "{count} rows list alternatives: any one of them satisfies its group (recall counts groups).",
    "found-texts": "{count} rows quote passages; they were found in the snapshot and are kept as evidence.",
    "repeated-judgments": "what one row judges twice counts once ({count} rows).",
    "identical-judgments": "{count} judgments repeat an earlier one and count once.",
    "repeated-queries": f"{{count}} rows repeat an earlier question with its judgments; each counts. {_AGAIN}",
    "conflicting-judgments": f"{{count}} rows repeat an earlier question but judge it otherwise; each counts. {_AGAIN}",
    "nothing-to-find": "{count} rows name nothing to find (an empty list or null): they are unanswerable.",
    "separator-blanks": "blanks beside the separator are not part of an id ({count} cells).",
    "comments": "{count} lines start with # and are read as comments.",
    "judgment-rows": "{count} rows hold one judgment each and are grouped by their question.",
    "joined": "{count} rows repeat an earlier question and are joined with it.",
}


def _notice(kind: str, count: int, where: str) -> Notice:
    return Notice(code=f"golden.{kind}", text=_NOTICES[kind].format(count=count), where=where)
