"""The command `rageval action`, which the image's entry point runs."""

from __future__ import annotations

import os
import sys
import traceback

import click

from rageval_action.errors import EXIT_BUG, RagevalError, refused
from rageval_action.github.runner import Token, read_runner
from rageval_action.github.secrets import seal, unseal
from rageval_action.github.workflow_commands import Log


@click.command()
def action() -> int:
    """Do the whole job inside a GitHub workflow; everything comes from the runner's environment."""
    seal(os.environ, _restart)
    secrets = unseal(os.environ)
    log = Log(sys.stdout)
    with log.fenced():
        return _guarded(secrets, log)


def _restart(environ: dict[str, str]) -> None:
    """Replace this process by itself with a clean environment.

    The same words again, not `-m`: that would look for modules in the checkout first.
    """
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environ)  # noqa: S606 - ourselves


def _guarded(secrets: dict[str, str], log: Log) -> int:
    """Run, with every failure in the log under its exit code."""
    try:
        return _run(secrets, log)
    except (RagevalError, OSError, MemoryError) as error:
        from rageval_action.action.finish import last_words

        problem = error if isinstance(error, RagevalError) else refused(error)
        last_words(os.environ, log, problem)
        return problem.exit_code
    except Exception:  # noqa: BLE001 - the last line of defence names the bug and keeps the runner's files whole
        log.line(traceback.format_exc())
        log.annotate(
            "error", "this is a bug in rageval; please report it with the log of this step.", title="rageval"
        )
        return EXIT_BUG


def _run(secrets: dict[str, str], log: Log) -> int:
    from rageval_action.action.flow import run
    from rageval_action.action.inputs import read_inputs
    from rageval_action.action.session import Session
    from rageval_action.github.api import Api
    from rageval_action.http_client import Budget, new_session
    from rageval_action.world import real_world

    token = next((secrets[name] for name in _TOKEN_NAMES if secrets.get(name)), "")
    for value in secrets.values():
        log.mask(value)
    runner, inputs, world = read_runner(os.environ), read_inputs(os.environ), real_world()

    def api() -> Api:
        budget = Budget(float(inputs.network_budget), world.clock)
        return Api(runner.api_url, runner.repository, Token(token), budget, lambda: new_session(proxies=True))

    session = Session(
        runner=runner,
        inputs=inputs,
        token=Token(token),
        runtime_token=Token(secrets.get("ACTIONS_RUNTIME_TOKEN", "")),
        log=log,
        reading=api(),
        writing=api(),
        world=world,
    )
    return run(session)


_TOKEN_NAMES = ("INPUT_TOKEN", "INPUT_GITHUB-TOKEN", "INPUT_GITHUB_TOKEN", "GITHUB_TOKEN")
