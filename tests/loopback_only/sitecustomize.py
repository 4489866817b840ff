"""Nothing that a test starts reaches beyond loopback: imported at start-up by a Python that has this folder on its path.

The interpreter's audit events tell of every connection and every name that is looked up, whichever library asks.
"""

from __future__ import annotations

import sys

REACHED: list[str] = []
"""What was tried and refused in this process."""

NOWHERE = (".invalid", ".test", ".example", "example.com", "example.org", "example.net")
"""Names that are reserved (RFC 2606): looking one up fails, without asking anybody."""


def _is_local(host: object) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if not isinstance(name, str):
        return name is None
    return name in {"", "localhost", "::1", "0.0.0.0", "::"} or name.startswith("127.")  # noqa: S104 - none is bound


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) and address else None  # a path, of a Unix socket
    elif event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}:
        host = arguments[0]
    else:
        return
    if _is_local(host):
        return
    if event == "socket.getaddrinfo" and str(host).endswith(NOWHERE):
        from socket import EAI_NONAME, gaierror

        raise gaierror(EAI_NONAME, "Name or service not known")
    REACHED.append(f"{event} {host}")
    message = f"a test reaches beyond loopback: {event} {host}"
    raise RuntimeError(message)


sys.addaudithook(_refuse)
