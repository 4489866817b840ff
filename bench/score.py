"""`rageval score` on a million run lines against its peers, from the same files to the same three means.

Every contender is a fresh process that reads the files, parses them with its own parser and prints recall@10, ndcg@10
and mrr; wall time counts the whole process. Rounds are interleaved and the quickest of each counts. ranx is timed
once with an empty compile cache, as it is on a fresh CI machine.
"""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUERIES, DEPTH, JUDGED = 10_000, 100, 10
ROUNDS = 5
TOLERANCE = 1e-9

OURS = (
    "from rageval_action.cli import main; import sys;"
    "sys.argv = ['rageval', 'score', '--qrels', 'qrels.txt', '--run', 'run.txt', '--json', '-',"
    " '--measures', 'recall@10,ndcg@10,mrr']; main()"
)
PYTREC_EVAL = """
import pytrec_eval
with open("qrels.txt") as qrels, open("run.txt") as run:
    qrels, run = pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)
names = ("recall_10", "ndcg_cut_10", "recip_rank")
found = pytrec_eval.RelevanceEvaluator(qrels, {"recall.10", "ndcg_cut.10", "recip_rank"}).evaluate(run)
print(*(sum(values[name] for values in found.values()) / len(qrels) for name in names))
"""
IR_MEASURES = """
import ir_measures
from ir_measures import R, RR, nDCG
measures = [R @ 10, nDCG @ 10, RR]
qrels, run = ir_measures.read_trec_qrels("qrels.txt"), ir_measures.read_trec_run("run.txt")
found = ir_measures.calc_aggregate(measures, qrels, run)
print(*(found[measure] for measure in measures))
"""
RANX = """
from ranx import Qrels, Run, evaluate
qrels, run = Qrels.from_file("qrels.txt", kind="trec"), Run.from_file("run.txt", kind="trec")
found = evaluate(qrels, run, ["recall@10", "ndcg@10", "mrr"])
print(*(found[name] for name in ("recall@10", "ndcg@10", "mrr")))
"""

PEERS: dict[str, tuple[str, str, int, float]] = {
    "pytrec_eval-terrier": ("pytrec_eval", PYTREC_EVAL, ROUNDS, 1.0),
    "ir-measures": ("ir_measures", IR_MEASURES, ROUNDS, 2.0),
    "ranx, cold": ("ranx", RANX, 1, 20.0),
}
"""Peer -> its module, its program, how often it runs, and how many times our seconds it must take at least."""


def write_files(folder: Path) -> None:
    """A run without ties, and qrels of which half were retrieved."""
    chance = random.Random(0)
    with (folder / "run.txt").open("w") as run, (folder / "qrels.txt").open("w") as qrels:
        for query in range(QUERIES):
            docs = chance.sample(range(1_000_000), DEPTH)
            score = chance.uniform(20, 30)
            for rank, doc in enumerate(docs, 1):
                run.write(f"q{query} Q0 doc{doc} {rank} {score:.6f} bench\n")
                score -= 0.001 + chance.random() / 5
            judged = {*chance.sample(docs, JUDGED // 2), *chance.sample(range(1_000_000), JUDGED // 2)}
            qrels.writelines(f"q{query} 0 doc{doc} {chance.randrange(3)}\n" for doc in sorted(judged))


def timed(program: str, folder: Path, *, cold: bool) -> tuple[float, str]:
    """Wall seconds of one process, and what it printed."""
    with tempfile.TemporaryDirectory() as empty:
        env = {**os.environ, "PYTHONPATH": str(ROOT)} | ({"NUMBA_CACHE_DIR": empty} if cold else {})
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=folder, env=env, check=True, capture_output=True, text=True
        )
        return time.perf_counter() - start, done.stdout


def our_means(printed: str) -> list[float]:
    import json

    return [one["mean"] for one in json.loads(printed)["measures"].values()]


def peers_here() -> dict[str, tuple[str, str, int, float]]:
    """The peers that are installed; says which are not."""
    here = {name: peer for name, peer in PEERS.items() if importlib.util.find_spec(peer[0])}
    for name in PEERS.keys() - here.keys():
        print(f"{name:20} not run: not installed")
    return here


def main() -> None:
    """Print seconds and ratios; end with 1 when a limit is missed or a mean differs."""
    peers = peers_here()
    seconds: dict[str, float] = {}
    printed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name))
        programs = {"rageval score": (OURS, ROUNDS)} | {
            one: (peer[1], peer[2]) for one, peer in peers.items()
        }
        for turn in range(ROUNDS):
            for contender, (program, rounds) in programs.items():
                if turn < rounds:
                    took, printed[contender] = timed(program, Path(name), cold=rounds == 1)
                    seconds[contender] = min(took, seconds.get(contender, took))
    own, means = seconds["rageval score"], our_means(printed["rageval score"])
    print(f"{QUERIES * DEPTH:,} run lines, {QUERIES:,} queries; means {means}")
    print(f"{'rageval score':20} {own:7.2f} s")
    missed = False
    for contender, (_, _, _, least) in peers.items():
        ratio = seconds[contender] / own
        gap = max(
            abs(ours - float(theirs)) for ours, theirs in zip(means, printed[contender].split(), strict=True)
        )
        missed |= ratio < least or gap > TOLERANCE
        print(
            f"{contender:20} {seconds[contender]:7.2f} s  {ratio:6.2f}x ours (at least {least:g})"
            f"  means differ by {gap:.0e}"
        )
    sys.exit(missed)


if __name__ == "__main__":
    main()
