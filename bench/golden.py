"""How long 100,000 golden rows take to read and check, beside decoding the same file with msgspec alone."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from rageval_action.golden.audit.report import audit
from rageval_action.golden.formats import read_golden

ROWS = 100_000
AUDITED = 10_000
LIMIT = 3.0
"""How many times the bare decoding a checked reading may take; above it the program ends with 1."""
TOPICS = (
    "gateway",
    "invoice",
    "berth",
    "battery",
    "timetable",
    "licence",
    "printer",
    "holiday",
    "backup",
    "badge",
)


def row(number: int) -> str:
    known = {
        "id": f"q{number:06d}",
        "query": f"Why does {TOPICS[number % 10]} {number * 7919 % 100_003} fail on day {number % 31}?",
    }
    judged = {
        "relevant": {f"doc-{number % 5000}": 3, f"kb-{number % 3000}": 1},
        "tags": ["network", "critical"],
    }
    return json.dumps(
        {**known, **judged, "type": "lookup", "lang": "en", "source": "human", "review": "accepted"}
    )


def best(call: Callable[[], object], times: int = 5) -> float:
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "golden.jsonl"
        file.write_text("\n".join(map(row, range(ROWS))))
        decode = best(lambda: msgspec.json.Decoder().decode_lines(file.read_bytes()))
        read = best(lambda: read_golden(file))
        ratio = read / decode
        print(f"decode {ROWS:,} rows with msgspec       {decode:.2f} s")
        print(f"read_golden, every row checked      {read:.2f} s   {ratio:.2f}x (at most {LIMIT})")
        golden = read_golden(file)
        part = msgspec.structs.replace(golden, queries=golden.queries[:AUDITED])
        whole = best(lambda: audit(part), times=1)
        print(
            f"golden check of {AUDITED:,} rows         {whole:.1f} s   {1e6 * whole / AUDITED:.0f} µs a row"
        )
        sys.exit(ratio > LIMIT)


if __name__ == "__main__":
    main()
