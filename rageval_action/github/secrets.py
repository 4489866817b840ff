"""Credentials out of the environment, before anything of the user's can start.

Deleting a variable is not enough: what a process was started with stays readable in its
`/proc/PID/environ`. So the credentials go into an anonymous pipe and the process is replaced by itself with
a clean environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, MutableMapping

import msgspec

PIPE = "RAGEVAL_SECRETS_FD"
_LIMIT = 60_000
"""Below what a pipe holds without a reader."""

_SECRET = re.compile(
    r"INPUT_(GITHUB[-_])?TOKEN|(GITHUB|GH)_TOKEN|ACTIONS_RUNTIME_TOKEN|ACTIONS_ID_TOKEN_REQUEST_(TOKEN|URL)"
)


def secret_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the variables that hold GitHub's credentials."""
    return tuple(sorted(name for name in environ if _SECRET.fullmatch(name)))


def seal(environ: Mapping[str, str], restart: Callable[[dict[str, str]], None]) -> None:
    """Put the credentials into a pipe and restart with what is left of `environ`; without any, do nothing.

    Args:
        environ: of this process.
        restart: replaces the process; gets the new environment, which names the pipe.
    """
    names = secret_names(environ)
    if not names or PIPE in environ:
        return
    data = msgspec.json.encode({name: environ[name] for name in names})
    if len(data) > _LIMIT:
        return
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    os.set_inheritable(reader, True)  # noqa: FBT003 - the standard library's signature
    restart({name: value for name, value in environ.items() if name not in names} | {PIPE: str(reader)})


def unseal(environ: MutableMapping[str, str]) -> dict[str, str]:
    """The credentials, from the pipe or else from `environ`, which holds none of them afterwards."""
    found = {name: environ.pop(name) for name in secret_names(environ)}
    place = environ.pop(PIPE, "")
    if place.isascii() and place.isdigit():
        try:
            with os.fdopen(int(place), "rb") as pipe:
                found |= msgspec.json.decode(pipe.read(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return found
    return found
