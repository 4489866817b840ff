"""Every option that takes a value: a range, a message, and never a traceback, whatever somebody writes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from rageval_action.action.inputs import ACTION_OPTIONS, read_inputs
from rageval_action.cli.main import root, run
from rageval_action.cli.value_types import ClickValue
from rageval_action.config import OPTIONS, load
from rageval_action.errors import EXIT_BAD_INPUT, EXIT_BUG, ConfigError
from rageval_action.option_values import Option, parse_value

WRITTEN = (
    "-1", "0", "2147483648", "9223372036854775808", "1" + "0" * 30, "9" * 5000, "1e3", "1e999", "nan", "٣",
    "", " 5 ", "true", "a=9e99", "0/1e400", "recall@9223372036854775808",
)  # fmt: skip
"""What people and templates write where a number belongs."""

IN_A_FILE = (-1, 0, 2**31, 2**63, 10**30, 1e3, float("inf"), float("nan"), True, [], {}, b"5")


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    found: list[tuple[tuple[str, ...], click.Command]] = [((), root)]
    while found:
        words, command = found.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            names = command.list_commands(context)
            found += [((*words, name), command.get_command(context, name) or command) for name in names]
        else:
            yield words, command


CASES = [
    pytest.param(words, option, id=" ".join((*words, option.opts[0])))
    for words, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
]


MEASURES_SOMETHING = ("demo",)
"""Commands that need nothing and so would do their whole work here; their options are names of files."""


@pytest.mark.parametrize(
    ("words", "option"), [case for case in CASES if case.values[0] != MEASURES_SOMETHING]
)
def test_no_value_of_an_option_ends_in_a_traceback(
    words: tuple[str, ...], option: click.Option, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a value is taken, the run ends with what is missing here: a file, a folder or a token."""
    monkeypatch.chdir(tmp_path)
    for value in WRITTEN:
        line = ["rageval", *words, f"{option.opts[0]}={value}", *_missing(words, option)]
        monkeypatch.setattr("sys.argv", line)
        assert run() != EXIT_BUG, line


@pytest.mark.parametrize(("words", "option"), CASES)
def test_every_number_of_a_command_has_a_range(words: tuple[str, ...], option: click.Option) -> None:
    del words
    assert not isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
    if isinstance(option.type, ClickValue):
        numbers = [_outcome(functools.partial(option.type.convert, value, option, None)) for value in WRITTEN]
        assert all(
            option.type.option.least <= number <= option.type.option.most
            for number in numbers
            if number is not None
        )
        assert None in numbers


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_options_of_the_table_are_taken_or_refused_with_their_place(option: Option) -> None:
    for value in (*WRITTEN, *IN_A_FILE):
        places = {"flags": {option.name: value}, "inputs": {}, "file": {option.name: value}}
        if isinstance(value, str):
            places["inputs"] = {f"INPUT_{option.name.upper()}": value}
        for place in ("flags", "inputs", "file"):
            given = {name: values if name == place else {} for name, values in places.items()}
            config = _outcome(functools.partial(load, **given))
            if config and option.kind in ("integer", "number") and given[place]:
                kept = getattr(config, option.name.replace("-", "_"))
                assert kept is None or option.least <= kept <= option.most


@pytest.mark.parametrize("option", ACTION_OPTIONS, ids=lambda option: option.name)
def test_inputs_of_the_action_are_taken_or_refused_with_their_place(option: Option) -> None:
    for value in WRITTEN:
        inputs = _outcome(functools.partial(read_inputs, {f"INPUT_{option.name.upper()}": value}))
        if inputs and option.kind == "integer":
            assert option.least <= getattr(inputs, option.name.replace("-", "_")) <= option.most


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        (Option(name="n", kind="integer", least=1, most=9), " 5 ", 5),
        (Option(name="n", kind="integer", most=2000), "1e3", 1000),
        (Option(name="x", kind="number", least=-1), "-0.5", -0.5),
        (Option(name="x", kind="flag"), "Yes", True),
        (Option(name="x", kind="flag"), 0, False),
        (Option(name="x", kind="list", choices=("a", "b")), "a,\nb", ("a", "b")),
        (Option(name="x", kind="choice", choices=("", "a")), "", ""),
        (Option(name="x", kind="path"), "a b", "a b"),
    ],
)
def test_values(option: Option, value: object, expected: object) -> None:
    parsed = parse_value(option, value)
    assert parsed == expected
    assert type(parsed) is type(expected)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (
            Option(name="n", kind="integer", least=1, most=65_535),
            "0",
            '"0" is not a whole number from 1 to 65,535',
        ),
        (Option(name="n", kind="integer"), "٣", '"٣" is not a whole number from 0 to 1,000,000'),
        (Option(name="n", kind="number", most=1), 1.5, "1.5 is not a number from 0 to 1"),
        (Option(name="n", kind="number", most=1), True, "true is not a number from 0 to 1"),
        (Option(name="n", kind="flag"), "maybe", '"maybe" is neither true nor false'),
        (Option(name="n", kind="choice", choices=("", "a", "b")), "c", '"c" is none of a, b'),
        (Option(name="n", kind="list", choices=("a", "b")), "a,d,c", '"c", "d" is none of a, b'),
        (Option(name="n", kind="text"), 7, "n is 7, not text"),
    ],
)
def test_messages(option: Option, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_value(option, value)
    assert str(caught.value) == message


def _outcome(read: Callable[[], Any]) -> Any:
    """What was read; None where it was refused in words and with its place."""
    try:
        return read()
    except (ConfigError, click.UsageError) as error:
        refusal = error
    assert refusal.exit_code == EXIT_BAD_INPUT
    assert refusal.message
    code = getattr(refusal, "code", "")
    assert getattr(refusal, "where", "") or getattr(refusal, "param", None) or code.startswith("action.bad-")
    return None


def _missing(words: tuple[str, ...], given: click.Option) -> list[str]:
    """The required options and arguments of a command, each naming what is not there."""
    command = dict(commands())[words]
    found: list[str] = []
    for option in command.params:
        if option.required and option is not given:
            name = option.opts[0] if isinstance(option, click.Option) else ""
            found += [f"{name}=absent"] if name else ["absent"]
    return found
