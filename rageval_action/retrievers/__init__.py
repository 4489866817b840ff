"""Retrievers: a snapshot and queries in, a run out.

May import: `core`, `errors`, `config`. To extend: a class with `retrieve` in its own file, one line in `RETRIEVERS`,
and the contract suite (`tests/contracts/test_retrievers.py`) runs over it.
"""
