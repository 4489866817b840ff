"""Every answer that was paid for, one JSON line each, written before anything is done with it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from rageval_action.errors import GoldenError
from rageval_action.golden.generate.model_requests import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Ledger:
    """An append-only file: answers by request key, and the batches that are under way.

    A process killed in the middle of a line leaves a line that does not parse; it is passed over, because an answer
    counts from its line end on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[str, Answer] = {}
        self._batches: dict[str, list[str]] = {}
        self._intents: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self._load()

    def __len__(self) -> int:
        return len(self._answers)

    def answers(self) -> tuple[Answer, ...]:
        """Every answer that was paid for."""
        return tuple(self._answers.values())

    def answer(self, key: str) -> Answer | None:
        """The answer to a request that was made before."""
        found = self._answers.get(key)
        return msgspec.structs.replace(found, remembered=True) if found else None

    @property
    def open_batches(self) -> dict[str, list[str]]:
        """Batch id -> request keys, of batches whose results were not collected yet."""
        return dict(self._batches)

    @property
    def intents(self) -> dict[str, list[str]]:
        """Time of sending -> request keys, of batches whose id never came back."""
        return dict(self._intents)

    def keep(self, answer: Answer) -> None:
        """Write an answer down."""
        self._answers[answer.key] = answer
        self._write({"kind": "answer", **msgspec.to_builtins(answer)})

    def intend(self, at: str, keys: Sequence[str]) -> None:
        """Note that a batch is about to be sent at the time `at`."""
        self._intents[at] = list(keys)
        self._write({"kind": "intent", "at": at, "keys": list(keys)})

    def opened(self, at: str, batch: str, keys: Sequence[str]) -> None:
        """Note the id of the batch that was sent at `at`."""
        self._intents.pop(at, None)
        self._batches[batch] = list(keys)
        self._write({"kind": "batch", "at": at, "id": batch, "keys": list(keys)})

    def closed(self, batch: str) -> None:
        """Note that a batch's results were collected, or that there will be none."""
        self._batches.pop(batch, None)
        self._write({"kind": "batch-done", "id": batch})

    def forget(self, at: str) -> None:
        """Note that the batch intended at `at` was never made."""
        self._intents.pop(at, None)
        self._write({"kind": "no-batch", "at": at})

    def _write(self, entry: dict[str, Any]) -> None:
        try:
            with self._lock, self.path.open("ab") as file:
                file.write(msgspec.json.encode(entry) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise GoldenError(
                "generate.ledger",
                f"an answer cannot be written down: {error.strerror}.",
                where=str(self.path),
            ) from error

    def _load(self) -> None:
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return
        data = self.path.read_bytes()
        for line in data.split(b"\n"):
            self._remember(line)
        if data and not data.endswith(b"\n"):
            # The half line stays, ended, so that what is appended next starts on a line of its own.
            with self.path.open("ab") as file:
                file.write(b"\n")

    def _remember(self, line: bytes) -> None:
        try:
            entry = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError:
            return
        kind = entry.pop("kind", "")
        if kind == "answer":
            answer = msgspec.convert(entry, Answer)
            self._answers[answer.key] = answer
        elif kind == "intent":
            self._intents[entry["at"]] = entry["keys"]
        elif kind == "batch":
            self._intents.pop(entry["at"], None)
            self._batches[entry["id"]] = entry["keys"]
        elif kind == "batch-done":
            self._batches.pop(entry["id"], None)
        elif kind == "no-batch":
            self._intents.pop(entry["at"], None)
