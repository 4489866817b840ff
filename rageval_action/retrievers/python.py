"""A team's own Python function in a child process: `search(query, depth)`, perhaps with `acl`."""

from __future__ import annotations

import sys
from pathlib import Path

from rageval_action.retrievers.code_hashes import code_of_function
from rageval_action.retrievers.command import CommandRetriever
from rageval_action.retrievers.options import Options


class PythonRetriever(CommandRetriever):
    """Asks `module:function`, imported in a child process under the same limits as `command`.

    Options: `function`; `path` (folders to import from, the current one by default); `python` (the
    interpreter, ours
    by default: one with the team's packages can be named); and those of `command` but `command` itself. The
    function returns ids, `(id, score)` pairs or mappings with `id` and perhaps `score` and `rank`, best first.
    """

    name = "python"

    def _command(self, options: Options) -> list[str]:
        function = options.text("function")
        module, _, name = function.partition(":")
        if not module or not name:
            raise options.wrong("function", f'"{function}" is not of the form module:function')
        interpreter = options.text("python", sys.executable)
        paths = options.names("path", ".")
        self._module, self._paths = module, [Path(path) for path in paths]
        source = Path(__file__).with_name("python_child.py").read_text(encoding="utf-8")
        return [interpreter, "-c", source, function, *(str(Path(path).resolve()) for path in paths)]

    def code(self) -> dict[str, str]:
        """The files of the function's module and of what it imports from `path`."""
        return code_of_function(self._module, self._paths)
