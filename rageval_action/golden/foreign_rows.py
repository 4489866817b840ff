"""Golden sets in containers of rows: JSON Lines, JSON, CSV, YAML, Parquet, with whatever field names they use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import Evidence, GoldenSet, Notice, QueryAcl
from rageval_action.core.wording.field_checks import shown
from rageval_action.core.wording.lists import listed
from rageval_action.core.wording.problem_list import Problems
from rageval_action.errors import GoldenError
from rageval_action.golden import containers, field_names, field_values
from rageval_action.golden.corpus_file import read_corpus
from rageval_action.golden.corpus_lookup import CorpusLookup
from rageval_action.golden.field_refusals import by_map, no_query, no_relevance, no_such_field
from rageval_action.golden.input_files import joint_path, joint_sha256, require
from rageval_action.golden.query_builder import GoldenRow, Id, QueryBuilder, RowError
from rageval_action.golden.row_faults import kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from rageval_action.golden.containers import Line
    from rageval_action.golden.reader_types import Part, Parts, ReadOptions

IMPORT = "`rageval golden import FILE --snapshot DIR --out golden.jsonl`"
"""The command that resolves what is not an id."""

_NEEDS_CORPUS = {
    "texts": "holds texts, not ids",
    "relevant_prefix": "holds beginnings of ids",
    "relevant_row": "holds row numbers of the corpus",
    "page": "holds pages, not ids",
}


def read_jsonl(parts: Parts, options: ReadOptions) -> GoldenSet:
    """JSON Lines with any field names."""
    return _read(parts, options, "jsonl", containers.read_jsonl)


def read_json(parts: Parts, options: ReadOptions) -> GoldenSet:
    """A JSON array, bare or inside an object."""
    return _read(parts, options, "json", containers.read_json)


def read_csv(parts: Parts, options: ReadOptions) -> GoldenSet:
    """CSV with a header: comma, semicolon or tab."""
    return _read(parts, options, "csv", containers.read_csv)


def read_yaml(parts: Parts, options: ReadOptions) -> GoldenSet:
    """A YAML sequence, bare or inside a mapping."""
    return _read(parts, options, "yaml", containers.read_yaml)


def read_parquet(parts: Parts, options: ReadOptions) -> GoldenSet:
    """Parquet, as AutoRAG writes it (extra `[parquet]`)."""
    return _read(parts, options, "parquet", containers.read_parquet)


def _read(
    parts: Parts, options: ReadOptions, name: str, rows_of: Callable[[Part, Problems], list[Line]]
) -> GoldenSet:
    (part,) = require(parts, "rows", optional=("corpus",))
    builder = QueryBuilder(part.path, repeats="note")
    lines = rows_of(part, builder.problems)
    if "corpus" in parts and not options.corpus:
        options = msgspec.structs.replace(options, corpus=read_corpus(parts["corpus"]))
    return from_lines(lines, parts, options, name, builder)


def from_lines(
    lines: list[Line], parts: Parts, options: ReadOptions, name: str, builder: QueryBuilder
) -> GoldenSet:
    """Turn rows into a golden set; shared with the shapes that are unfolded into rows first."""
    part = parts["rows"]
    if not lines:
        builder.problems.raise_if_any()
        raise GoldenError("golden.empty", "the file holds no rows.", where=part.path)
    names = list(dict.fromkeys(key for line in lines for key in line.row))
    for ours, theirs in options.fields.items():
        if field_names.root(theirs, names) not in names:
            raise no_such_field(f"{ours}={theirs}", theirs, names, part.path)
    found, rivals = field_names.choose(names, options.fields)
    if "query" not in found:
        raise no_query(names, part.path, lines)
    if rivals or not any(field in found for field in field_names.JUDGING):
        raise no_relevance(names, part.path, lines, rivals)
    reader = _RowReader(builder, found, options, cells=name == "csv")
    reader.check_shape(names, part.path)
    for line in lines:
        reader.read(line)
    queries, notices = builder.finish()
    return GoldenSet(
        queries=queries,
        format=name,
        path=joint_path(parts),
        sha256=joint_sha256(parts),
        notices=(reader.detected(name, names, part.path), *notices, *reader.left_out(part.path)),
    )


class _RowReader:
    """Turns foreign rows into rows of ours. `found` says which of the file's fields is which of ours."""

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

    def read(self, line: Line) -> None:
        """Keep the row, note why it cannot be used, or set it aside because nothing in it says what to find."""
        try:
            row = self._row(line)
        except RowError as error:
            self._builder.reject(line.number, error.text, error.code)
            return
        if row is not None:
            self._builder.add(row, line.number)

    def detected(self, name: str, names: list[str], path: str) -> Notice:
        """What was read as what, and what was left alone."""
        used = ", ".join(f"{ours}={_shown(theirs)}" for ours, theirs in self._found.items())
        taken = {field_names.root(theirs, names) for theirs in self._found.values()}
        spare = [_shown(key) or "(unnamed)" for key in names if key not in taken]
        text = f"read as {name}: {used}." + (f" Not used: {', '.join(spare)}." if spare else "")
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

    def _row(self, line: Line) -> GoldenRow | None:
        text = self._get(line, "query")
        if not isinstance(text, str):
            raise RowError("the query is missing." if text is None else "the query is not text.")
        row = GoldenRow(id=self._id(line, text), text=text, answerable=self._answerable(line))
        judged = self._judge(line, row)
        if not judged and row.answerable:
            self._unjudged.append((line.number, f'"{row.id}"'))
            return None
        self._unanswerable += not row.answerable
        self._describe(line, row)
        return row

    def _get(self, line: Line, field: str) -> Any:
        """The row's value for one of our fields, None when it is absent."""
        if field not in self._found:
            return None
        value = field_values.at(line.row, self._found[field])
        return None if field_values.is_absent(value) else value

    def _id(self, line: Line, text: str) -> Id:
        name = self._get(line, "id")
        if name is not None:
            return field_values.one_id(name, self._found["id"], self._options)
        made = f"q-{text_hash(text)[:8]}"
        count = self._made_ids[made] = self._made_ids.get(made, 0) + 1
        return made if count == 1 else f"{made}-{count}"

    def _answerable(self, line: Line) -> bool:
        yes, no = self._get(line, "answerable"), self._get(line, "unanswerable")
        if yes is not None:
            return field_values.truth(yes, self._found["answerable"])
        return no is None or not field_values.truth(no, self._found["unanswerable"])

    def _judge(self, line: Line, row: GoldenRow) -> bool:
        """Fill in what should be found; False when the row has no such field."""
        present = False
        for field in field_names.JUDGING:
            value = self._get(line, field)
            if value is None:
                continue
            present = True
            if self._cells and isinstance(value, str):
                value = self._cell(field, value)
            self._fill(field, value, line, row)
        return present

    def _cell(self, field: str, cell: str) -> Any:
        """What a CSV cell holds. A text may hold any character; it is a list only when it is written as one."""
        is_text = field in ("quote", "texts", "evidence")
        if is_text and cell.lstrip()[:1] != "[" and not self._options.separator:
            return cell
        return field_values.unpack_cell(cell, self._found[field], self._options, self._corpus.ids)

    def _fill(self, field: str, value: Any, line: Line, row: GoldenRow) -> None:
        name, options, corpus = self._found[field], self._options, self._corpus
        items = value if isinstance(value, list) else [value]
        if field == "relevant" and self._row_numbers and all(type(item) is int for item in items):
            row.relevant = [self._row_or_id(item) for item in items]
        elif field == "relevant":
            row.relevant = field_values.judged(value, name, options)
        elif field == "any_of":
            row.any_of = field_values.groups(value, name, options)
            if any(len(group) > 1 for group in row.any_of):
                self._builder.note("any-of", line.number)
        elif field == "relevant_row":
            row.relevant = [corpus.at_row(_whole(item, name, "a row number")) for item in items]
        elif field == "relevant_prefix":
            row.relevant = [found for item in items for found in corpus.with_prefix(str(item))]
        elif field == "evidence":
            row.evidence = self._evidence(field_values.spans(value, name), line)
        elif field == "texts":
            row.evidence = tuple(corpus.evidence_for(str(item)) for item in items)
            self._builder.note("found-texts", line.number)
        elif field == "quote":
            row.evidence = self._evidence([str(item) for item in items], line)
        else:
            doc = str(self._get(line, "doc"))
            row.relevant = [found for page in items for found in corpus.on_page(doc, page)]

    def _row_or_id(self, number: int) -> str:
        if not self._corpus:
            name = self._found["relevant"]
            raise RowError(
                f"`{name}` holds numbers: ids or row numbers of the corpus? Say {by_map(f'relevant={name}')}, "
                f"or {by_map(f'relevant_row={name}', more=' --snapshot DIR')}."
            )
        return str(number) if str(number) in self._corpus.ids else self._corpus.at_row(number)

    def _evidence(self, spans: list[field_values.Span] | list[str], line: Line) -> tuple[Evidence, ...]:
        doc, start = self._get(line, "doc"), self._get(line, "start")
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
                found.append(Evidence(doc=str(doc), quote=span, start=at))
            elif self._corpus:
                found.append(self._corpus.evidence_for(span))
            else:
                raise RowError(
                    f"a quote names no document: say {by_map('doc=FIELD')}, or have it found by {IMPORT}."
                )
        return tuple(found)

    def _describe(self, line: Line, row: GoldenRow) -> None:
        """Tags and the other fields that only describe; a `source` that is no word of ours is a file and left alone."""
        tags = self._get(line, "tags")
        if isinstance(tags, str):
            tags = re.split(r"[,|;]", tags) if self._cells else [tags]
        if tags is not None and not isinstance(tags, list | tuple | dict):
            raise RowError(f"`{self._found['tags']}` is {kind(tags)}; tags are a text or a list of them.")
        row.tags = tuple(str(tag).strip() for tag in tags or () if str(tag).strip())
        row.type, row.lang = (str(self._get(line, field) or "") for field in ("type", "lang"))
        row.group = str(self._get(line, "group") or "")
        source, review, acl = (self._get(line, field) for field in ("source", "review", "acl"))
        if source in ("human", "synthetic", "log"):
            row.source = source
        if review in ("accepted", "rejected", "pending"):
            row.review = review
        if acl is not None:
            row.acl = _acl(acl)


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


def _acl(value: object) -> QueryAcl:
    try:
        if isinstance(value, str):
            return msgspec.json.decode(value, type=QueryAcl)
        return msgspec.convert(value, QueryAcl)
    except msgspec.MsgspecError as fault:
        raise RowError(f"`acl` cannot be read: {fault}.") from fault
