"""Types of click options that are read by the one parser of option values, each with its range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from rageval_action.option_values import Option, parse_value

F = TypeVar("F", bound=Callable[..., Any])


class ClickValue(click.ParamType[Any]):
    """An option of one command, read as those of the table are."""

    def __init__(self, option: Option) -> None:
        self.option = option
        self.name = option.kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or click's usage error (exit code 2)."""
        try:
            return parse_value(self.option, value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


def integer(least: int = 0, most: int = 1_000_000) -> ClickValue:
    """A whole number between `least` and `most`."""
    return ClickValue(Option(name="", kind="integer", least=least, most=most))


def number(least: float = 0, most: float = 1) -> ClickValue:
    """A number between `least` and `most`."""
    return ClickValue(Option(name="", kind="number", least=least, most=most))


def number_option(name: str, of: ClickValue, default: float, text: str, **more: Any) -> Callable[[F], F]:
    """A click option for a number, with its default in the help."""
    return click.option(name, type=of, default=default, help=text, **{"show_default": True, **more})
