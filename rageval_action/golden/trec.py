"""TREC topics and judgments as a golden set: `topics=FILE,qrels=FILE`."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from rageval_action.core.trec import parse_qrels
from rageval_action.core.types import GoldenSet, Notice
from rageval_action.errors import GoldenError
from rageval_action.golden.builder import Builder, Row
from rageval_action.golden.files import joint_sha256, require
from rageval_action.golden.topics import Topic, read_topics

if TYPE_CHECKING:
    from rageval_action.golden.interface import Parts

_NAMED = 10
"""Ids spelled out in a message about many."""

Grades = dict[str, dict[str, int]]


def read(parts: Parts) -> GoldenSet:
    """Join topics and judgments by query id.

    A topic that nobody judged is left out and counted in a notice, as trec_eval does. A judged query without
    a topic is an error: its text is unknown, and the usual reason is that the two files number queries
    differently. A text that occurs twice is two queries, with a notice.

    Raises:
        GoldenError: with every problem of the two files; `golden.no-overlap` when no id is in both,
            `golden.no-topic` when some judged ids have no topic.
    """
    topics_part, qrels_part = require(parts, "topics", "qrels")
    judged = _nfc(parse_qrels(qrels_part.data, where=qrels_part.path))
    builder = Builder(topics_part.path, repeats="note")
    topics = read_topics(topics_part, builder.problems)
    builder.problems.raise_if_any()
    known = {_key(topic): topic for topic in topics}
    _check_overlap(judged, known, qrels_part.path)
    unjudged = [name for name in known if name not in judged]
    for topic in topics:
        if _key(topic) in judged:
            builder.add(Row(id=topic.id, text=topic.text, relevant=judged[_key(topic)]), topic.line)
    queries, notices = builder.finish()
    return GoldenSet(
        queries=queries,
        format="trec",
        path=f"topics={topics_part.path},qrels={qrels_part.path}",
        sha256=joint_sha256(parts),
        notices=notices + _unjudged(unjudged, topics_part.path),
    )


def _key(topic: Topic) -> str:
    return unicodedata.normalize("NFC", str(topic.id))


def _nfc(judged: Grades) -> Grades:
    """Judgments under NFC query ids."""
    if all(name.isascii() for name in judged):
        return judged
    merged: Grades = {}
    for name, grades in judged.items():
        merged.setdefault(unicodedata.normalize("NFC", name), {}).update(grades)
    return merged


def _check_overlap(judged: Grades, known: dict[str, Topic], path: str) -> None:
    missing = [name for name in judged if name not in known]
    if not missing:
        return
    hint = "Both files must spell a query's id alike." + _near_miss(missing, known)
    if len(missing) == len(judged):
        raise GoldenError(
            "golden.no-overlap",
            f"no judged query has a topic; judged are {_some(judged)}; topics are {_some(known)}.",
            hint=hint,
            where=path,
        )
    raise GoldenError(
        "golden.no-topic",
        f"{len(missing)} of {len(judged)} judged queries have no topic: {_some(missing)}.",
        hint=hint,
        where=path,
    )


def _near_miss(missing: list[str], known: dict[str, Topic]) -> str:
    """Names a pair of ids that differ in leading zeros, case or blanks only; empty when there is none."""
    folded = {name.strip().lower().lstrip("0"): name for name in known}
    for name in missing:
        near = folded.get(name.strip().lower().lstrip("0"))
        if near is not None:
            return f' "{name}" is judged; did you mean the topic "{near}"?'
    return ""


def _some(names: list[str] | Grades | dict[str, Topic]) -> str:
    shown = ", ".join(f'"{name}"' for name in list(names)[:_NAMED])
    return shown + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _unjudged(names: list[str], path: str) -> tuple[Notice, ...]:
    if not names:
        return ()
    text = f"{len(names)} topics have no judgments and are left out: {_some(names)}."
    return (Notice(code="golden.unjudged-topics", text=text, where=path),)
