"""One process that answers lines with lines, under limits of time and size."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import subprocess
import threading
import time
from pathlib import Path

from rageval_action.retrievers.confine import Confinement
from rageval_action.retrievers.external import AnswerError

MAX_LINE = 4 * 1024 * 1024
KEPT_STDERR = 4000
SHOWN_STDERR = 300
LEAVE_S = 1.0
"""How long the readers of a process that was ended are waited for."""


class DeadError(AnswerError):
    """The process is gone or was ended; the next question needs a new one."""


class LineProcess:
    """A running process; ask it one line at a time.

    Args:
        arguments: program and its arguments.
        folder: where it runs.
        how: its environment and user.
        longest: the longest line that is read, in bytes.

    Raises:
        DeadError: from the constructor when the program cannot be started.
    """

    def __init__(
        self, arguments: list[str], folder: Path, how: Confinement, *, longest: int = MAX_LINE
    ) -> None:
        self._longest = longest
        try:
            self._process = subprocess.Popen(
                arguments,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                **how.arguments(),
            )
        except (OSError, subprocess.SubprocessError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise DeadError(f"{arguments[0]} could not be started: {reason}") from error
        self._lines: queue.Queue[bytes | None] = queue.Queue(maxsize=64)
        self._said = bytearray()
        self._ended = threading.Event()
        self._readers = [
            threading.Thread(target=self._read_answers, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self._readers:
            thread.start()
        os.set_blocking(self._stdin(), False)

    def ask(self, line: bytes, timeout_s: float) -> bytes:
        """Write a line; the next line that comes back, an empty one when that was over `longest`.

        Raises:
            DeadError: it died, closed its output, or gave no line in time (then it is ended).
        """
        deadline = time.monotonic() + timeout_s
        self._write(line + b"\n", deadline, timeout_s)
        return self.next_line(deadline, timeout_s)

    def next_line(self, deadline: float, timeout_s: float) -> bytes:
        """The next line, waiting until `deadline` (of `time.monotonic`)."""
        try:
            answer = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            self.stop()
            raise DeadError(f"no answer within {timeout_s:g} s") from None
        if answer is None:
            raise self._death()
        return answer

    def stop(self) -> None:
        """End the process and whatever it started in its session."""
        self._ended.set()
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        self._leave()

    def _leave(self) -> None:
        """Let the readers see the end; one whose pipe a grandchild holds open is left behind."""
        deadline = time.monotonic() + LEAVE_S
        for thread in self._readers:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _write(self, data: bytes, deadline: float, timeout_s: float) -> None:
        while data:
            left = deadline - time.monotonic()
            ready = select.select([], [self._stdin()], [], max(0.0, left))[1]
            if not ready:
                self.stop()
                raise DeadError(f"it took no question within {timeout_s:g} s")
            try:
                data = data[os.write(self._stdin(), data) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._death() from None

    def _death(self) -> DeadError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        code = self._process.returncode
        self.stop()
        said = self._said.decode("utf-8", "replace").strip().splitlines()
        last = f"; it said: {said[-1][:SHOWN_STDERR]}" if said else ""
        how = "closed its output" if code is None else f"ended with {code}"
        return DeadError(f"the process {how}{last}")

    def _stdin(self) -> int:
        return self._process.stdin.fileno()  # type: ignore[union-attr]

    def _read_answers(self) -> None:
        """Lines to the queue; of a line that is too long nothing is kept, and an empty one stands for it."""
        stream = self._process.stdout.fileno()  # type: ignore[union-attr]
        line, over = bytearray(), False
        while piece := os.read(stream, 65536):
            *ended, rest = piece.split(b"\n")
            for part in ended:
                over = over or len(line) + len(part) > self._longest
                self._keep(b"" if over else bytes(line + part))
                line, over = bytearray(), False
            over = over or len(line) + len(rest) > self._longest
            line = bytearray() if over else line + rest
        self._keep(None)
        self._process.stdout.close()  # type: ignore[union-attr]

    def _keep(self, line: bytes | None) -> None:
        """Wait for room in the queue, as long as anybody may ask."""
        while not self._ended.is_set():
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=0.05)
                return

    def _read_errors(self) -> None:
        stream = self._process.stderr.fileno()  # type: ignore[union-attr]
        while piece := os.read(stream, 65536):
            self._said += piece
            del self._said[:-KEPT_STDERR]
        self._process.stderr.close()  # type: ignore[union-attr]
