"""How near the exact search comes to one plain matrix product, and where the time of an evaluation goes.

Every figure is a ratio within one run: on each round the product and the search are timed one after the other, and the
median of the ratios counts, because absolute times on a shared machine say little.

    python bench/search.py            # 100,000 and 1,000,000 chunks; needs 4 GB of disk and a few minutes
    python bench/search.py --small    # 100,000 chunks
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STARTED = time.time()

DIMENSION = 384
DEPTH = 100
LIMITS = {
    (1000, "search"): 1.25,
    (1000, "with re-scoring"): 1.45,
    (300, "search"): 1.7,
    (300, "with re-scoring"): 1.7,
}
"""Queries and stage -> how many times the matrix product it may take."""

MEMORY_LIMIT_MB = 300
"""Beyond the size of the corpus."""

_PRODUCT_ROWS = 16_384


def make_snapshot(folder: Path, rows: int) -> None:
    """Random unit vectors and short texts, 300 cached queries near some of the chunks."""
    import numpy as np

    from rageval_action.core.model.hashing import query_key
    from rageval_action.core.model.snapshot import BuildSettings
    from rageval_action.core.model.types import Chunk
    from rageval_action.snapshots.write import Contents, write_snapshot

    rng = np.random.default_rng(0)

    def blocks():  # noqa: ANN202 - a generator of arrays
        for start in range(0, rows, 50_000):
            block = rng.standard_normal((min(50_000, rows - start), DIMENSION), dtype=np.float32)
            yield block / np.linalg.norm(block, axis=1, keepdims=True)

    chunks = [Chunk(id=f"c{row}", doc=f"c{row}", text=f"text of chunk {row} " * 10) for row in range(rows)]
    asked = {
        query_key(model="bench", revision="", prefix="", text=f"query {number}"): vector
        for number, vector in enumerate(make_queries(300))
    }
    about = BuildSettings(metric="ip", model="bench")
    write_snapshot(folder, Contents(chunks=chunks, vectors=blocks(), query_vectors=asked), about)


def make_queries(count: int):  # noqa: ANN201 - numpy is imported late
    """Random unit vectors."""
    import numpy as np

    queries = np.random.default_rng(1).standard_normal((count, DIMENSION), dtype=np.float32)
    return queries / np.linalg.norm(queries, axis=1, keepdims=True)


def timed(work: Callable[[], object]) -> float:
    """Seconds on the clock; with --one-thread seconds of the processor, which a busy machine does not stretch."""
    clock = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
    began = clock()
    work()
    return clock() - began


def child_ratios(folder: Path, count: int, rounds: int) -> dict[str, object]:
    """Times of the product, the search and the search with re-scoring, on the same vectors."""
    import numpy as np

    from rageval_action.core.model.types import Query
    from rageval_action.retrievers import search
    from rageval_action.retrievers.vectors import from_snapshot
    from rageval_action.retrievers.views import group_documents, views_of
    from rageval_action.snapshots.read import read_snapshot

    snapshot = read_snapshot(folder, verify_checksums=False)
    documents = group_documents(snapshot.chunks)
    ids = [chunk.id for chunk in snapshot.chunks]
    corpus = search.Corpus(vectors=from_snapshot(snapshot), ids=ids, documents=documents)
    queries = make_queries(count)
    views = views_of([Query(id="q", text="t")] * count, snapshot.chunks, documents, enforce=True)
    targets = np.minimum(views.documents[views.of_query], DEPTH)
    product = np.empty((count, _PRODUCT_ROWS), dtype=np.float32)

    def multiply() -> None:
        for shard in snapshot.shards:
            for start in range(0, len(shard), _PRODUCT_ROWS):
                block = shard[start : start + _PRODUCT_ROWS]
                np.matmul(queries, block.T, out=product[:, : len(block)])

    def nominate() -> None:
        search._nominate(corpus, queries, views, targets, DEPTH)  # noqa: SLF001 - the stage before re-scoring

    def rank() -> None:
        search.rank(corpus, queries, views, DEPTH)

    stages = {"product": multiply, "search": nominate, "with re-scoring": rank}
    for work in stages.values():
        work()
    return {"seconds": [{name: timed(work) for name, work in stages.items()} for _ in range(rounds)]}


def child_search_memory(folder: Path, count: int) -> dict[str, float]:
    """Peak memory of a search over mapped vectors, with ids and documents but without the texts."""
    import numpy as np

    from rageval_action.core.model.snapshot import Snapshot
    from rageval_action.core.model.types import Query
    from rageval_action.retrievers import search
    from rageval_action.retrievers.vectors import from_snapshot
    from rageval_action.retrievers.views import Documents, views_of
    from rageval_action.snapshots.arrays import open_matrix
    from rageval_action.snapshots.manifest import read_manifest

    manifest = read_manifest(folder)
    shards = tuple(open_matrix(folder / name, name) for name in manifest.shards)
    snapshot = Snapshot(path="bench", manifest=manifest, chunks=(), shards=shards, norms=(1.0, 1.0))
    documents = Documents(of_row=np.arange(manifest.chunks), count=manifest.chunks)
    ids = [f"c{row}" for row in range(manifest.chunks)]
    corpus = search.Corpus(vectors=from_snapshot(snapshot), ids=ids, documents=documents)
    views = views_of([Query(id="q", text="t")] * count, (), documents, enforce=False)
    views = type(views)(
        masks=np.ones((1, manifest.chunks), dtype=np.bool_),
        of_query=views.of_query,
        documents=np.array([manifest.chunks]),
    )
    search.rank(corpus, make_queries(count), views, DEPTH)
    return {"peak": peak_mb(), "corpus": sum(shard.nbytes for shard in shards) / 1e6}


def child_whole_memory(folder: Path, count: int) -> dict[str, float]:
    """Peak memory of reading a snapshot, checksums and all, and ranking with it."""
    from rageval_action.core.model.types import Query
    from rageval_action.retrievers.dense import DenseRetriever
    from rageval_action.retrievers.interface import RetrieverContext
    from rageval_action.snapshots.read import read_snapshot

    snapshot = read_snapshot(folder)
    read = peak_mb()
    queries = make_queries(count)
    context = RetrieverContext(snapshot=snapshot, encode=lambda texts: queries[[int(text) for text in texts]])
    asked = [Query(id=f"q{number}", text=str(number)) for number in range(count)]
    DenseRetriever(context).retrieve(asked, DEPTH)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return {"read": read, "peak": peak_mb(), "corpus": size / 1e6}


def peak_mb() -> float:
    """Peak resident memory of this process, mapped files included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


