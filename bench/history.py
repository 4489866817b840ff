"""How long `rageval history` takes over 1,000 records, as a whole process."""

from __future__ import annotations

import datetime
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from rageval_action.core.model.record import RECORD, Record

ROOT = Path(__file__).resolve().parents[1]
RECORDS, LIMIT_S, ROUNDS = 1_000, 2.0, 5


def rageval(*arguments: object) -> None:
    command = [sys.executable, "-m", "rageval_action", *map(str, arguments)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def make_records(folder: Path) -> None:
    """The record of the examples, hour after hour."""
    config = ROOT / "examples/rageval.yml"
    rageval(
        "evaluate", "--config", config, "--snapshot", ROOT / "examples/baseline", "--out", folder / "first"
    )
    first = msgspec.json.decode((folder / "first" / RECORD).read_bytes(), type=Record)
    for at in range(RECORDS):
        when = first.created_at + datetime.timedelta(hours=at)
        (folder / f"main/{at}").mkdir(parents=True)
        later = msgspec.structs.replace(first, run_id=f"run-{at:04}", created_at=when)
        (folder / f"main/{at}" / RECORD).write_bytes(msgspec.json.encode(later))


def main() -> None:
    """Print the best of several rounds; end with 1 when it is above the limit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_records(folder)
        seconds = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            rageval("history", folder / "main", "--json", folder / "h.json", "--html", folder / "h.html")
            seconds.append(time.perf_counter() - began)
    print(f"history of {RECORDS:,} records: {min(seconds):.2f} s (at most {LIMIT_S:.0f})")
    sys.exit(min(seconds) > LIMIT_S)


if __name__ == "__main__":
    main()
