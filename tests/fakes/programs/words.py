"""A team's retriever that counts words: cosine of word counts, over chunks read from a file. Standard library only."""

import json
import math
import sys
import time


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def vector(text, words):
    return [text.split().count(word) + 0.001 for word in words]


def cosine(one, two):
    dot = sum(a * b for a, b in zip(one, two))  # noqa: B905
    return round(dot / math.sqrt(sum(a * a for a in one)) / math.sqrt(sum(b * b for b in two)), 9)


class Search:
    def __init__(self, path):
        held = load(path)
        self.words = held["words"]
        self.chunks = [(name, vector(text, self.words)) for name, text in held["chunks"]]

    def __call__(self, query):
        if query == "stuck":
            time.sleep(3600)
        if query == "broken":
            raise ValueError("the index is broken")
        if query == "nothing":
            return []
        asked = vector(query, self.words)
        found = [[name, cosine(asked, counts)] for name, counts in self.chunks]
        return sorted(found, key=lambda one: -one[1])


def search(query, depth, acl=None):
    return Search("chunks.json")(query)


if __name__ == "__main__":
    answer = Search(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps({"id": asked["id"], "results": answer(asked["query"])}) + "\n")
        sys.stdout.flush()
