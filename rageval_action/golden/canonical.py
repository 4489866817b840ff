"""The canonical golden set: JSON Lines, one query a line.

Every line is decoded straight into a typed row. Only a line that does not fit is looked at again, by its plain
values; so the cost of a good file is the cost of decoding it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rageval_action.core.labels.grade_scale import whole_grade
from rageval_action.core.model.types import Evidence, GoldenSet, Notice
from rageval_action.golden import json_values
from rageval_action.golden.access_fields import read_acl
from rageval_action.golden.containers import refuse_lone_returns
from rageval_action.golden.field_names import ACL_FIELDS, is_judging, normalise
from rageval_action.golden.field_values import is_nothing
from rageval_action.golden.input_files import joint_sha256, require
from rageval_action.golden.query_builder import GoldenRow, QueryBuilder, RowError
from rageval_action.golden.row_faults import explain, unknown_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from rageval_action.golden.reader_types import Parts, ReadOptions

JUDGED = ("relevant", "any_of", "evidence")
"""Keys that say what should be found."""


class CanonicalRow(GoldenRow, kw_only=True, gc=False):
    """A line under its wire names. `provenance` (how a generated row came about) does not bear on scores."""

    provenance: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _QuotedEvidence(Evidence, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Evidence with what generation writes beside it and nobody reads here."""

    end: int = -1
    hash: str = ""


class _Strict(CanonicalRow, kw_only=True, gc=False, forbid_unknown_fields=True):
    """The same, refusing keys it does not know, so that they are noticed."""

    evidence: tuple[_QuotedEvidence, ...] = ()


KEYS = frozenset(CanonicalRow.__struct_encode_fields__)
"""Keys that a canonical row may have."""


def read(parts: Parts, options: ReadOptions) -> GoldenSet:
    """Read canonical JSON Lines; where rows say what should be found under other names, as `jsonl` reads it.

    Raises:
        GoldenError: with every problem of the file.
    """
    (part,) = require(parts, "rows", optional=("corpus",))
    refuse_lone_returns(part)
    builder = QueryBuilder(part.path, join="always" if options.merge_equal else "never")
    reader = _LineReader(builder, options)
    for number, line in enumerate(part.data.split(b"\n"), start=1):
        reader.read(line, number)
    if reader.other_names:
        from rageval_action.golden.foreign_rows import read_jsonl

        return read_jsonl(parts, options)
    queries, notices = builder.finish()
    return GoldenSet(
        queries=queries,
        format="canonical",
        path=part.path,
        sha256=joint_sha256(parts),
        notices=notices + reader.notices(part.path),
    )


def _plain(evidence: tuple[_QuotedEvidence, ...]) -> Any:
    return tuple(Evidence(doc=item.doc, quote=item.quote, start=item.start) for item in evidence)


