"""The user that a confined process runs as when we are root: an id that nothing else on this machine has."""

from __future__ import annotations

import contextlib
import grp
import pwd
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from rageval_action.errors import ConfigError

USERS = range(60706, 61184)
"""Ids that systemd's table of user ids (UIDS-GIDS) leaves unused; below 65,536, so that a container maps them."""


@contextlib.contextmanager
def unused_user() -> Iterator[int]:
    """The first of `USERS` that no account, no process and no other run of ours has; as user and as group.

    Files, sockets and processes of others then never belong to it, and whatever belongs to it may be ended.

    Raises:
        ConfigError: `retriever.no-free-user`.
    """
    running = _ids_of_processes()
    with contextlib.ExitStack() as stack:
        for user in USERS:
            if user not in running and not _has_account(user) and _taken(user, stack):
                yield user
                return
    raise ConfigError(
        "retriever.no-free-user",
        f"every user id from {USERS[0]} to {USERS[-1]} is in use here, and a retriever needs one of its own.",
        hint="Let an earlier step write the rankings, and use run-file here.",
    )


def _has_account(user: int) -> bool:
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwuid(user))
    with contextlib.suppress(KeyError):
        return bool(grp.getgrgid(user))
    return False


def _ids_of_processes() -> set[int]:
    """User and group ids of every process; empty where there is no `/proc`."""
    found: set[int] = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            lines = re.findall(r"^(?:Uid|Gid|Groups):(.*)$", status.read_text(encoding="utf-8"), re.MULTILINE)
            found.update(int(number) for line in lines for number in line.split())
    return found


def _taken(user: int, stack: contextlib.ExitStack) -> bool:
    """Reserve an id against another run on this machine: an abstract socket has one owner and dies with it."""
    if sys.platform != "linux":
        return True
    mark = stack.enter_context(socket.socket(socket.AF_UNIX))
    try:
        mark.bind(f"\0rageval-retriever-{user}")
    except OSError:
        return False
    return True
