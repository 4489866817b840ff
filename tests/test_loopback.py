"""No test reaches beyond loopback, and neither does a command that a test starts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.loopback_only.sitecustomize import REACHED
from tests.small_project import CHILD_PATH

ADDRESS = ("192.0.2.1", 9)  # reserved for documentation: nobody is there
WAYS: dict[str, Callable[[], object]] = {
    "connect": lambda: socket.socket().connect(ADDRESS),
    "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ADDRESS),
    "name": lambda: socket.getaddrinfo("pypi.org", 443),
    "old name": lambda: socket.gethostbyname("pypi.org"),
}


@pytest.mark.parametrize("way", WAYS)
def test_other_addresses_are_refused_and_fail_the_test(way: str) -> None:
    with pytest.raises(RuntimeError, match="beyond loopback"):
        WAYS[way]()
    assert len(REACHED) == 1
    REACHED.clear()  # else this test failed, too


def test_loopback_and_reserved_names_are_left_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("api.invalid", 443)


def test_commands_are_held_to_it() -> None:
    code = f"import socket; socket.socket().connect({ADDRESS!r})"
    environ = {**os.environ, "PYTHONPATH": CHILD_PATH}
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environ
    )
    assert done.stderr.splitlines()[-1] == (
        "RuntimeError: a test reaches beyond loopback: socket.connect 192.0.2.1"
    )
