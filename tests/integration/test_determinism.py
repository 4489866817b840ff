"""A record depends on the content alone: not on storage order, threads, batch size or the hash seed."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rageval_action import pipeline
from rageval_action.config import load
from rageval_action.core.model.record import EXEMPT_FIELDS, RANKINGS, RECORD, encode
from rageval_action.core.model.types import Chunk
from rageval_action.world import World
from tests.small_project import rageval, write_golden, write_index

DOCUMENTS, COPIES, QUERIES, K = 60, 9, 40, 5
"""Every seventh text stands in nine documents, so that groups of equal scores straddle k."""


def chunks() -> list[Chunk]:
    made = []
    for number in range(DOCUMENTS):
        text = f"alpha{number % 17} beta{number % 5} gamma{number}"
        copies = range(COPIES if number % 7 == 0 else 1)
        made += [Chunk(id=f"c{number:03}-{copy}", doc=f"d{number:03}-{copy}", text=text) for copy in copies]
    return made


def golden() -> list[dict[str, object]]:
    return [
        {
            "id": f"q{number}",
            "query": f"alpha{number % 17} beta{number % 5} gamma{7 * (number % 9)}",
            "relevant": [f"d{7 * (number % 9):03}-{number % COPIES}"],
        }
        for number in range(QUERIES)
    ]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("order")
    rows = golden()
    write_golden(folder / "golden.jsonl", rows)
    made = chunks()
    generator = np.random.default_rng(3)
    for order in ("sorted", "shuffled", "reversed"):
        turned = {
            "sorted": made,
            "reversed": made[::-1],
            "shuffled": [made[i] for i in generator.permutation(len(made))],
        }
        write_index(folder / order, rows=rows, chunks=turned[order])
    return folder


def kept(files: dict[str, bytes]) -> Iterator[str]:
    """The members of a record without what may differ, the snapshot's path included (it is the folder's name)."""
    for name, data in sorted(files.items()):
        if name == RECORD:
            record = {key: value for key, value in json.loads(data).items() if key not in EXEMPT_FIELDS}
            record["snapshot"].pop("path")
            record["retriever"]["parameters"].pop("batch_size", None)
            record.pop("warnings")
            yield json.dumps(record, sort_keys=True)
        elif name == RANKINGS:
            for line in data.splitlines():
                yield json.dumps(
                    {key: value for key, value in json.loads(line).items() if key not in EXEMPT_FIELDS}
                )
        else:
            yield data.hex()


def evaluate(project: Path, order: str, threads: int, batch: int) -> list[str]:
    flags = {"golden": str(project / "golden.jsonl"), "snapshot": str(project / order), "threads": threads}
    config = load(flags, {}, {"retriever": {"name": "dense", "batch_size": batch}})
    world = World(
        now=lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        new_id=lambda: "run",
        versions=dict,
        hardware={},
    )
    return list(kept(encode(pipeline.evaluate(config, world))))


def test_the_corpus_is_what_the_test_needs(project: Path) -> None:
    texts = [chunk.text for chunk in chunks()]
    assert sum(texts.count(text) > 1 for text in texts) >= 0.2 * len(texts)
    rows = [json.loads(line) for line in evaluate(project, "sorted", 1, 300)[1:] if line.startswith("{")]
    straddling = sum(
        row["results"][K - 1]["score"] == row["results"][K]["score"] for row in rows if "results" in row
    )
    assert straddling >= QUERIES // 3


@pytest.mark.parametrize("order", ["sorted", "shuffled", "reversed"])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("batch", [1, 7, 300])
def test_records_agree_byte_for_byte(project: Path, order: str, threads: int, batch: int) -> None:
    assert evaluate(project, order, threads, batch) == evaluate(project, "sorted", 1, 300)


def test_the_hash_seed_moves_nothing(project: Path) -> None:
    found = []
    for seed in ("0", "1", "4711"):
        out = project / f"out-{seed}"
        done = rageval(
            "evaluate",
            "--golden",
            "golden.jsonl",
            "--snapshot",
            "sorted",
            "--out",
            out,
            cwd=project,
            env={"PYTHONHASHSEED": seed},
        )
        assert done.returncode == 0, done.stderr
        found.append(list(kept({path.name: path.read_bytes() for path in out.iterdir()})))
        shutil.rmtree(out)
    assert found[0] == found[1] == found[2]
