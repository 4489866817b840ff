"""The examples cut anew: evidence still scores every query, chunk ids are reported as turned over."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from rageval_action.core.labels.evidence import locate
from rageval_action.core.labels.linking import link
from rageval_action.core.model.types import Chunk, EvidenceItems, GoldenSet
from rageval_action.golden.drift import drift
from rageval_action.golden.formats import read_golden
from tools.build_examples import BASELINE, Plan, chunks_of, read_documents

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def cut(size: int) -> list[Chunk]:
    return list(chunks_of(Plan(name="test", size=size), read_documents()))


def blind_cut(size: int, overlap: int) -> list[Chunk]:
    """Windows of characters that respect nothing, as careless splitters do; ids are new every time."""
    found: list[Chunk] = []
    for doc, text in read_documents().items():
        for start in range(0, len(text), size - overlap):
            end = min(len(text), start + size)
            found.append(
                Chunk(id=f"w{size}-{len(found)}", doc=doc, text=text[start:end], start=start, end=end)
            )
    return found


@pytest.fixture(scope="module")
def by_evidence(tmp_path_factory: pytest.TempPathFactory) -> GoldenSet:
    """The examples' rows with evidence, and nothing but the evidence."""
    rows = [json.loads(line) for line in (EXAMPLES / "golden.jsonl").read_text("utf-8").splitlines()]
    kept = [
        {k: v for k, v in row.items() if k not in ("relevant", "any_of")}
        for row in rows
        if row.get("evidence")
    ]
    file = tmp_path_factory.mktemp("golden") / "evidence.jsonl"
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in kept), "utf-8")
    return read_golden(file)


@pytest.fixture(scope="module")
def by_chunk_id(
    by_evidence: GoldenSet, tmp_path_factory: pytest.TempPathFactory
) -> tuple[GoldenSet, list[dict], list[Chunk]]:
    """The same judgments as ids of the baseline's chunks."""
    old = list(chunks_of(BASELINE, read_documents()))
    rows = []
    for query in by_evidence.queries:
        held = [
            chunk.id
            for item in query.evidence
            for chunk in old
            if chunk.doc == item.doc and locate(item.quote, chunk.text)
        ]
        if held:
            acl = {"acl": msgspec.to_builtins(query.acl)} if query.acl else {}
            rows.append({"id": query.id, "query": query.text, "relevant": list(dict.fromkeys(held)), **acl})
    file = tmp_path_factory.mktemp("golden") / "ids.jsonl"
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return read_golden(file), rows, old


@pytest.mark.parametrize(
    "chunks",
    [cut(250), cut(900), cut(2000), blind_cut(400, 50), blind_cut(333, 0)],
    ids=["250", "900", "2000", "windows", "no-overlap"],
)
def test_evidence_still_scores_every_query(by_evidence: GoldenSet, chunks: list[Chunk]) -> None:
    assert len(by_evidence.queries) >= 140
    for golden in (by_evidence, without_offsets(by_evidence)):
        linked = link(golden, chunks, "auto")
        assert linked.unit == "evidence"
        assert linked.missing == {}
        for query in golden.queries:
            judged = linked.judgments[query.id]
            assert isinstance(judged, EvidenceItems)
            assert all(item.chunks for item in judged.items)


def without_offsets(golden: GoldenSet) -> GoldenSet:
    from msgspec.structs import replace

    queries = tuple(
        replace(query, evidence=tuple(replace(item, start=-1) for item in query.evidence))
        for query in golden.queries
    )
    return replace(golden, queries=queries)


def test_evidence_shows_no_drift(by_evidence: GoldenSet) -> None:
    found = drift(by_evidence.queries, {}, blind_cut(400, 50), list(chunks_of(BASELINE, read_documents())))
    assert found.losses == ()


def test_chunk_ids_are_reported_as_turned_over(
    by_chunk_id: tuple[GoldenSet, list[dict], list[Chunk]],
) -> None:
    golden, rows, old = by_chunk_id
    assert len(rows) >= 130
    new = blind_cut(400, 50)
    found = drift(golden.queries, {row["id"]: row for row in rows}, new, old)
    assert {loss.id for loss in found.losses} == {row["id"] for row in rows}
    assert set(found.counts()) <= {"re-chunked", "re-identified"}
    assert found.counts()["re-chunked"] >= 0.9 * len(found.losses)
    ids = {chunk.id for chunk in new}
    assert all(set(row["relevant"]) <= ids for row in found.patched.values())
    assert len(found.patched) == len(rows)
