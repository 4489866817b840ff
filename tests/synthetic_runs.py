"""Small synthetic run records: rankings are written down, everything else is worked out as an evaluation does."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison, compare
from rageval_action.core.labels.label_transfer import Side
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.measuring.miss_causes import diagnose
from rageval_action.core.measuring.query_layout import lay_out
from rageval_action.core.measuring.record_summary import (
    acl_judged,
    acl_violations,
    means,
    no_answer,
    query_sha256,
    scored,
    slice_means,
)
from rageval_action.core.model.corpus import Lookup, corpus_of
from rageval_action.core.model.hashing import question_key, text_hash
from rageval_action.core.model.record import (
    Exam,
    GoldenInfo,
    QueryRow,
    Record,
    RetrieverInfo,
    RunRecord,
    SnapshotInfo,
)
from rageval_action.core.model.types import (
    Chunk,
    EvidenceItems,
    Grades,
    Groups,
    Hit,
    Judgments,
    Unanswerable,
    Unit,
)

NOW = datetime.datetime(2031, 5, 4, 12, 0, tzinfo=datetime.UTC)
TODAY = NOW.date()
MEASURES = ("recall@1", "recall@5", "hit@5", "mrr", "ndcg@10")
FILLERS = tuple(f"f{number}" for number in range(1, 13))


def chunks(texts: Mapping[str, Sequence[str] | str]) -> tuple[Chunk, ...]:
    """Document id -> its texts: chunks `doc#0`, `doc#1`, … with spans as if the texts followed each other."""
    made = []
    for doc, given in texts.items():
        start = 0
        for number, text in enumerate([given] if isinstance(given, str) else given):
            made.append(Chunk(id=f"{doc}#{number}", doc=doc, text=text, start=start, end=start + len(text)))
            start += len(text)
    return tuple(made)


def plain_chunks(names: Iterable[str]) -> tuple[Chunk, ...]:
    """One chunk of its own text for each document."""
    return chunks({name: f"text of {name}" for name in sorted(set(names))})


def hits(names: Sequence[str], known: Mapping[str, Chunk], scores: Sequence[float] = ()) -> tuple[Hit, ...]:
    """Hits in order, the first scored 1; `names` are chunk ids, or documents of one chunk."""
    found = []
    for rank, name in enumerate(names, start=1):
        chunk = known[name] if name in known else known[f"{name}#0"]
        score = scores[rank - 1] if scores else 1.0 / rank
        found.append(
            Hit(
                id=chunk.id,
                doc=chunk.doc,
                rank=rank,
                score=score,
                start=chunk.start,
                end=chunk.end,
                text_hash=text_hash(chunk.text),
            )
        )
    return tuple(found)


def row(
    query_id: str,
    ranked: Sequence[str],
    relevant: Judgments | Sequence[str] | Mapping[str, int],
    corpus: Sequence[Chunk],
    scores: Sequence[float] = (),
    **more: Any,
) -> QueryRow:
    """One query's row, before scores and causes."""
    judgments: Judgments
    if isinstance(relevant, Grades | Groups | EvidenceItems | Unanswerable):
        judgments = relevant
    elif isinstance(relevant, Mapping):
        judgments = Grades(dict(relevant))
    else:
        judgments = Grades(dict.fromkeys(relevant, 1))
    text = more.pop("query", f"question {query_id}")
    return QueryRow(
        query_id=query_id,
        query=text,
        query_sha256=query_sha256(text),
        query_key=question_key(text, more.get("acl")),
        line=more.pop("line", 1),
        judgments=judgments,
        results=hits(ranked, {chunk.id: chunk for chunk in corpus}, scores),
        **more,
    )


def run(rows: Sequence[QueryRow], corpus: Sequence[Chunk], **more: Any) -> RunRecord:
    """A record of these rows. `more`: unit, k, depth, measures, threshold, and any field of the parts of a record."""
    unit: Unit = more.pop("unit", "document")
    k, depth = more.pop("k", 5), more.pop("depth", 100)
    measures = parse_measures(more.pop("measures", MEASURES))
    hashed = corpus_of(corpus)
    side = Side(Lookup(hashed), unit)
    diagnosed = [replace(one, misses=diagnose(lay_out(one, side, k))) for one in rows]
    done = scored(diagnosed, unit, depth, measures)
    unanswerable = sum(isinstance(one.judgments, Unanswerable) for one in rows)
    golden = GoldenInfo(
        path="golden.jsonl",
        sha256="a" * 64,
        format="jsonl",
        unit=unit,
        queries=len(rows),
        answerable=len(rows) - unanswerable,
        unanswerable=unanswerable,
    )
    snapshot = SnapshotInfo(
        path="index",
        fingerprint="f" * 64,
        model="mini",
        chunker="split 400",
        metric="cosine",
        dimension=8,
        chunks=len(corpus),
        documents=len({chunk.doc for chunk in corpus}),
    )
    retriever = RetrieverInfo(name="dense", depth=depth)
    record = Record(
        run_id="run-1",
        created_at=NOW,
        golden=_with(golden, more),
        snapshot=_with(snapshot, more),
        retriever=_with(retriever, more),
        acl_mode="enforce",
        k=k,
        measures=means(done, measures),
        slices=slice_means(done, measures),
        no_answer=no_answer(done, more.pop("threshold", None)),
        acl_violations=acl_violations(done),
        acl_judged=acl_judged(done),
        errors=sum(bool(one.error) for one in done),
        exam=Exam(golden_sha256="a" * 64, unit=unit, k=k),
    )
    alone = tuple(replace(one, asked_for="base") for one in more.pop("asked_for_base", ()))
    return RunRecord(record=replace(record, **more), queries=done, corpus=hashed, asked_for_base=alone)


def _with(part: Any, more: dict[str, Any]) -> Any:
    """`part` with those of `more` that are its fields; they are taken out of `more`."""
    own = {name: more.pop(name) for name in part.__struct_fields__ if name in more}
    return replace(part, **own)


def ranked(
    ranks: Sequence[int],
    *,
    tags: Mapping[int, Sequence[str]] | None = None,
    fields: Mapping[int, Mapping[str, Any]] | None = None,
    **more: Any,
) -> RunRecord:
    """Query i has one relevant document `r{i}` at rank `ranks[i]` among fillers (0 = nowhere)."""
    corpus = plain_chunks([*FILLERS, *(f"r{number}" for number in range(len(ranks)))])
    rows = []
    for number, rank in enumerate(ranks):
        names = list(FILLERS)
        if rank:
            names.insert(rank - 1, f"r{number}")
        extra = {
            "tags": tuple((tags or {}).get(number, ())),
            "line": number + 1,
            **(fields or {}).get(number, {}),
        }
        rows.append(row(f"q{number:03}", names, [f"r{number}"], corpus, **extra))
    return run(rows, corpus, **more)


def compared(before: RunRecord, after: RunRecord, *measures: str) -> Comparison:
    """The comparison at the default measures of these tests."""
    return compare(before, after, parse_measures(measures or MEASURES))


def amended(record: RunRecord, **more: Any) -> RunRecord:
    """The same run with other fields in `record.json`."""
    head = record.record
    head = replace(
        head,
        golden=_with(head.golden, more),
        snapshot=_with(head.snapshot, more),
        retriever=_with(head.retriever, more),
    )
    return RunRecord(record=replace(head, **more), queries=record.queries, corpus=record.corpus)
