"""Runs in the child process of the retriever `python`: imports one function and answers lines with lines.

It is handed to the interpreter as text (`python -c`), so it imports the standard library only.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from typing import Any


def main() -> None:
    """Answer every line of standard input; whatever the function prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    module, _, name = sys.argv[1].partition(":")
    sys.path[:0] = sys.argv[2:]
    function: Any = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    takes_acl = "acl" in inspect.signature(function).parameters
    for line in sys.stdin:
        answers.write(json.dumps(answer(function, json.loads(line), takes_acl=takes_acl)) + "\n")
        answers.flush()


def answer(function: Any, asked: dict[str, Any], *, takes_acl: bool) -> dict[str, Any]:
    """The answer to one question; any fault of the function costs this query."""
    extra = {"acl": asked.get("acl")} if takes_acl else {}
    try:
        found = function(asked["query"], asked["depth"], **extra)
        return {"id": asked["id"], "results": [plain(item) for item in found]}
    except Exception as error:  # noqa: BLE001
        return {"id": asked["id"], "error": f"{type(error).__name__}: {error}"}


def plain(item: Any) -> Any:
    """An id, an (id, score) pair or a mapping with id, score and rank, as JSON has it."""
    if isinstance(item, (str, int)):
        return item
    if isinstance(item, dict):
        return {"id": item["id"], "score": number(item.get("score")), "rank": number(item.get("rank"))}
    name, score = item
    return [name, number(score)]


def number(value: Any) -> Any:
    """A score or rank as a plain float (numpy's are not JSON)."""
    return value if value is None or isinstance(value, bool) else float(value)


if __name__ == "__main__":
    main()
