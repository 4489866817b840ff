"""Which files the Action reads: those of the checkout, and what earlier steps left in the runner's temporary folder.

A pull request brings its own links and its own configuration, and the action's process may read more than its author.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rageval_action.config import Config
from rageval_action.errors import ConfigError
from rageval_action.github.context import Runner


def keep_inside(runner: Runner, named: Mapping[str, str]) -> None:
    """Refuse what leads elsewhere, links followed.

    Args:
        runner: its workspace and temporary folder are what may be read.
        named: path by what it is, empty for none.

    Raises:
        ConfigError: `config.outside`.
    """
    roots = [_real(root) for root in (runner.workspace or ".", runner.temp) if root]
    for name, value in named.items():
        if value and not any(_real(value).is_relative_to(root) for root in roots):
            text = f"{name} leads out of the workspace."
            hint = "Here only files of the checkout and of RUNNER_TEMP are read; copy it there in an earlier step."
            raise ConfigError("config.outside", text, hint=hint, where=value)


def _real(path: str) -> Path:
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # a NUL in it: no file, in the workspace or anywhere
        return Path(path)


def files_of(config: Config) -> dict[str, str]:
    """What an evaluation opens, as `keep_inside` takes it; an option of the retriever counts when it names a file."""
    options = {
        f"the retriever's {name}": value
        for name, value in config.retriever_options.items()
        if isinstance(value, str) and os.path.lexists(value)
    }
    return {"the golden set": config.golden, "the snapshot": config.snapshot, **options}
