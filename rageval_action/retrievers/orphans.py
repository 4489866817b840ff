"""Ends what a confined process leaves behind, also what has left its session (`setsid`)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37

PATIENCE_S = 5.0
"""How long a process that was killed is waited for; one that hangs in the kernel is left behind."""


@contextlib.contextmanager
def none_left(end_all: Callable[[], None] = lambda: None) -> Iterator[None]:
    """While open, orphaned descendants become our children; at the end those that came meanwhile are killed.

    Args:
        end_all: called at the end, before: kills by other means than parenthood.
    """
    if sys.platform != "linux":
        yield
        return
    libc, had = ctypes.CDLL(None), ctypes.c_int(0)
    libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(had), 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _children()
    try:
        yield
    finally:
        end_all()
        _end(before)
        libc.prctl(PR_SET_CHILD_SUBREAPER, had.value, 0, 0, 0)


def _end(before: set[int]) -> None:
    """Kill children that are not in `before`, and theirs, which become ours as they die."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := _children() - before) and time.monotonic() < deadline:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)


def _children() -> set[int]:
    """Our children, the dead ones that nobody waited for among them."""
    found = set()
    parent = re.compile(rf"^PPid:\s*{os.getpid()}$", re.MULTILINE)
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            if parent.search(status.read_text(encoding="utf-8", errors="replace")):
                found.add(int(status.parent.name))
    return found
