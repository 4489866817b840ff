"""What a workflow file tells this action: the inputs of its steps, as the file stands at a commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rageval_action.errors import ConfigError
from rageval_action.safe_yaml import YamlDocument, YamlError

OURS = "rag-eval-action"
TELLING = frozenset({"golden", "snapshot", "config"})
"""Inputs that tell a step of this action under another name (a fork of it, `./`)."""


def step_inputs(data: bytes, where: str) -> tuple[dict[str, str], ...]:
    """The `with:` of every step that uses this action, as texts; nothing of a file that is no workflow.

    A value may hold an expression (`${{ … }}`), which only GitHub can work out.

    Args:
        data: the file.
        where: how messages name it.

    Raises:
        ConfigError: `config.bad-yaml`.
    """
    try:
        document = YamlDocument(data)
        workflow = document.value(document.root)
    except YamlError as error:
        raise ConfigError(
            "config.bad-yaml", f"the workflow cannot be used: {error.problem}.", where=error.place(where)
        ) from error
    return tuple(_texts(step) for step in _steps(workflow) if _is_ours(step))


def named(steps: tuple[dict[str, str], ...], evaluation: str) -> dict[str, str] | None:
    """The step of this evaluation; None where no step, or more than one, can be meant."""
    fitting = [step for step in steps if step.get("id", "default") == evaluation]
    open_ids = [step for step in steps if "${{" in step.get("id", "")]
    found = fitting or open_ids or list(steps)
    return found[0] if len(found) == 1 else None


def _steps(workflow: object) -> Iterator[Mapping[str, object]]:
    jobs = workflow.get("jobs") if isinstance(workflow, Mapping) else None
    for job in jobs.values() if isinstance(jobs, Mapping) else ():
        steps = job.get("steps") if isinstance(job, Mapping) else None
        for step in steps if isinstance(steps, list) else ():
            if isinstance(step, Mapping) and isinstance(step.get("uses"), str):
                yield step


def _is_ours(step: Mapping[str, object]) -> bool:
    given = step.get("with")
    told = given.keys() if isinstance(given, Mapping) else set()
    return OURS in str(step["uses"]) or bool(TELLING & set(told))


def _texts(step: Mapping[str, object]) -> dict[str, str]:
    given = step.get("with")
    if not isinstance(given, Mapping):
        return {}
    return {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if value is not None
    }
