"""LlamaIndex's `EmbeddingQAFinetuneDataset`: one object `{queries, corpus, relevant_docs}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rageval_action.core.model.types import GoldenSet, Notice
from rageval_action.core.wording.lists import listed
from rageval_action.golden.containers import bad_json
from rageval_action.golden.input_files import joint_sha256, require
from rageval_action.golden.json_values import RepeatedKeyError, refuse_repeats
from rageval_action.golden.query_builder import GoldenRow, QueryBuilder

if TYPE_CHECKING:
    from rageval_action.golden.reader_types import Parts, ReadOptions


class _Set(Struct):
    queries: dict[str, str]
    relevant_docs: dict[str, list[str]]
    corpus: dict[str, msgspec.Raw] = {}


_READ = frozenset(_Set.__struct_encode_fields__)


def read(parts: Parts, options: ReadOptions) -> GoldenSet:
    """Read the object. Its corpus is only used to say which judged ids it does not hold.

    Raises:
        GoldenError: with every problem; rows have no lines here, so the file is named.
    """
    (part,) = require(parts, "rows")
    try:
        table = msgspec.json.decode(part.data, type=_Set)
        refuse_repeats(part.data)
        spare = [
            name for name in msgspec.json.decode(part.data, type=dict[str, msgspec.Raw]) if name not in _READ
        ]
    except (msgspec.MsgspecError, RepeatedKeyError) as fault:
        raise bad_json(fault, part) from fault
    options.used.update(("--source", "--review"))
    builder = QueryBuilder(part.path, join="always" if options.merge_equal else "never")
    unjudged = [name for name in table.queries if name not in table.relevant_docs]
    for row, (name, text) in enumerate(table.queries.items(), start=1):
        if name in table.relevant_docs:
            builder.add(
                GoldenRow(
                    id=name,
                    text=text,
                    relevant=list(table.relevant_docs[name]),
                    answerable=bool(table.relevant_docs[name]),
                    source=options.source or "unknown",
                    review=options.review or "pending",
                ),
                row,
            )
            if not table.relevant_docs[name]:
                builder.note("nothing-to-find", row)
    for name in table.relevant_docs:
        if name not in table.queries:
            builder.problems.add("golden.no-topic", part.path, f'"{name}" has judgments but no query.')
    queries, notices = builder.finish()
    more: list[Notice] = []
    if unjudged:
        text = f"{len(unjudged)} queries have no judgments and are left out: {listed(unjudged)}."
        more.append(Notice(code="golden.unjudged-topics", text=text, where=part.path))
    if spare:
        more.append(Notice(code="golden.detected", text=f"Not used: {', '.join(spare)}.", where=part.path))
    lost = sorted({doc for docs in table.relevant_docs.values() for doc in docs} - set(table.corpus))
    if table.corpus and lost:
        text = f"{len(lost)} judged documents are not in the set's own corpus: {listed(lost)}."
        more.append(Notice(code="golden.dangling-ids", text=text, where=part.path))
    return GoldenSet(
        queries=queries,
        format="llamaindex",
        path=part.path,
        sha256=joint_sha256(parts),
        notices=(*notices, *more),
    )
