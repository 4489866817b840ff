"""The canonical golden set: JSON Lines, one query a line.

Every line is decoded straight into a typed row. Only a line that does not fit is looked at again, to say why;
so the cost of a good file is the cost of decoding it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rageval_action.core.model.types import GoldenSet, Notice
from rageval_action.golden.input_files import joint_sha256, require
from rageval_action.golden.query_builder import GoldenRow, QueryBuilder
from rageval_action.golden.row_faults import explain, unknown_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from rageval_action.golden.reader_types import Parts, ReadOptions


class CanonicalRow(GoldenRow, kw_only=True, gc=False):
    """A line under its wire names. `provenance` (how a generated row came about) does not bear on scores."""

    provenance: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _Strict(CanonicalRow, kw_only=True, gc=False, forbid_unknown_fields=True):
    """The same, refusing keys it does not know, so that they are noticed."""


KEYS = frozenset(CanonicalRow.__struct_encode_fields__)
"""Keys that a canonical row may have."""


def read(parts: Parts, options: ReadOptions) -> GoldenSet:
    """Read canonical JSON Lines.

    Raises:
        GoldenError: with every problem of the file.
    """
    del options
    (part,) = require(parts, "rows")
    builder = QueryBuilder(part.path)
    reader = _LineReader(builder)
    for number, line in enumerate(part.data.split(b"\n"), start=1):
        reader.read(line, number)
    queries, notices = builder.finish()
    return GoldenSet(
        queries=queries,
        format="canonical",
        path=part.path,
        sha256=joint_sha256(parts),
        notices=notices + reader.notices(part.path),
    )


class _LineReader:
    """Decodes lines; once it has met an unknown key it looks for them first and no longer fails on each."""

    def __init__(self, builder: QueryBuilder) -> None:
        self._builder = builder
        self._strict: Callable[[bytes], _Strict] = msgspec.json.Decoder(_Strict).decode
        self._loose: Callable[[bytes], CanonicalRow] = msgspec.json.Decoder(CanonicalRow).decode
        self._keys: Callable[[bytes], dict[str, msgspec.Raw]] = msgspec.json.Decoder(
            dict[str, msgspec.Raw]
        ).decode
        self._unknown: dict[str, int] = {}

    def read(self, line: bytes, number: int) -> None:
        """Decode one line into the builder; blank lines are skipped."""
        try:
            row = self._loose_row(line, number) if self._unknown else self._strict(line)
        except msgspec.MsgspecError:
            if not line.strip():
                return
            try:
                row = self._loose_row(line, number)
            except msgspec.MsgspecError as error:
                self._builder.reject(number, explain(line, error))
                return
        self._builder.add(row, number)

    def notices(self, path: str) -> tuple[Notice, ...]:
        """One notice naming the keys that nothing reads."""
        if not self._unknown:
            return ()
        names = ", ".join(f"`{name}`" for name in sorted(self._unknown))
        first = min(self._unknown.values())
        text = f"keys that are not part of a golden set are ignored: {names}."
        return (Notice(code="golden.unknown-keys", text=text, where=f"{path}:{first}"),)

    def _loose_row(self, line: bytes, number: int) -> CanonicalRow:
        row = self._loose(line)
        for name in unknown_keys(self._keys(line), KEYS):
            self._unknown.setdefault(name, number)
        return row
