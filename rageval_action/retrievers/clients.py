"""Stores that are reached by a client library, which runs in a process of its own so that it can be ended."""

from __future__ import annotations

import sys
import tempfile
from abc import abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.types import Query
from rageval_action.library_process import library_environment, missing_library
from rageval_action.retrievers.child import DeadError, LineProcess
from rageval_action.retrievers.confine import Confinement
from rageval_action.retrievers.external import AnswerError
from rageval_action.retrievers.interface import OptionValue
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.store_child import Answer, Ask, Open
from rageval_action.retrievers.stores import StoreRetriever

MAIN = "from rageval_action.retrievers.store_child import main; main()"
MAX_ANSWER = 256 * 1024 * 1024


class ClientRetriever(StoreRetriever):
    """Asks a store through its client library.

    Common options: `timeout_s` for an answer, `start_timeout_s` for opening the store. A process that gives no answer
    in time is ended and the next query gets a new one. It sees none of our environment but `library_process.KEPT` and
    `variables`.
    """

    store: ClassVar[str]
    """Class of the store in the process, in the retriever's own module."""

    libraries: ClassVar[tuple[str, ...]]
    """Modules that must be there, and the extra that brings them (which is the retriever's name)."""

    def configure(self, options: Options) -> None:
        """Read the options."""
        self._timeout_s = options.number("timeout_s", 30.0, least=0.01)
        self._start_timeout_s = options.number("start_timeout_s", 120.0, least=0.01)
        self.settings(options)
        if not all(find_spec(library) for library in self.libraries):
            raise missing_library(" and ".join(self.libraries), self.name)
        self._process: LineProcess | None = None
        self._home: tempfile.TemporaryDirectory[str] | None = None
        self._opened = False
        self._spent_ms = 0.0

    @abstractmethod
    def settings(self, options: Options) -> None:
        """Read the store's own options and check what can be checked without it."""

    def variables(self) -> dict[str, str]:
        """Environment variables that the store needs."""
        return {}

    def told(self) -> dict[str, OptionValue]:
        """What the store is opened with: the options in force, paths made absolute."""
        return dict(self.options.recorded)

    def open(self) -> None:
        """Start the process, if there is none, and have it open the store."""
        if self._opened:
            return
        if self._process is None:
            self._start()
        self._answer(Open(options=self.told()), self._start_timeout_s)
        self._opened = True

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._opened = False
        if self._process is not None:
            self._process.stop()
            self._process = None
        if self._home is not None:
            self._home.cleanup()
            self._home = None

    def search(self, query: Query, vector: NDArray[np.float32], limit: int) -> list[tuple[str, float]]:
        """Ask the process."""
        asked = Ask(text=query.text, acl=query.acl, vector=vector.astype("<f4").tobytes(), limit=limit)
        answer = self._answer(asked, self._timeout_s + self.grace_s)
        self._spent_ms += answer.spent_ms
        return answer.results

    def clock_ms(self) -> float:
        """What the store itself took so far: the way to the process and back is no part of it."""
        return self._spent_ms

    grace_s: ClassVar[float] = 0.0
    """Added to the limit where the store itself ends what takes too long, and should be the one to say so."""

    def _start(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix=f"rageval-{self.name}-", ignore_cleanup_errors=True)
        environment = self.variables() | library_environment(self._home.name, self.options.environ)
        arguments = [sys.executable, "-c", MAIN, f"{type(self).__module__}:{self.store}"]
        how = Confinement(environment=environment, user=None, isolation="own-process")
        self._process = LineProcess(arguments, Path(self._home.name), how, longest=MAX_ANSWER)

    def _answer(self, message: Open | Ask, limit_s: float) -> Answer:
        """The answer; a process that is gone is forgotten.

        Raises:
            AnswerError: the store's own error, no answer in time, or a process that died.
        """
        process = self._process
        if process is None:
            raise AnswerError("the store is not open")
        try:
            answer = msgspec.json.decode(process.ask(msgspec.json.encode(message), limit_s), type=Answer)
        except DeadError:
            self.close()
            raise
        except msgspec.DecodeError:
            raise AnswerError(f"the results are longer than {MAX_ANSWER} bytes") from None
        if answer.error:
            raise AnswerError(answer.error)
        return answer
