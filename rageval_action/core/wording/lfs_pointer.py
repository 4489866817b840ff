"""Git LFS pointers: what stands in a checkout in place of a file that was not fetched."""

from __future__ import annotations

import re

LFS_START = b"version https://git-lfs"
"""How every pointer starts."""

_SIZE = re.compile(rb"^size (\d{1,18})\s*$", re.MULTILINE)


def lfs_size(pointer: bytes) -> str:
    """How large the file itself is, as the end of a sentence: `, which has 1,024 bytes`; empty where it is not said."""
    found = _SIZE.search(pointer[:1024])
    return f", which has {int(found[1]):,} bytes" if found else ""
