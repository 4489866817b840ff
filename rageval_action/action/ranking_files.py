"""Files of the repository that rank: a team's own code, and what a retriever's options name.

Where a pull request edits them, the base cannot be ranked with the head's files: a reversed search function would
reverse both sides.
"""

from __future__ import annotations

import ast
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from rageval_action.action.base import Base
from rageval_action.config import Config
from rageval_action.github.repository import FileFound

MOST_FILES = 40
"""Files that are compared over the API; code of more needs the base's own checkout."""

FOLDERS = frozenset({"cwd", "path"})
"""Options that say where code lies; what is imported from there is followed file by file."""


def changed_since(base: Base, configs: Sequence[Config]) -> tuple[str, ...]:
    """Paths of what ranks here and is not the same at the base commit, as far as can be seen.

    Raises:
        ApiError: GitHub could not be asked.
    """
    named = dict.fromkeys(path for config in configs for path in ranking_files(config))
    inside = [path for path in map(base.root.inside, named) if path and path != "."]
    if len(inside) > MOST_FILES:
        return tuple(inside[:1])
    return tuple(path for path in inside if not _same(base, path))


def _same(base: Base, path: str) -> bool:
    here = base.root.folder / path
    if not here.is_file():
        return False
    found = base.file(path)
    return isinstance(found, FileFound) and found.data == here.read_bytes()


def ranking_files(config: Config) -> tuple[str, ...]:
    """Every file or folder that the retriever's options name, and what their Python files import from the checkout."""
    options = {name: str(value) for name, value in config.retriever_options.items()}
    found: dict[Path, None] = {}
    for name, value in options.items():
        prefix, _, last = name.rpartition(".")
        beside = f"{prefix}." if prefix else ""
        if last == "command":
            found |= dict.fromkeys(_of_command(value, Path(options.get(f"{beside}cwd", "."))))
        elif last == "function":
            folders = [Path(part.strip()) for part in options.get(f"{beside}path", ".").split(",")]
            found |= dict.fromkeys(_of_module(value.partition(":")[0].split("."), folders))
        elif last not in FOLDERS and os.path.lexists(value):
            found[Path(value)] = None
    return tuple(map(str, found))


def _of_command(line: str, folder: Path) -> Iterator[Path]:
    """The words of a command that are files, with what they import."""
    try:
        words = shlex.split(line)
    except ValueError:
        return
    for before, word in zip(["", *words], words, strict=False):
        path = next((path for path in (folder / word, Path(word)) if path.is_file()), None)
        if path:
            yield path
            yield from _imported(path, [path.parent, folder])
        elif before == "-m":
            yield from _of_module(word.split("."), [folder])


def _of_module(parts: Sequence[str], folders: Sequence[Path]) -> Iterator[Path]:
    """The module's file and what it imports; the name alone where no file is found."""
    found = _files_of(parts, folders)
    for path in found or [folders[0].joinpath(*parts).with_suffix(".py")]:
        yield path
        yield from _imported(path, folders)


def _imported(path: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """What a Python file imports from these folders, and what that imports."""
    seen, waiting = {path.resolve()}, [path]
    while waiting:
        current = waiting.pop()
        for above, parts in _imports(current):
            places = [current.parent.joinpath(*[".."] * (above - 1))] if above else folders
            for file in _files_of(parts, places):
                if file.resolve() not in seen:
                    seen.add(file.resolve())
                    waiting.append(file)
                    yield file


def _imports(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Modules that a Python file imports: how many dots stand before, and the parts of the name."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            yield from ((node.level, [*module, alias.name]) for alias in node.names)


def _files_of(parts: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    """Files of a module's name: its own, and those of the packages that it is in."""
    stems = (folder.joinpath(*parts[: at + 1]) for folder in folders for at in range(len(parts)))
    places = (path for stem in stems for path in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"))
    return [path for path in places if path.is_file()]