class Stages:
    """Milliseconds by stage. A stage inside another is taken off the outer one."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._inner = [0.0]
        self._closed = False

    def run(self, name: str, work: Callable[[], object], *, closed: bool = False) -> object:
        """Do `work` and add its time to the stage; a closed stage keeps what happens inside it."""
        if self._closed:
            return work()
        self._closed = closed
        self._inner.append(0.0)
        began = time.perf_counter()
        result = work()
        whole = (time.perf_counter() - began) * 1e3
        self._closed = False
        self.spent[name] = self.spent.get(name, 0.0) + whole - self._inner.pop()
        self._inner[-1] += whole
        return result

    def wrap(self, module: object, attribute: str, name: str, *, closed: bool = False) -> None:
        """Make every call of a function a stage."""
        inner = getattr(module, attribute)
        setattr(
            module,
            attribute,
            lambda *given, **named: self.run(name, lambda: inner(*given, **named), closed=closed),
        )


def child_stages(folder: Path) -> dict[str, object]:
    """Milliseconds of each stage of 300 queries with cached vectors, from the start of the interpreter."""
    stages = Stages()
    stages.spent["interpreter start"] = (STARTED - float(os.environ["BENCH_STARTED"])) * 1e3
    for name in ("numpy", "rageval_action.retrievers.dense", "faiss"):
        stages.run(f"import {name}", functools.partial(importlib.import_module, name))
    from rageval_action.core.model.types import Query
    from rageval_action.retrievers import dense, search
    from rageval_action.retrievers.interface import RetrieverContext
    from rageval_action.snapshots import read
    from rageval_action.snapshots.encoder import query_encoder

    stages.wrap(read, "read_chunks", "read chunks")
    stages.wrap(read, "measure", "check vectors")
    stages.wrap(read, "text_notices", "check texts")
    snapshot = stages.run("checksums, query vectors", lambda: read.read_snapshot(folder))
    queries = [Query(id=f"q{number}", text=f"query {number}") for number in range(300)]
    context = RetrieverContext(snapshot=snapshot, encode=query_encoder(snapshot, allow_model=False))
    stages.wrap(dense.DenseRetriever, "_time", "latency of single queries", closed=True)
    stages.wrap(dense.HitMaker, "hits", "make hits")
    stages.wrap(search, "_nominate", "search")
    stages.wrap(search, "exact_scores", "re-score")
    stages.wrap(search, "_in_order", "order")
    stages.run("the rest", lambda: dense.DenseRetriever(context).retrieve(queries, DEPTH))
    return {"stages_ms": stages.spent}


def run_child(*arguments: object) -> Any:
    """Run a part of this file in a process of its own and return what it found."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    environment["BENCH_STARTED"] = str(time.time())
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr or f"the child {arguments[0]} ended with {done.returncode}")
    return json.loads(done.stdout)


