"""Turns a foreign row into one of ours, field by field, once it is known which of the file's fields is which."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rageval_action.core.labels.grade_scale import scale_key
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import Evidence, Notice
from rageval_action.core.wording.field_checks import shown
from rageval_action.core.wording.lists import listed
from rageval_action.errors import GoldenError
from rageval_action.golden import field_names, field_values, nested_fields
from rageval_action.golden.access_fields import read_acl
from rageval_action.golden.corpus_lookup import CorpusLookup
from rageval_action.golden.field_refusals import by_map
from rageval_action.golden.query_builder import GoldenRow, Id, QueryBuilder, RowError
from rageval_action.golden.row_faults import kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.golden.containers import Line, Rows
    from rageval_action.golden.reader_types import ReadOptions

IMPORT = "`rageval golden import FILE --snapshot DIR --out golden.jsonl`"
"""The command that resolves what is not an id."""

SOURCES = ("human", "synthetic", "log", "unknown")
REVIEWS = ("accepted", "rejected", "pending")

_NEEDS_CORPUS = {
    "texts": "holds texts, not ids",
    "relevant_prefix": "holds beginnings of ids",
    "relevant_row": "holds row numbers of the corpus",
    "page": "holds pages, not ids",
}


class RowReader:
    """Turns foreign rows into rows of ours. `found` says which of the file's fields is which of ours.

    Args:
        cells: values are texts of a table, which may hold lists.
    """

    def __init__(
        self, builder: QueryBuilder, found: dict[str, str], options: ReadOptions, *, cells: bool
    ) -> None:
        self._builder = builder
        self._found = dict(found)
        self._options = options
        self._cells = cells
        self._corpus = CorpusLookup(options.corpus)
        self._made_ids: dict[str, int] = {}
        self._unanswerable = 0
        self._unjudged: list[tuple[int, str]] = []
        self._row_numbers = "relevant" not in options.fields and (
            field_names.normalise(found.get("relevant", "")) == "gold_id"
        )
        if any(field in found for field in ("relevant", "any_of", "evidence", "quote")):
            for weaker in ("texts", "page", "relevant_prefix", "relevant_row"):
                if weaker not in options.fields:
                    self._found.pop(weaker, None)

    def check_shape(self, names: list[str], path: str) -> None:
        """Refuse a set whose judgments need a corpus when none is given.

        Raises:
            GoldenError: `golden.needs-corpus`.
        """
        for field, why in _NEEDS_CORPUS.items():
            if field in self._found and not self._corpus:
                raise GoldenError(
                    "golden.needs-corpus",
                    f"`{self._found[field]}` {why}, so ranks cannot be scored by it.",
                    hint=_way_out(names, path),
                    where=path,
                )
        if "page" in self._found and "doc" not in self._found:
            raise GoldenError(
                "golden.needs-map",
                f"`{self._found['page']}` holds pages, but no field is known to hold their document.",
                hint=f"Name it: {by_map('doc=FIELD', path)}.",
                where=path,
            )

    def check_words(self, lines: Sequence[Line]) -> None:
        """`source` and `review` are ours only where their words are: elsewhere the fields mean something else."""
        for field, words in (("source", SOURCES), ("review", REVIEWS)):
            if field in self._found and field not in self._options.fields:
                values = (nested_fields.at(line.row, self._found[field]) for line in lines)
                if not any(isinstance(value, str) and value in words for value in values):
                    del self._found[field]

    def read(self, line: Line) -> None:
        """Keep the row, note why it cannot be used, or set it aside because nothing in it says what to find."""
        try:
            row = self._row(line)
        except RowError as error:
            self._builder.reject(line.number, error.text, error.code)
            return
        if row is not None:
            self._builder.add(row, line.number)

    def question(self, line: Line) -> GoldenRow:
        """The row without its judgments.

        Raises:
            RowError: it has no question, or a field of the wrong kind.
        """
        text = self._get(line, "query")
        if not isinstance(text, str):
            raise RowError("the query is missing." if text is None else "the query is not text.")
        row = GoldenRow(
            id=self._id(line, text),
            text=text,
            answerable=self._says_answerable(line) is not False,
            source=self._options.source or "unknown",
            review=self._options.review or "pending",
        )
        self._describe(line, row)
        self._options.used.update(
            f"--{field}" for field in ("source", "review") if self._get(line, field) is None
        )
        return row

    def detected(self, what: str, lines: Rows, path: str) -> Notice:
        """What was read as what, and what was left alone."""
        used = ", ".join(f"{ours}={_shown(theirs)}" for ours, theirs in self._found.items())
        spare = [_shown(name) or "(unnamed)" for name in self._spare(lines)]
        text = f"{what}: {used}." + (f" Not used: {', '.join(spare)}." if spare else "")
        return Notice(code="golden.detected", text=text, where=path)

    def left_out(self, path: str) -> tuple[Notice, ...]:
        """Notices about made-up ids and rows without judgments."""
        found: list[Notice] = []
        if self._made_ids:
            text = f"{sum(self._made_ids.values())} rows have no id; theirs are made of the query's text."
            found.append(Notice(code="golden.made-ids", text=text, where=path))
        if self._unanswerable:
            text = f"{self._unanswerable} rows are unanswerable: they count in the no-answer track only."
            found.append(Notice(code="golden.unanswerable", text=text, where=path))
        if self._unjudged:
            shown = listed([f"{name} (line {number})" for number, name in self._unjudged])
            text = f"{len(self._unjudged)} rows say nothing about what should be found and are left out: {shown}."
            found.append(
                Notice(code="golden.unjudged-rows", text=text, where=f"{path}:{self._unjudged[0][0]}")
            )
        return tuple(found)

    def _spare(self, lines: Rows) -> list[str]:
        """Names of what nothing reads: fields, keys of objects inside fields that are read, and what stands beside."""
        names = list(dict.fromkeys(key for line in lines for key in line.row))
        roots = {field_names.root(theirs, names) for theirs in self._found.values()}
        spare = dict.fromkeys(key for key in names if key not in roots)
        for ours, theirs in self._found.items():
            if ours in ("relevant", "evidence"):
                for line in lines:
                    keys = field_values.spare_keys(nested_fields.at(line.row, theirs), ours)
                    spare.update(dict.fromkeys(f"{theirs}.{key}" for key in keys))
        reached = [theirs for theirs in self._found.values() if theirs not in names]
        for name in nested_fields.nested_names(line.row for line in lines) if reached else ():
            top = field_names.root(name, names)
            near = any(theirs == name or theirs.startswith(f"{name}.") for theirs in reached)
            below = any(name.startswith(f"{other}.") for other in (*reached, *spare))
            if (
                top in roots
                and not near
                and not below
                and any(theirs.startswith(f"{top}.") for theirs in reached)
            ):
                spare[name] = None
        return [*spare, *lines.beside]

    def _row(self, line: Line) -> GoldenRow | None:
        row = self.question(line)
        judged, nothing = self._judge(line, row)
        if nothing and not judged and self._says_answerable(line) is None:
            row.answerable = False
            self._builder.note("nothing-to-find", line.number)
        if not judged and not nothing and row.answerable:
            self._unjudged.append((line.number, f'"{row.id}"'))
            return None
        self._unanswerable += not row.answerable
        return row

    def _get(self, line: Line, field: str) -> Any:
        """The row's value for one of our fields, None when it is absent."""
        if field not in self._found:
            return None
        self._options.used.add(f"--map {field}={self._found[field]}")
        value = nested_fields.at(line.row, self._found[field])
        if self._cells and field_values.is_absent_word(value) and field != "query":
            if field == "id":
                raise RowError(
                    f'`{self._found["id"]}` is "{value}": a missing value, or an id? Give the row an id.'
                )
            return None
        if field == "id" and isinstance(value, str) and not self._cells:
            return value
        return None if field_values.is_absent(value) else value

    def _id(self, line: Line, text: str) -> Id:
        name = self._get(line, "id")
        if name is not None:
            return field_values.one_id(name, self._found["id"], self._options)
        made = f"q-{text_hash(text)[:8]}"
        if self._builder.join != "never":
            self._made_ids[made] = self._made_ids.get(made, 0) + 1
            return made
        count = self._made_ids[made] = self._made_ids.get(made, 0) + 1
        return made if count == 1 else f"{made}-{count}"

    def _says_answerable(self, line: Line) -> bool | None:
        """Whether a field says that the question has an answer; None when none does."""
        yes, no = self._get(line, "answerable"), self._get(line, "unanswerable")
        if yes is not None:
            return field_values.truth(yes, self._found["answerable"])
        return None if no is None else not field_values.truth(no, self._found["unanswerable"])

    def _judge(self, line: Line, row: GoldenRow) -> tuple[bool, bool]:
        """Fill in what should be found.

        Returns:
            Whether something says so, and whether something says outright that nothing should be found.
        """
        judged = nothing = False
        for field in field_names.JUDGING:
            if field not in self._found:
                continue
            value = self._get(line, field)
            if (self._cells or self._options.separator) and isinstance(value, str):
                value = self._cell(field, value, line.number)
            if value is None or field_values.is_nothing(value):
                nothing |= value is not None or self._is_null(line, field)
                continue
            judged = True
            self._fill(field, value, line, row)
        return judged, nothing

    def _is_null(self, line: Line, field: str) -> bool:
        """True when the row has the field and writes null; a blank cell says nothing."""
        theirs = self._found[field]
        parent, _, last = theirs.rpartition(".")
        holder = (
            line.row if theirs in line.row else nested_fields.at(line.row, parent) if parent else line.row
        )
        name = theirs if theirs in line.row else last
        return not self._cells and isinstance(holder, dict) and name in holder and holder[name] is None

    def _cell(self, field: str, cell: str, number: int) -> Any:
        """What a cell holds. A text may hold any character; it is a list only when it is written as one."""
        is_text = field in ("quote", "texts", "evidence")
        if is_text and cell.lstrip()[:1] != "[" and not self._options.separator:
            return cell
        if "grade" in self._found:
            return cell
        value = field_values.unpack_cell(cell, self._found[field], self._options, self._corpus.ids)
        mark = self._options.separator
        if mark and isinstance(value, list) and value != cell.split(mark) and not is_text and mark in cell:
            self._builder.note("separator-blanks", number)
        return value

    def _fill(self, field: str, value: Any, line: Line, row: GoldenRow) -> None:
        name, options, corpus = self._found[field], self._options, self._corpus
        items = value if isinstance(value, list) else [value]
        if field == "relevant":
            row.relevant = self._relevant(value, line)
        elif field == "any_of":
            row.any_of = field_values.groups(value, name, options)
            if any(len(group) > 1 for group in row.any_of):
                self._builder.note("any-of", line.number)
        elif field == "relevant_row":
            row.relevant = [corpus.at_row(_whole(item, name, "a row number")) for item in items]
        elif field == "relevant_prefix":
            prefixes = [str(field_values.one_id(item, name, options)) for item in items]
            row.relevant = [found for prefix in prefixes for found in corpus.with_prefix(prefix)]
        elif field == "evidence":
            row.evidence = self._evidence(field_values.spans(value, name), line)
        elif field == "texts":
            row.evidence = tuple(corpus.evidence_for(str(item)) for item in items)
            self._builder.note("found-texts", line.number)
        elif field == "quote":
            row.evidence = self._evidence([str(item) for item in items], line)
        else:
            doc = self._doc(line) or ""
            row.relevant = [found for page in items for found in corpus.on_page(doc, page)]

    def _relevant(self, value: Any, line: Line) -> dict[str, int] | list[Id]:
        """Ids with their grades; `gold_id` may hold row numbers instead."""
        items = value if isinstance(value, list) else [value]
        if "grade" in self._found:
            return self._graded(value, line)
        if self._row_numbers and all(type(item) is int for item in items):
            return [self._row_or_id(item) for item in items]
        return field_values.judged(value, self._found["relevant"], self._options)

    def _graded(self, value: Any, line: Line) -> dict[str, int]:
        """The one judgment of a row that has a field for the grade."""
        name = str(field_values.one_id(value, self._found["relevant"], self._options))
        grade = self._get(line, "grade")
        if grade is None:
            raise RowError(f'`{self._found["grade"]}` is missing: the grade of "{name}".')
        known = scale_key(grade) in self._options.grades
        return {name: field_values.grade_of(grade if known else _yes_or_no(grade), self._options, name)}

    def _row_or_id(self, number: int) -> str:
        if not self._corpus:
            name = self._found["relevant"]
            raise RowError(
                f"`{name}` holds numbers: ids or row numbers of the corpus? Say {by_map(f'relevant={name}')}, "
                f"or {by_map(f'relevant_row={name}', more=' --snapshot DIR')}."
            )
        return str(number) if str(number) in self._corpus.ids else self._corpus.at_row(number)

    def _doc(self, line: Line) -> str | None:
        """The document that a quote or a page belongs to."""
        doc = self._get(line, "doc")
        return None if doc is None else str(field_values.one_id(doc, self._found["doc"], self._options))

    def _evidence(self, spans: list[field_values.Span] | list[str], line: Line) -> tuple[Evidence, ...]:
        doc, start = self._doc(line), self._get(line, "start")
        found: list[Evidence] = []
        for span in spans:
            if isinstance(span, field_values.Span):
                if not span.quote and not self._corpus:
                    raise RowError(f"a span has no text; have it cut out of a snapshot: {IMPORT}.")
                found.append(self._corpus.evidence_at(span))
            elif doc is not None:
                at = -1
                if start is not None and len(spans) == 1:
                    at = _whole(start, self._found["start"], "an offset")
                found.append(Evidence(doc=doc, quote=span, start=at))
            elif self._corpus:
                found.append(self._corpus.evidence_for(span))
            else:
                raise RowError(
                    f"a quote names no document: say {by_map('doc=FIELD')}, or have it found by {IMPORT}."
                )
        return tuple(found)

    def _describe(self, line: Line, row: GoldenRow) -> None:
        """Tags, access and the other fields that do not judge."""
        tags = self._get(line, "tags")
        if isinstance(tags, str):
            tags = re.split(r"[,|;]", tags) if self._cells else [tags]
        if tags is not None and not isinstance(tags, list | tuple | dict):
            raise RowError(f"`{self._found['tags']}` is {kind(tags)}; tags are a text or a list of them.")
        row.tags = tuple(str(tag).strip() for tag in tags or () if str(tag).strip())
        row.type, row.lang = (str(self._get(line, field) or "") for field in ("type", "lang"))
        row.group = str(self._get(line, "group") or "")
        source, review = (self._word(line, *pair) for pair in (("source", SOURCES), ("review", REVIEWS)))
        if source:
            row.source = source
        if review:
            row.review = review
        acl, tenant, principal = (self._get(line, field) for field in ("acl", "tenant", "principal"))
        if acl is not None and (tenant is not None or principal is not None):
            raise RowError("access is named twice: by `acl` and beside it.")
        if acl is not None:
            row.acl = read_acl(acl)
        elif tenant is not None or principal is not None:
            row.acl = read_acl({"tenant": tenant, "principal": principal})

    def _word(self, line: Line, field: str, words: tuple[str, ...]) -> Any:
        """One of our words; another one in a field that holds them is an error."""
        value = self._get(line, field)
        if value is None or value in words:
            return value
        raise RowError(f"`{self._found[field]}` is {shown(value)}, none of {', '.join(words)}.")


def _yes_or_no(grade: Any) -> Any:
    """`yes` and `no`, `true` and `false` in a cell as what they say; anything else as it is."""
    return {"true": True, "yes": True, "false": False, "no": False}.get(str(grade).strip().lower(), grade)


def _shown(name: str) -> str:
    """A field's name in a list; quoted where its end could be taken for that of the sentence."""
    return name if re.fullmatch(r"([\w .-]*\w)?", name) else f'"{name}"'


def _way_out(names: list[str], path: str) -> str:
    """What a user can do with judgments that are no ids."""
    found = f"Have them found in the chunks of a snapshot: {IMPORT}."
    file = next((name for name in names if field_names.normalise(name) in field_names.FILE_NAMES), "FIELD")
    return f"{found} Or measure by the ids of documents: {by_map(f'relevant={file}', path)}."


_WHOLE = re.compile(r"\d{1,18}(\.0)?", re.ASCII)


def _whole(item: object, field: str, what: str) -> int:
    text = str(item).strip()
    if isinstance(item, bool) or not _WHOLE.fullmatch(text):
        raise RowError(f"`{field}` is {shown(item)}; {what} is a whole number from 0.")
    return int(text.partition(".")[0])
