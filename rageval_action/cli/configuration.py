"""The configuration of a command: flags from the option table, and `--config`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rageval_action.config import BY_NAME, FILE, Config, load, read_file

if TYPE_CHECKING:
    from rageval_action.world import World

F = TypeVar("F", bound=Callable[..., Any])


config_option = click.option(
    "--config", default="", help=f"Configuration and policy; default {FILE}, if it exists."
)


def flags(*names: str) -> Callable[[F], F]:
    """Add the options `names` of the table to a command, in that order, and `--config`."""

    def decorate(function: F) -> F:
        function = config_option(function)
        for name in reversed(names):
            option = BY_NAME[name]
            extra: dict[str, Any] = {"default": None, "help": option.help}
            if option.kind in ("list", "paths"):
                extra.update(multiple=True)
                if option.kind == "paths":
                    extra.update(metavar="PATH")
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


def world(repository: Path | None = None) -> World:
    """The world that the command line was started in, else the real one."""
    from rageval_action.world import World, real_world

    return click.get_current_context().find_object(World) or real_world(repository)


def configure(given: Mapping[str, object], config: str) -> Config:
    """The checked configuration from flags and `--config` (or `rageval.yml` where there is one)."""
    path = Path(config or FILE)
    file = read_file(path) if config or path.is_file() else {}
    return load(given, {}, file, where=str(path))
