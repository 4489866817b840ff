"""Which files of the repository rank, as far as that can be read off them, and their hashes.

A function's module and a program's script are followed through their import statements. What an import names at run
time only, packages installed elsewhere, and data that the code opens by itself cannot be seen here.
"""

from __future__ import annotations

import ast
import hashlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

MOST_SOURCE_BYTES = 4 << 20
"""A longer source file is hashed and not followed."""


def code_of_function(module: str, folders: Sequence[Path]) -> dict[str, str]:
    """Path in the repository -> SHA-256 of the files that importing `module` from `folders` runs.

    Returns:
        Nothing where the module is not in the repository: then it is not tracked.
    """
    found = _Files()
    found.add_module(module, folders)
    return found.hashes()


def code_of_command(words: Sequence[str], folder: Path) -> dict[str, str]:
    """Path in the repository -> SHA-256 of the files that a command line names, and of what they import.

    Args:
        words: program and arguments; `--option=FILE` names FILE.
        folder: where it runs.
    """
    found = _Files()
    if words and "/" not in words[0] and (program := shutil.which(words[0])):
        found.add(Path(program))
    for at, word in enumerate(words):
        path = folder / word.rpartition("=")[2]
        found.add(path)
        if path.suffix == ".py":
            found.follow(path, "", [path.resolve().parent])
        if word == "-m" and at + 1 < len(words):
            found.add_module(words[at + 1], [folder])
            found.add_module(f"{words[at + 1]}.__main__", [folder])
    return found.hashes()


def repository_root(here: Path) -> Path:
    """The nearest folder from `here` upwards that is a repository, else `here`."""
    real = here.resolve()
    return next((folder for folder in (real, *real.parents) if (folder / ".git").exists()), real)


class _Files:
    """Files of the repository that were found, each once, links followed."""

    def __init__(self) -> None:
        self._root = repository_root(Path.cwd())
        self._found: set[Path] = set()

    def hashes(self) -> dict[str, str]:
        """Path from the root -> SHA-256, in order of the paths."""
        return {path.relative_to(self._root).as_posix(): _sha256(path) for path in sorted(self._found)}

    def add(self, path: Path) -> bool:
        """True for a file of the repository that was not known yet."""
        try:
            real = path.resolve()
            new = real.is_relative_to(self._root) and real not in self._found and real.is_file()
        except (OSError, ValueError):  # a word of a command line need not be a path at all
            return False
        if new:
            self._found.add(real)
        return new

    def add_module(self, name: str, folders: Sequence[Path]) -> None:
        """The files of a module and of the packages around it, and what they import."""
        parts = name.split(".")
        for folder in folders:
            for length in range(1, len(parts) + 1):
                place = folder.joinpath(*parts[:length])
                package = ".".join(parts[:length])
                if self.add(place / "__init__.py"):
                    self.follow(place / "__init__.py", package, folders)
                source = place.with_name(f"{place.name}.py")
                if self.add(source):
                    self.follow(source, package.rpartition(".")[0], folders)
                for library in _libraries(place):
                    self.add(library)

    def follow(self, source: Path, package: str, folders: Sequence[Path]) -> None:
        """Add what a source file imports; `package` is the one that its relative imports start from."""
        for name in _imported(source, package):
            self.add_module(name, folders)


def _libraries(place: Path) -> Iterator[Path]:
    """Compiled modules of this name."""
    if place.name and place.parent.is_dir():
        yield from (path for path in place.parent.glob("*.so") if path.name.startswith(f"{place.name}."))


def _imported(source: Path, package: str) -> Iterator[str]:
    """Dotted names that the import statements of a file may load; a name taken from a package may be a module."""
    try:
        if source.stat().st_size > MOST_SOURCE_BYTES:
            return
        tree = ast.parse(source.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join(filter(None, [*above, node.module or ""]))
            yield from ([base] if base else [])
            yield from (
                ".".join(filter(None, [base, alias.name])) for alias in node.names if alias.name != "*"
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
