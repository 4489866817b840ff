"""A team's retriever as Python functions."""

import time


def search(query, depth):
    print("a stray print must not hurt")
    return [("c2", 2.0), ("c1", 1.0)][:depth]


def with_acl(query, depth, acl=None):
    return ["c1"] if acl and acl["principal"] == "ana" else ["c2"]


def mapping(query, depth):
    return ({"id": name, "score": score} for name, score in (("c3", 0.7), ("c1", 0.5)))


def broken(query, depth):
    if query == "two":
        raise ValueError("no index for two")
    return ["c1"]


def slow(query, depth):
    time.sleep(600)
