"""SQuAD and its kin (DRCD, CMRC): questions nested in the paragraph that answers them.

The paragraph is the evidence, but it names no chunk of the index; so the set can be measured only where a snapshot
says which document holds each paragraph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rageval_action.errors import GoldenError
from rageval_action.golden.containers import Line, Rows, bad_json
from rageval_action.golden.corpus_file import read_corpus
from rageval_action.golden.foreign_rows import from_lines
from rageval_action.golden.input_files import require
from rageval_action.golden.json_values import RepeatedKeyError, decode
from rageval_action.golden.query_builder import QueryBuilder
from rageval_action.golden.row_reader import IMPORT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rageval_action.core.model.types import GoldenSet
    from rageval_action.golden.reader_types import Parts, ReadOptions


def read(parts: Parts, options: ReadOptions) -> GoldenSet:
    """One query a question; its paragraph is looked up in the corpus.

    Raises:
        GoldenError: `golden.needs-corpus` without a snapshot or corpus, `golden.bad-json`, or every problem.
    """
    (part,) = require(parts, "rows", optional=("corpus",))
    if "corpus" in parts and not options.corpus:
        options = msgspec.structs.replace(options, corpus=read_corpus(parts["corpus"]))
    if not options.corpus:
        raise GoldenError(
            "golden.needs-corpus",
            "questions are nested in the paragraphs that answer them (SQuAD), and `context` is a text, not an id.",
            hint=f"Have the paragraphs found in a snapshot: {IMPORT}; or convert to rows of `query` and `relevant`.",
            where=part.path,
        )
    try:
        table = decode(part.data)
        lines = Rows((Line(number, row) for number, row in enumerate(_rows(table), start=1)), _beside(table))
    except (msgspec.MsgspecError, RepeatedKeyError) as fault:
        raise bad_json(fault, part) from fault
    except (KeyError, TypeError, AttributeError) as fault:
        text = f"the nesting is not SQuAD's: {fault!r}."
        raise GoldenError("golden.bad-json", text, where=part.path) from fault
    return from_lines(lines, parts, options, "squad", QueryBuilder(part.path))


def _beside(table: Any) -> list[str]:
    """Keys of every level that nothing reads."""
    paragraphs = [paragraph for article in table["data"] for paragraph in article["paragraphs"]]
    levels: list[tuple[str, list[Any], set[str]]] = [
        ("", [table], {"data"}),
        ("data.", table["data"], {"paragraphs"}),
        ("paragraphs.", paragraphs, {"context", "qas"}),
        (
            "qas.",
            [one for paragraph in paragraphs for one in paragraph["qas"]],
            {"id", "question", "is_impossible"},
        ),
    ]
    return [
        f"{level}{name}"
        for level, objects, read in levels
        for name in dict.fromkeys(name for one in objects for name in one)
        if name not in read
    ]


def _rows(table: Any) -> Iterator[dict[str, Any]]:
    for article in table["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                yield {
                    "id": question["id"],
                    "question": question["question"],
                    "contexts": [] if question.get("is_impossible") else [paragraph["context"]],
                    "is_impossible": question.get("is_impossible", False),
                }
