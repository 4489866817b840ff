"""The real handles: clock, ids, versions, machine, commit. What needs one takes it as a parameter."""

from __future__ import annotations

import datetime
import os
import platform
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from rageval_action import __version__
from rageval_action.core.model.record import GitInfo

REAL_ENVIRONMENT: Mapping[str, str] = os.environ


class Clock(Struct, frozen=True):
    """Time as a handle.

    Attributes:
        now: seconds that only go forward. wall: seconds since 1970. sleep: waits for so many seconds.
    """

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


REAL_CLOCK = Clock()

RANKING_LIBRARIES = (
    "bm25s", "faiss", "numpy", "onnxruntime", "opencc", "sentence_transformers", "snowballstemmer", "tokenizers",
    "torch", "transformers",
)  # fmt: skip
"""Modules whose version can move a score where they took part in ranking."""


class World(Struct, frozen=True, kw_only=True):
    """What an evaluation needs from outside, handed in by the shell.

    Attributes:
        environ: variables that options may name; never the job's own credentials in the Action.
    """

    now: Callable[[], datetime.datetime]
    new_id: Callable[[], str]
    versions: Callable[[], Mapping[str, str]]
    hardware: Mapping[str, str | int]
    git: GitInfo = GitInfo()
    clock: Clock = REAL_CLOCK
    environ: Mapping[str, str] = REAL_ENVIRONMENT

    def today(self) -> datetime.date:
        """The date that waivers are held to, in UTC."""
        return self.now().date()


def real_world(repository: Path | None = None) -> World:
    """The real world: clock, random run id, versions, machine, and the commit of `repository` (default: here)."""
    return World(
        now=lambda: datetime.datetime.now(datetime.UTC).replace(microsecond=0),
        new_id=lambda: uuid.uuid4().hex,
        versions=versions,
        hardware={
            "machine": platform.machine(),
            "system": platform.system(),
            "cpus": os.cpu_count() or 0,
            "node": platform.node(),
        },
        git=commit(repository or Path.cwd(), os.environ),
    )


def versions() -> dict[str, str]:
    """Versions of what took part so far and can move a score: a library that was not loaded moved nothing."""
    found = {"rageval": __version__, "python": platform.python_version()}
    loaded = {name: sys.modules[name] for name in RANKING_LIBRARIES if name in sys.modules}
    return found | {name: _version(name, module) for name, module in loaded.items()}


def _version(name: str, module: ModuleType) -> str:
    """As the module says, else as it was installed; empty where neither is known."""
    if said := getattr(module, "__version__", ""):
        return str(said)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def commit(folder: Path, environ: Mapping[str, str]) -> GitInfo:
    """The commit at hand: from the environment of a workflow, else read from `.git` without starting git."""
    sha = environ.get("GITHUB_SHA", "")
    if sha:
        return GitInfo(sha=sha, ref=environ.get("GITHUB_REF", ""), event=environ.get("GITHUB_EVENT_NAME", ""))
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_dir():
            return _head(git)
    return GitInfo()


def checked_out(folder: Path) -> str:
    """The commit that lies in `folder`, whatever the workflow's environment says; empty outside a repository."""
    git = folder / ".git"
    return _head(git).sha if git.is_dir() else ""


def _head(git: Path) -> GitInfo:
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return GitInfo(sha=head)
        ref = head.removeprefix("ref: ")
        loose = git / ref
        if loose.is_file():
            return GitInfo(sha=loose.read_text().strip(), ref=ref)
        packed = (git / "packed-refs").read_text().splitlines()
    except OSError:
        return GitInfo()
    found = [line.split(" ")[0] for line in packed if line.endswith(f" {ref}")]
    return GitInfo(sha=found[0] if found else "", ref=ref)
