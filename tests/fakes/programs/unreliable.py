"""A team's retriever that looks answers up, and misbehaves as its first argument says where the query has the word bad.

Its second argument is a file of answers: query -> ids. It leaves its process id in the third. Standard library only.
"""

import json
import os
import sys
import time


def held(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def misbehave(how, ids):
    if how == "hang":
        time.sleep(3600)
    if how == "die":
        os._exit(7)
    return {
        "garbage": "}{ no JSON",
        "duplicates": json.dumps({"results": [[ids[0], 0.5], [ids[0], 0.9]]}),
        "unknown": json.dumps({"results": ["from-elsewhere"]}),
        "nan": '{"results": [["x", NaN]]}',
        "long": "x" * 10_000_000,
    }[how]


def answer(how, answers, asked):
    ids = answers[asked["query"]]
    if "bad" in asked["query"].split():
        made = misbehave(how, ids)
        return made if made[0] != "{" else made.replace("{", '{"id": ' + json.dumps(asked["id"]) + ", ", 1)
    return json.dumps({"id": asked["id"], "results": ids})


def search(query, depth):
    how, path = held("behaviour.json")
    with open("pid", "w") as file:
        file.write(str(os.getpid()))
    made = answer(how, held(path), {"id": "q", "query": query})
    return json.loads(made)["results"]


if __name__ == "__main__":
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    known = held(sys.argv[2])
    for line in sys.stdin:
        sys.stdout.write(answer(sys.argv[1], known, json.loads(line)) + "\n")
        sys.stdout.flush()
