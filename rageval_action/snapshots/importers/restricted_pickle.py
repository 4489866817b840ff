"""Reads the data in a pickle without running anything in it.

A pickle is a program. Only the classes named by the caller are made, each as a plain record of its state; any other
name that the pickle asks for ends the reading. Sizes are limited before the first byte is looked at.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Collection
from typing import Any

from rageval_action.errors import SnapshotError

MAX_BYTES = 1 << 30
MAX_OPERATIONS = 100_000_000
MAX_VALUES = 100_000
"""Values in one document's metadata. A pickle can name one list many times over: written out it has no end."""


class Record:
    """Stands for an object: its class's name and its state.

    Attributes:
        state: what the pickle set on it; `__dict__` of pydantic objects is found by `field`.
    """

    def __init__(self) -> None:
        self.state: Any = {}

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def field(self, name: str) -> Any:
        """A field of the object, in plain and in pydantic's pickles; None when absent."""
        state = self.state
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):
            state = {**(state[0] or {}), **state[1]}
        if isinstance(state, dict) and isinstance(state.get("__dict__"), dict):
            state = state["__dict__"]
        return state.get(name) if isinstance(state, dict) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, allowed: Collection[str]) -> None:
        super().__init__(io.BytesIO(data))
        self._allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        """Only what is allowed, and only as a record."""
        if name in self._allowed and module.split(".", maxsplit=1)[0].startswith("langchain"):
            return Record
        raise SnapshotError(
            "snapshot.hostile-pickle",
            f"the pickle asks for {module}.{name}, which is not data; nothing was run.",
            hint="Export the store from code you trust, as vectors with a JSON lines file.",
        )

    def persistent_load(self, pid: Any) -> Any:
        """No outside objects."""
        del pid
        raise SnapshotError("snapshot.hostile-pickle", "the pickle refers to objects outside itself.")


def load_records(data: bytes, allowed: Collection[str], where: str) -> Any:
    """The pickled value, objects of LangChain's classes named in `allowed` as `Record`.

    Raises:
        SnapshotError: `snapshot.hostile-pickle`, `snapshot.bad-pickle`, `snapshot.too-large`.
    """
    if len(data) > MAX_BYTES:
        raise SnapshotError("snapshot.too-large", f"the pickle is over {MAX_BYTES} bytes.", where=where)
    try:
        _check_sizes(data, where)
        return _Unpickler(data, allowed).load()
    except SnapshotError as error:
        raise SnapshotError(error.code, error.message, hint=error.hint, where=where) from None
    except Exception as error:  # a damaged pickle fails in as many ways as there are operations
        text = f"the pickle is damaged ({type(error).__name__})."
        raise SnapshotError("snapshot.bad-pickle", text, where=where) from error


def _check_sizes(data: bytes, where: str) -> None:
    """Walk the program once without running it: known operations, in number and memory places within bounds."""
    for count, (operation, argument, _) in enumerate(pickletools.genops(data)):
        if count > MAX_OPERATIONS:
            raise SnapshotError("snapshot.too-large", "the pickle has too many operations.", where=where)
        if operation.name in {"LONG_BINPUT", "PUT"} and isinstance(argument, int) and argument > len(data):
            raise SnapshotError("snapshot.bad-pickle", "the pickle asks for absurd memory.", where=where)
        if operation.name.startswith(("EXT", "INST", "OBJ")):
            raise SnapshotError("snapshot.hostile-pickle", f"the pickle uses {operation.name}.", where=where)


def check_plain(value: Any, where: str) -> None:
    """That a value is JSON's, and no larger when every part of it is written out.

    Raises:
        SnapshotError: `snapshot.bad-pickle`, `snapshot.too-large`.
    """
    left, count = [value], 0
    while left:
        part = left.pop()
        count += 1
        if count > MAX_VALUES:
            text = f"a document has over {MAX_VALUES} values in its metadata."
            raise SnapshotError("snapshot.too-large", text, where=where)
        if isinstance(part, (list, tuple)):
            left.extend(part[:MAX_VALUES])
        elif isinstance(part, dict):
            left.extend([*part.keys(), *part.values()][: 2 * MAX_VALUES])
        elif not isinstance(part, (str, int, float, bool)) and part is not None:
            text = f"a document's metadata holds a {type(part).__name__}, which is not plain data."
            raise SnapshotError("snapshot.bad-pickle", text, where=where)
