"""The root command: finds the command's module, turns errors into one message and an exit code."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import signal
import sys
from typing import TYPE_CHECKING

import click

from rageval_action import __version__
from rageval_action.cli.safe_echo import say
from rageval_action.errors import EXIT_BAD_INPUT, EXIT_BUG, ConfigError, RagevalError, refused

if TYPE_CHECKING:
    from rageval_action.world import World

COMMANDS: dict[str, str] = {
    "evaluate": "rageval_action.cli.evaluate:evaluate",
    "compare": "rageval_action.cli.compare:compare",
    "action": "rageval_action.action.command:action",
    "report": "rageval_action.cli.report:report",
    "explain": "rageval_action.cli.explain:explain",
    "history": "rageval_action.cli.history:history",
    "demo": "rageval_action.cli.demo:demo",
    "retrieve": "rageval_action.cli.retrieve:retrieve",
    "score": "rageval_action.cli.score:score",
    "matrix": "rageval_action.cli.matrix:matrix",
    "probe": "rageval_action.cli.probe:probe",
    "export": "rageval_action.cli.export:export",
    "schema": "rageval_action.cli.schema:schema",
    "snapshot": "rageval_action.cli.snapshot:snapshot",
    "golden": "rageval_action.cli.golden:golden",
}
"""Command -> `module:attribute`; a command's imports are paid for only when it runs."""


EXIT_STOPPED, EXIT_PIPE, EXIT_TERMINATED = 130, 141, 143
"""As a shell counts a process that SIGINT, SIGPIPE or SIGTERM ended."""

GC_THRESHOLD = 100_000
"""Hits by the hundred thousand are made and kept, and none of them is ever in a cycle: look for cycles rarely."""


class Terminated(SystemExit):
    """SIGTERM came."""


class LazyGroup(click.Group):
    """A click group whose commands are looked up in a table when they are asked for."""

    def __init__(self, *args: object, table: dict[str, str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Commands in the order of the table."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return the command."""
        del ctx
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and refuse an option that is given twice and takes one value: the first would be lost."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not isinstance(command, click.Group):
            _refuse_repeats(ctx, name, command, rest)
        return name, command, rest


def _refuse_repeats(parent: click.Context, name: str | None, command: click.Command, args: list[str]) -> None:
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    with contextlib.suppress(click.ClickException):  # the command itself says what is wrong with its words
        _, _, order = command.make_parser(context).parse_args(list(args))
        given = [one for one in order if isinstance(one, click.Option) and not (one.multiple or one.is_flag)]
        twice = next((one for one in given if given.count(one) > 1), None)
        if twice is not None:
            raise ConfigError(
                "config.repeated",
                f"{twice.opts[0]} is given more than once, and takes one value.",
                hint="Give it once.",
            )


@click.command(cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rageval")
def root() -> None:
    """Tell whether RAG retrieval got better or worse, query by query, and judge it."""


def main() -> None:
    """Run `rageval` and end the process.

    It ends without unloading: taking down the thread pools of the native libraries takes longer than most evaluations,
    and nothing is open any more that would need it.
    """
    gc.set_threshold(GC_THRESHOLD)
    signal.signal(signal.SIGTERM, _terminated)
    _make_streams_writable()
    code = run()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    with contextlib.suppress(OSError, ValueError):
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            code = EXIT_PIPE
    os._exit(code)


def _make_streams_writable() -> None:
    """A verdict is not lost because nobody listens, or because a terminal lacks a character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - until we end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace" if name == "stdout" else "backslashreplace")


def _terminated(number: int, frame: object) -> None:
    """Leave by the way of an exception, once, so that child processes are ended and files are as they were."""
    del frame
    signal.signal(number, signal.SIG_IGN)
    raise Terminated(EXIT_TERMINATED)


def run(world: World | None = None) -> int:
    """Run the command line of this process and return its exit code; errors go to standard error.

    Args:
        world: what the commands see of clock and environment; default: the real one.
    """
    try:
        code = root.main(standalone_mode=False, obj=world)
    except RagevalError as error:
        say(f"rageval: {error}", err=True)
        return error.exit_code
    except click.exceptions.Abort:
        click.echo("rageval: stopped.", err=True)
        return EXIT_STOPPED
    except Terminated:
        click.echo("rageval: terminated.", err=True)
        return EXIT_TERMINATED
    except click.ClickException as error:
        error.show()
        return EXIT_BAD_INPUT
    except (BrokenPipeError, SystemExit):
        # click and rich turn a broken pipe into SystemExit(1), which would read as a regression.
        return EXIT_PIPE
    except (OSError, MemoryError) as error:
        known = refused(error)
        say(f"rageval: {known}", err=True)
        return known.exit_code
    except Exception:  # noqa: BLE001 - the last resort: a bug ends with its traceback and its own exit code
        import traceback

        traceback.print_exc()
        click.echo("rageval: this is a bug in rageval; please report it with the lines above.", err=True)
        return EXIT_BUG
    return code if isinstance(code, int) else 0
