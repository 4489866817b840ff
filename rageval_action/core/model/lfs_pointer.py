"""Git LFS pointers: small text files that stand in a checkout where the real file was not fetched."""

from __future__ import annotations

import re

MARK = b"version https://git-lfs.github.com/spec/"
"""How a pointer begins (the LFS specification, "The Pointer")."""

MOST_BYTES = 1024
"""A pointer is shorter than this, by the specification: so much of a file is enough to judge it."""

HINT = "Fetch it with `git lfs pull`; in a workflow give actions/checkout `lfs: true`."

_SIZE = re.compile(rb"^size (\d{1,19})\s*$", re.MULTILINE)


def pointer_problem(start: bytes, what: str = "the file itself") -> str:
    """What to say about a file that begins with `start`; empty when it is no pointer.

    Args:
        start: the first `MOST_BYTES` of the file, or more.
        what: what belongs in its place.
    """
    if not start.startswith(MARK):
        return ""
    size = _SIZE.search(start[:MOST_BYTES])
    real = f" The real file has {int(size[1]):,} bytes." if size else ""
    return f"this is a Git LFS pointer, not {what}.{real}"


def lfs_size(pointer: bytes) -> str:
    """How large the file itself is, as the end of a sentence: `, which has 1,024 bytes`; empty where it is not said."""
    found = _SIZE.search(pointer[:MOST_BYTES])
    return f", which has {int(found[1]):,} bytes" if found else ""
