"""How long `rageval evaluate --baseline` takes on the examples, against merely importing numpy and faiss.

Both run as whole processes, in turn, several times; the ratio of each pair is printed with its median. Interpreter
start, imports, reading, search, scoring, comparison and rendering are all inside. The environment is the base one, as
`make base` makes it, because that is what people install; without it, this program's own.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASE = ROOT / ".venv" / "bin" / "python"
PYTHON = str(BASE) if BASE.is_file() else sys.executable
ROUNDS = 9
LIMIT = 2.5


def timed(command: list[str]) -> float:
    """Wall seconds of one process that must succeed with 0 or 1 (the examples' verdict is a regression)."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr.decode())
    return seconds


def main() -> None:
    """Print every pair and the median ratio; end with 1 when it is above the limit."""
    work = Path(tempfile.mkdtemp(prefix="rageval-bench-"))
    rageval = [PYTHON, "-m", "rageval_action", "evaluate", "--config", "examples/rageval.yml"]
    timed([*rageval, "--snapshot", "examples/baseline", "--out", str(work / "baseline")])
    ratios = []
    for round_ in range(ROUNDS):
        bare = timed([PYTHON, "-c", "import numpy, faiss"])
        out = work / f"candidate-{round_}"
        whole = timed(
            [
                *rageval,
                "--snapshot",
                "examples/candidate",
                "--out",
                str(out),
                "--baseline",
                str(work / "baseline"),
            ]
        )
        ratios.append(whole / bare)
        print(f"imports {bare:.3f} s   evaluate {whole:.3f} s   ratio {whole / bare:.2f}")
    shutil.rmtree(work)
    median = statistics.median(ratios)
    print(f"median ratio {median:.2f} (limit {LIMIT})")
    sys.exit(median > LIMIT)


if __name__ == "__main__":
    main()
