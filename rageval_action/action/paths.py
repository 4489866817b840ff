"""Which files the Action reads: those of the checkout, and what earlier steps left in the runner's temporary folder.

A pull request brings its own links and its own configuration, and the action's process may read more than its author.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from rageval_action.config import Config
from rageval_action.errors import ConfigError
from rageval_action.github.runner import Runner
from rageval_action.golden.input_files import files_named


def keep_inside(runner: Runner, named: Mapping[str, Iterable[str]]) -> None:
    """Refuse what leads elsewhere, links followed; a text that names no file is no concern of ours.

    Args:
        runner: its workspace and temporary folder are what may be read.
        named: paths by what they are for.

    Raises:
        ConfigError: `config.outside`.
    """
    roots = [Path(os.path.realpath(root)) for root in (runner.workspace or ".", runner.temp) if root]
    for name, paths in named.items():
        for path in filter(os.path.lexists, paths):
            if not any(Path(os.path.realpath(path)).is_relative_to(root) for root in roots):
                text = f"{name} leads out of the workspace."
                hint = "Here only files of the checkout and of RUNNER_TEMP are read; copy it there in an earlier step."
                raise ConfigError("config.outside", text, hint=hint, where=path)


def files_of(config: Config) -> dict[str, Iterable[str]]:
    """What an evaluation may open, as `keep_inside` takes it.

    Raises:
        GoldenError: the golden set's location names no files.
    """
    options = {f"the retriever's {name}": [str(value)] for name, value in config.retriever_options.items()}
    return {
        "the golden set": files_named(config.golden),
        "the snapshot": of_store(config.snapshot),
        **options,
    }


def of_store(location: str) -> list[str]:
    """A snapshot's folder, or what `scheme:place?option=…` can name."""
    place, _, options = location.partition(":")[2].partition("?")
    return [location, place, *(value for _, value in parse_qsl(options))]
