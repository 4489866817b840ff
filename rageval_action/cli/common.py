"""What several commands share: flags from the option table, the real world, and where results go."""

from __future__ import annotations

import datetime
import os
import platform
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from rageval_action.cli.output import write_whole
from rageval_action.config import BY_NAME, FILE, Config, load, read_file
from rageval_action.errors import ConfigError

F = TypeVar("F", bound=Callable[..., Any])


def flags(*names: str) -> Callable[[F], F]:
    """Add the options `names` of the table to a command, in that order, and `--config`."""

    def decorate(function: F) -> F:
        config = click.option(
            "--config", default="", help=f"Configuration and policy; default {FILE}, if it exists."
        )
        function = config(function)
        for name in reversed(names):
            option = BY_NAME[name]
            extra: dict[str, Any] = {"default": None, "help": option.help}
            if option.kind == "list":
                extra.update(multiple=True)
            elif option.kind == "flag":
                extra.update(type=str, metavar="true|false")
            elif option.choices:
                extra.update(metavar="|".join(option.choices))
            elif option.kind != "text":
                extra.update(metavar=option.kind.upper())
            if option.default:
                extra["help"] += f" Default: {option.default}."
            function = click.option(f"--{name}", **extra)(function)
        return function

    return decorate


def configure(given: Mapping[str, object], config: str) -> Config:
    """The checked configuration from flags and `--config` (or `rageval.yml` where there is one)."""
    path = Path(config or FILE)
    file = read_file(path) if config or path.is_file() else {}
    return load(given, {}, file, where=str(path))


def world(repository: Path | None = None) -> Any:
    """The real world: clock, random run id, versions, machine, commit."""
    from rageval_action.pipeline import World

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
        git=commit(repository or Path.cwd()),
    )


def versions() -> dict[str, str]:
    """Versions of what took part so far and can move a score: a library that was not loaded moved nothing."""
    from rageval_action import __version__

    found = {"rageval": __version__, "python": platform.python_version()}
    loaded = ((name, sys.modules.get(name)) for name in ("numpy", "faiss", "sentence_transformers"))
    return {**found, **{name: str(module.__version__) for name, module in loaded if module is not None}}


def commit(folder: Path) -> Any:
    """The commit at hand: from the environment of a workflow, else read from `.git` without starting git."""
    from rageval_action.core.record import GitInfo

    sha = os.environ.get("GITHUB_SHA", "")
    if sha:
        return GitInfo(
            sha=sha, ref=os.environ.get("GITHUB_REF", ""), event=os.environ.get("GITHUB_EVENT_NAME", "")
        )
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_dir():
            return _head(git)
    return GitInfo()


def checked_out(folder: Path) -> str:
    """The commit that lies in `folder`, whatever the workflow's environment says; empty outside a repository."""
    git = folder / ".git"
    found: str = _head(git).sha if git.is_dir() else ""
    return found


def _head(git: Path) -> Any:
    from rageval_action.core.record import GitInfo

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


def write_text(target: str, text: str) -> None:
    """Write to a file, or to standard output for `-`.

    Raises:
        ConfigError: `output.not-written`.
    """
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        write_whole(Path(target), text.encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigError("output.not-written", f"{error.strerror}.", where=target) from error