def report_ratios(folder: Path, rows: int, rounds: int) -> bool:
    """Print the ratios for both numbers of queries; True when all are within their limits."""
    sound = True
    for count in (1000, 300):
        seconds = run_child("ratios", folder, count, rounds)["seconds"]
        product = statistics.median(one["product"] for one in seconds)
        print(f"\n{count} queries x {rows:,} chunks, k = {DEPTH}: product {product * 1e3:.0f} ms")
        for name in ("search", "with re-scoring"):
            ratios = sorted(one[name] / one["product"] for one in seconds)
            middle, limit = statistics.median(ratios), LIMITS[count, name]
            verdict = "ok" if middle <= limit else "TOO SLOW"
            print(
                f"  {name:<16} {middle:.2f} x product ({ratios[0]:.2f} to {ratios[-1]:.2f}), limit {limit}: {verdict}"
            )
            sound &= middle <= limit
    return sound


def report_memory(folder: Path) -> bool:
    """Print peak memory, mapped pages included; True when the search stays within the limit."""
    found = run_child("search-memory", folder, 1000)
    over = found["peak"] - found["corpus"]
    verdict = "ok" if over <= MEMORY_LIMIT_MB else "TOO MUCH"
    print(
        f"\nmemory of the search: {found['peak']:.0f} MB, vectors {found['corpus']:.0f} MB: {over:+.0f} MB, ",
        end="",
    )
    print(f"limit {MEMORY_LIMIT_MB:+}: {verdict}")
    whole = run_child("whole-memory", folder, 1000)
    print(
        f"memory with all texts: {whole['read']:.0f} MB read, {whole['peak']:.0f} MB ranked, files ", end=""
    )
    print(f"{whole['corpus']:.0f} MB: {whole['peak'] - whole['corpus']:+.0f} MB")
    return bool(over <= MEMORY_LIMIT_MB)


def report_stages(folder: Path) -> None:
    """Print where the time of 300 queries goes, from the start of the interpreter."""
    found = run_child("stages", folder)
    stages: dict[str, float] = found["stages_ms"]
    print("\n300 queries with cached vectors, from the start of the interpreter:")
    for name, spent in (*stages.items(), ("sum", sum(stages.values()))):
        print(f"  {name:<38} {spent:8.1f} ms")


def main() -> int:
    """Run the bench; 1 when a limit is broken."""
    parser = argparse.ArgumentParser(description="Exact search against one matrix product.")
    parser.add_argument("--small", action="store_true", help="only 100,000 chunks")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--one-thread", action="store_true", help="one thread, processor time: for a busy machine"
    )
    parser.add_argument("--folder", type=Path, help="where snapshots are made and kept for the next run")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # a killed run has shown what it found
    if arguments.child:
        kind, folder, *rest = arguments.child
        children: dict[str, Callable[..., object]] = {
            "make": make_snapshot,
            "ratios": child_ratios,
            "search-memory": child_search_memory,
            "whole-memory": child_whole_memory,
            "stages": child_stages,
        }
        print(json.dumps(children[kind](Path(folder), *map(int, rest))))
        return 0
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    if arguments.one_thread:
        os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as scratch:
        base = arguments.folder or Path(scratch)
        sound = True
        for rows in (100_000,) if arguments.small else (100_000, 1_000_000):
            folder = base / f"bench-{rows}"
            if not folder.exists():
                # In a process of its own: a child's peak memory begins at that of the process that started it.
                run_child("make", folder, rows)
            sound &= report_ratios(folder, rows, arguments.rounds if rows < 1_000_000 else 3)
            sound &= report_memory(folder)
            if rows == 100_000:
                report_stages(folder)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
