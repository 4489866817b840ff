"""The runner's side of a job: its environment, and its output file and log read as it reads them."""

from __future__ import annotations

import re

from rageval_action.github.runner import Runner
from tests.fakes.github import REPOSITORY, REPOSITORY_ID, WORKFLOW


def runner_for(url: str, **given: object) -> Runner:
    fields: dict[str, object] = {
        "api_url": url,
        "server_url": "https://github.com",
        "repository": REPOSITORY,
        "repository_id": REPOSITORY_ID,
        "event_name": "pull_request",
        "event_path": "event.json",
        "sha": "0" * 40,
        "ref": "refs/pull/7/merge",
        "run_id": 500,
        "run_attempt": 1,
        "workflow_path": WORKFLOW,
    }
    return Runner(**(fields | given))  # type: ignore[arg-type]


def runner_reads(text: str) -> dict[str, str]:
    """The runner's rule: whichever of `=` and `<<` comes first decides; the last of a name wins."""
    lines = text.split("\n")
    assert lines.pop() == "", "a missing final newline fails the step"
    found: dict[str, str] = {}
    while lines:
        line = lines.pop(0)
        equal, heredoc = line.find("="), line.find("<<")
        if heredoc >= 0 and (equal < 0 or heredoc < equal):
            name, delimiter = line.split("<<", 1)
            value = []
            while (line := lines.pop(0)) != delimiter:
                value.append(line)
            found[name] = "\n".join(value)
        else:
            name, value_text = line.split("=", 1)
            found[name] = value_text
    return found


def commands(log: str) -> list[str]:
    """The commands a runner would obey, fences respected."""
    found: list[str] = []
    fence = ""
    for line in log.splitlines():
        stripped = line.lstrip()
        if fence:
            fence = "" if stripped == f"::{fence}::" else fence
        elif stripped.startswith("::stop-commands::"):
            fence = stripped.removeprefix("::stop-commands::")
        elif re.match(r"::[\w-]+", stripped) or "##[" in line:
            found.append(stripped)
    assert not fence, "the fence was left closed"
    return found
