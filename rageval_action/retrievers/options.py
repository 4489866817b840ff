"""A retriever's own options: read once, checked, and kept as used so that the record can name them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

from rageval_action.errors import ConfigError
from rageval_action.option_values import Option, parse_value
from rageval_action.retrievers.interface import OptionValue
from rageval_action.transport import credential, fill
from rageval_action.world import REAL_ENVIRONMENT

Value = TypeVar("Value", str, int, float, bool)


class Options:
    """Reads the options of one retriever and remembers what was read.

    Attributes:
        environ: variables that options may name.
        recorded: option -> value in force, defaults included: what `Run.parameters` holds. Options read with
            `secret=True` leave no value behind.
    """

    def __init__(
        self, retriever: str, given: Mapping[str, OptionValue], environ: Mapping[str, str] = REAL_ENVIRONMENT
    ) -> None:
        self._retriever = retriever
        self.environ = environ
        self._given = dict(given)
        self._known: set[str] = set()
        self._prefixes: set[str] = set()
        self.recorded: dict[str, OptionValue] = {}

    def text(
        self, name: str, default: str | None = None, *, choices: tuple[str, ...] = (), secret: bool = False
    ) -> str:
        """A string; `default=None` makes it required, `choices` limits it."""
        value = self._take(name, default)
        if not isinstance(value, str):
            value = str(value).lower() if isinstance(value, bool) else str(value)
        option = Option(name=name, kind="choice" if choices else "text", choices=choices)
        return self._record(name, str(self._parsed(option, value)), secret=secret)

    def headers(self) -> dict[str, str]:
        """The options `header.NAME`, with `${VARIABLE}` filled in."""
        return {
            name: fill(str(value), f"retriever {self._retriever}, option header.{name}", self.environ)
            for name, value in self.part("header").items()
        }

    def key(self, name: str, default: str) -> str:
        """What the environment variable holds that the option `name` names."""
        return credential(
            self.text(name, default), f"retriever {self._retriever}, option {name}", self.environ
        )

    def integer(self, name: str, default: int | None = None, *, least: int = 0, most: int = 1_000_000) -> int:
        """A whole number between `least` and `most`."""
        option = Option(name=name, kind="integer", least=least, most=most)
        return self._record(name, int(self._parsed(option, self._take(name, default))))

    def number(
        self, name: str, default: float | None = None, *, least: float = 0.0, most: float = 1e12
    ) -> float:
        """A finite number between `least` and `most`."""
        option = Option(name=name, kind="number", least=least, most=most)
        return self._record(name, float(self._parsed(option, self._take(name, default))))

    def flag(self, name: str, *, default: bool) -> bool:
        """A yes or no."""
        value = self._parsed(Option(name=name, kind="flag"), self._take(name, default))
        return self._record(name, bool(value))

    def names(self, name: str, default: str | None = None) -> tuple[str, ...]:
        """A comma-separated list, blanks around items dropped."""
        value = self.text(name, default)
        return tuple(item.strip() for item in value.split(",") if item.strip())

    def part(self, prefix: str) -> dict[str, OptionValue]:
        """All options that start with `prefix.`, without it: those of a retriever inside this one."""
        self._prefixes.add(prefix)
        return {
            key.removeprefix(f"{prefix}."): value
            for key, value in self._given.items()
            if key.startswith(f"{prefix}.")
        }

    def given(self, name: str) -> bool:
        """True when the user set `name`."""
        return name in self._given

    def finish(self) -> None:
        """Refuse what nobody read.

        Raises:
            ConfigError: `config.unknown-option`, naming the nearest known one.
        """
        for name in self._given:
            if name in self._known or name.split(".", 1)[0] in self._prefixes:
                continue
            near = difflib.get_close_matches(name, self._known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"It takes: {', '.join(sorted(self._known))}."
            raise ConfigError(
                "config.unknown-option",
                f'the retriever {self._retriever} has no option "{name}".',
                hint=hint,
                where=f"retriever {self._retriever}",
            )

    def wrong(self, name: str, problem: str) -> ConfigError:
        """The error for a value that only the retriever itself could judge."""
        return ConfigError(
            "config.bad-option", f"{problem}.", where=f"retriever {self._retriever}, option {name}"
        )

    def _take(self, name: str, default: OptionValue | None) -> OptionValue:
        self._known.add(name)
        if name in self._given:
            return self._given[name]
        if default is None:
            raise ConfigError(
                "config.missing-option",
                f"the retriever {self._retriever} needs the option {name}.",
                hint=f"Options stand in the configuration file: `retriever: {{name: {self._retriever}, {name}: …}}`.",
                where=f"retriever {self._retriever}",
            )
        return default

    def _parsed(self, option: Option, value: OptionValue) -> OptionValue:
        try:
            parsed: OptionValue = parse_value(option, value)
        except ValueError as error:
            raise self.wrong(option.name, str(error)) from error
        return parsed

    def _record(self, name: str, value: Value, *, secret: bool = False) -> Value:
        if not secret:
            self.recorded[name] = value
        return value
