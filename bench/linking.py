"""How long the judgments of 100,000 queries take to be joined with a million chunks, half of them misspelt."""

from __future__ import annotations

import sys
import time

from rageval_action.core.labels.linking import link
from rageval_action.core.model.types import Chunk, GoldenSet, Query

QUERIES, CHUNKS, LIMIT_S = 100_000, 1_000_000, 20.0


def main() -> None:
    """Print the seconds; end with 1 when they are more than the limit."""
    chunks = [Chunk(id=f"d{at // 5}#{at % 5}", doc=f"d{at // 5}", text="t") for at in range(CHUNKS)]
    queries = tuple(
        Query(id=f"q{at}", text="t", line=at + 1, relevant={f"d{at}": 1, f"D{at + 1}": 1})
        for at in range(QUERIES)
    )
    golden = GoldenSet(path="golden.jsonl", format="canonical", sha256="0" * 64, queries=queries)
    began = time.perf_counter()
    linked = link(golden, chunks, "auto")
    seconds = time.perf_counter() - began
    print(f"{QUERIES:,} queries, {CHUNKS:,} chunks, {len(linked.missing):,} ids not found: ", end="")
    print(f"{seconds:.1f} s (at most {LIMIT_S:.0f})")
    sys.exit(seconds > LIMIT_S)


if __name__ == "__main__":
    main()
