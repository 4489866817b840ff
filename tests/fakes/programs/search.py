"""A team's retriever as a program. Its first argument says how it behaves; standard library only."""

import json
import os
import sys
import time

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else "good"
IDS = ["c1", "c2", "c3"]


def good(asked):
    return {"id": asked["id"], "results": [{"id": name, "score": 1.0 - at} for at, name in enumerate(IDS)]}


def answer(asked):
    bad = asked["id"].startswith("q2")
    if not bad or BEHAVIOUR in {"good", "noisy"}:
        return json.dumps(good(asked))
    if BEHAVIOUR == "hang":
        time.sleep(600)
    if BEHAVIOUR == "die":
        sys.stderr.write("out of luck\n")
        sys.exit(7)
    if BEHAVIOUR == "long":
        return "x" * 10_000_000
    if BEHAVIOUR == "flood":
        while True:
            os.write(1, b"x" * 65536)
    return {
        "garbage": "no JSON here",
        "number": "7",
        "nan": '{"id": "q2", "results": [{"id": "c1", "score": NaN}]}',
        "infinite": '{"id": "q2", "results": [{"id": "c1", "score": 1e999}]}',
        "word": '{"id": "q2", "results": [{"id": "c1", "score": "high"}]}',
        "some": '{"id": "q2", "results": [{"id": "c1", "score": 1}, {"id": "c2"}]}',
        "nameless": '{"id": "q2", "results": [{"id": null}]}',
        "unknown": '{"id": "q2", "results": ["x1", "x2"]}',
        "other": '{"id": "someone else", "results": []}',
        "error": '{"id": "q2", "error": "index is cold"}',
        "nothing": '{"id": "q2"}',
        "deep": "[" * 100_000,
        "duplicates": '{"id": "q2", "results": [["c2", 0.5], ["c2", 0.9], ["c1", 0.4]]}',
        "stranger": '{"id": "q2", "results": ["c1", "x9", "c2"]}',
        "empty": '{"id": "q2", "results": []}',
    }[BEHAVIOUR]


if BEHAVIOUR == "noisy":
    sys.stderr.write("warming up " * 100_000)
for line in sys.stdin:
    sys.stdout.write(answer(json.loads(line)) + "\n")
    sys.stdout.flush()
