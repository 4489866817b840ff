"""Queries and judgments in two files: `queries=FILE,qrels=FILE`, in the layouts of TREC, BEIR and ranx."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from rageval_action.core.model.types import GoldenSet, Notice
from rageval_action.core.wording.lists import listed
from rageval_action.errors import GoldenError
from rageval_action.golden.corpus_file import read_corpus
from rageval_action.golden.input_files import joint_path, joint_sha256, require
from rageval_action.golden.judgment_file import Grades, read_judgments
from rageval_action.golden.query_builder import QueryBuilder
from rageval_action.golden.topic_file import read_topics

if TYPE_CHECKING:
    from rageval_action.golden.query_builder import GoldenRow
    from rageval_action.golden.reader_types import Part, Parts, ReadOptions


def read(parts: Parts, options: ReadOptions) -> GoldenSet:
    """Join queries and judgments by query id.

    A query that nobody judged is left out and counted in a notice, as trec_eval does. A judged query without
    a text is an error: the usual reason is that the two files number queries differently. A text that occurs
    twice is two queries, with a notice.

    Raises:
        GoldenError: with every problem of the two files; `golden.no-overlap` when no id is in both,
            `golden.no-topic` when some judged ids have no topic.
    """
    topics_part, qrels_part = require(parts, "topics", "qrels", optional=("corpus",))
    found = read_judgments(qrels_part, options)
    judged = _nfc(found.grades, qrels_part.path)
    builder = QueryBuilder(topics_part.path, join="always" if options.merge_equal else "never")
    topics = read_topics(topics_part, builder, options)
    builder.problems.raise_if_any()
    known = {_key(row.id): row for row, _ in topics.rows}
    _check_overlap(judged, known, qrels_part.path)
    for row, line in topics.rows:
        grades = judged.get(_key(row.id), {})
        if grades or not row.answerable:
            row.relevant = grades
            builder.add(row, line)
    queries, notices = builder.finish()
    more = [Notice(code="golden.detected", text=f"judgments read as {found.layout}.", where=qrels_part.path)]
    more += found.notices
    left = [name for name, row in known.items() if not judged.get(name) and row.answerable]
    more += _unjudged(left, topics_part.path)
    if "corpus" in parts:
        more += _dangling(judged, parts["corpus"])
    return GoldenSet(
        queries=queries,
        format="trec",
        path=joint_path(parts),
        sha256=joint_sha256(parts),
        notices=(*notices, *more, *topics.notices),
    )


def _key(name: str | int) -> str:
    return unicodedata.normalize("NFC", str(name))


def _nfc(judged: Grades, path: str) -> Grades:
    """Judgments under NFC query ids."""
    if all(name.isascii() for name in judged):
        return judged
    merged: Grades = {}
    for name, grades in judged.items():
        earlier = merged.setdefault(_key(name), {})
        for doc, grade in grades.items():
            if earlier.setdefault(doc, grade) != grade:
                two = f"{earlier[doc]} and {grade}"
                text = (
                    f'"{doc}" has two grades for "{name}", {two} (the spellings of the query agree in NFC).'
                )
                raise GoldenError("golden.conflicting-judgments", text, where=path)
    return merged


def _check_overlap(judged: Grades, known: dict[str, GoldenRow], path: str) -> None:
    missing = [name for name in judged if name not in known]
    if not missing:
        return
    hint = "Both files must spell a query's id alike." + _near_miss(missing, known)
    if len(missing) == len(judged):
        raise GoldenError(
            "golden.no-overlap",
            f"no judged query has a topic; judged are {_quoted(judged)}; topics are {_quoted(known)}.",
            hint=hint,
            where=path,
        )
    raise GoldenError(
        "golden.no-topic",
        f"{len(missing)} of {len(judged)} judged queries have no topic: {_quoted(missing)}.",
        hint=hint,
        where=path,
    )


def _near_miss(missing: list[str], known: dict[str, GoldenRow]) -> str:
    """Names a pair of ids that differ in leading zeros, case or blanks only; empty when there is none."""
    folded = {name.strip().lower().lstrip("0"): name for name in known}
    for name in missing:
        near = folded.get(name.strip().lower().lstrip("0"))
        if near is not None:
            return f' "{name}" is judged; did you mean the topic "{near}"?'
    return ""


def _quoted(names: list[str] | Grades | dict[str, GoldenRow]) -> str:
    return listed([f'"{name}"' for name in names])


def _unjudged(names: list[str], path: str) -> list[Notice]:
    if not names:
        return []
    text = f"{len(names)} topics have no judgments and are left out: {_quoted(names)}."
    return [Notice(code="golden.unjudged-topics", text=text, where=path)]


def _dangling(judged: Grades, corpus: Part) -> list[Notice]:
    """A notice about judged documents that the corpus beside the set does not have."""
    known = {chunk.id for chunk in read_corpus(corpus)}
    lost = sorted({doc for grades in judged.values() for doc in grades} - known)
    if not lost:
        return []
    text = f"{len(lost)} judged documents are not in the corpus: {_quoted(lost)}."
    return [Notice(code="golden.dangling-ids", text=text, where=corpus.path)]