class _LineReader:
    """Decodes lines; once it has met an unknown key it looks at plain values at once and no longer fails on each.

    Attributes:
        other_names: a row without `relevant`, `any_of` and `evidence` has a field that means one of them.
    """

    def __init__(self, builder: QueryBuilder, options: ReadOptions) -> None:
        self.other_names = False
        self._builder = builder
        self._options = options
        self._strict: Callable[[bytes], _Strict] = msgspec.json.Decoder(_Strict).decode
        self._unknown: dict[str, int] = {}

    def read(self, line: bytes, number: int) -> None:
        """Decode one line into the builder; blank lines are skipped."""
        row: GoldenRow | None = None
        options = self._options
        if not (self._unknown or options.grades or options.source or options.review):
            try:
                row = self._quick(line)
            except msgspec.MsgspecError:
                if not line.strip():
                    return
        if row is None:
            row = self._closer(line, number) if line.strip() else None
        if row is not None:
            self._builder.add(row, number)

    def notices(self, path: str) -> tuple[Notice, ...]:
        """One notice naming the keys that nothing reads."""
        if not self._unknown:
            return ()
        names = ", ".join(f"`{name}`" for name in sorted(self._unknown))
        first = min(self._unknown.values())
        text = f"Not used: {names}."
        return (Notice(code="golden.unknown-keys", text=text, where=f"{path}:{first}"),)

    def _quick(self, line: bytes) -> GoldenRow | None:
        """The row, or None where its plain values must be looked at: a key may stand twice, or nothing is judged."""
        row = self._strict(line)
        count = line.count
        if count(b'"id"') > 1 or count(b'"query"') > 1 or count(b'"relevant"') > 1 or count(b'"acl"') > 1:
            return None
        rare = row.evidence or row.any_of or not row.answerable
        if rare and (count(b'"evidence"') > 1 or count(b'"any_of"') > 1 or count(b'"answerable"') > 1):
            return None
        relevant = row.relevant
        if not relevant and not row.any_of and not row.evidence and row.answerable:
            return None
        if type(relevant) is dict:
            start = line.find(b'"relevant"')
            if line.count(b'":', start + 11, line.find(b"}", start)) != len(relevant):
                return None
        if row.evidence:
            row.evidence = _plain(row.evidence)
        return row

    def _closer(self, line: bytes, number: int) -> CanonicalRow | None:
        """The row by its plain values, under the names that access has elsewhere; None when it cannot be used."""
        try:
            values = json_values.decode(line)
        except (msgspec.DecodeError, json_values.RepeatedKeyError) as fault:
            self._builder.reject(number, json_values.not_json(fault, line))
            return None
        if not isinstance(values, dict):
            self._builder.reject(number, explain(values))
            return None
        try:
            self._settle(values, number)
            values.pop("provenance", None)
            for name, declared in (("source", self._options.source), ("review", self._options.review)):
                if declared and name not in values:
                    values[name] = declared
                    self._options.used.add(f"--{name}")
            row = msgspec.convert(values, CanonicalRow)
        except RowError as error:
            self._builder.reject(number, error.text, error.code)
        except (msgspec.ValidationError, ValueError) as error:
            self._builder.reject(number, explain(values, error))
        else:
            return row
        return None

    def _settle(self, values: dict[str, Any], number: int) -> None:
        """Bring access and grades into our form, note unknown keys, and say what names nothing to find."""
        access = _settle_access(values)
        for name in unknown_keys(values, KEYS):
            if name not in access:
                self._unknown.setdefault(name, number)
        judging = [name for name in JUDGED if name in values]
        if values.get("answerable") is None and all(is_nothing(values[name]) for name in judging):
            if judging:
                values["answerable"] = False
                self._builder.note("nothing-to-find", number)
            elif any(is_judging(name) for name in values):
                self.other_names = True
        nulls = [name for name, value in values.items() if value is None and name in KEYS - {"id", "query"}]
        nulls += [name for name in judging if values[name] is not None and is_nothing(values[name])]
        for name in nulls:
            del values[name]
        if isinstance(values.get("relevant"), dict):
            self._options.used.add("--grade-map")
            scale = self._options.grades
            values["relevant"] = {
                name: whole_grade(grade, scale, name) for name, grade in values["relevant"].items()
            }


def _settle_access(values: dict[str, Any]) -> list[str]:
    """Put access under `acl`, whatever the row calls it; the names that were used."""
    whole = [name for name in values if normalise(name) in ACL_FIELDS["acl"]]
    parts = {
        ours: name
        for ours in ("tenant", "principal")
        for name in values
        if normalise(name) in ACL_FIELDS[ours]
    }
    if len(whole) > 1 or (whole and parts):
        both = ", ".join(f"`{name}`" for name in (*whole, *parts.values()))
        raise RowError(f"access is named twice: {both}.")
    if whole and values[whole[0]] is not None:
        values["acl"] = read_acl(values[whole[0]])
    elif parts:
        values["acl"] = read_acl({ours: values[name] for ours, name in parts.items()})
    return [*whole, *parts.values()]
