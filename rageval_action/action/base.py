"""What stands at the base commit: its configuration file, its workflow's inputs, its golden set.

A pull request edits its own files, its workflow among them. So each is looked up under the name that the base gives
it, then under the head's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from rageval_action.action.inputs import ActionInputs
from rageval_action.config import FILE, OPTIONS, Config, file_values, load, parse_file
from rageval_action.errors import RagevalError
from rageval_action.github.api import Api
from rageval_action.github.repository import FileAbsent, FileFound, file_at
from rageval_action.github.workflow_steps import named, step_inputs
from rageval_action.golden.input_files import files_named, find
from rageval_action.option_values import read_input

GOLDEN_BYTES = 100_000_000
"""GitHub serves no larger file."""

BEIR = ("queries.jsonl", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv", "qrels.tsv", "corpus.jsonl")


class Root(Struct, frozen=True):
    """Where the repository lies in the workspace: usually it is the workspace."""

    folder: Path

    def inside(self, path: str) -> str:
        """`path` from the repository's root; empty where it leads elsewhere."""
        found = Path(os.path.relpath(path, self.folder))
        return "" if found.parts[:1] == ("..",) else found.as_posix()

    def here(self, path: str) -> str:
        """A path of the repository, from the current folder."""
        return os.path.relpath(self.folder / path)


def root_of(path: str) -> Root:
    """The checkout that `path` lies in, else the workspace."""
    workspace = Path.cwd()
    for folder in Path(os.path.normpath(workspace / path)).parents:
        if not folder.is_relative_to(workspace):
            break
        if (folder / ".git").exists():
            return Root(folder)
    return Root(workspace)


class NoStep(Struct, frozen=True):
    """The workflow at the base commit names no step that this evaluation could be."""


class Step(Struct, frozen=True):
    """The inputs of this evaluation's step as the base's workflow gives them; expressions are left as they are."""

    inputs: dict[str, str]


class Base(Struct, frozen=True, kw_only=True):
    """The base commit as far as it tells how to evaluate.

    Attributes:
        path: of the configuration file, from the repository's root; empty where there is none.
        data: its bytes.
        step: what the base's workflow says.
    """

    api: Api
    sha: str
    root: Root
    path: str
    data: bytes
    step: Step | NoStep

    def file(self, path: str, limit: int = GOLDEN_BYTES) -> FileFound | FileAbsent:
        """A file of the repository at the base commit.

        Raises:
            ApiError: it cannot be had.
        """
        return file_at(self.api, path, self.sha, limit)

    @property
    def where(self) -> str:
        """How messages name the configuration file."""
        return f"{self.path} (base branch)"

    def values(self) -> dict[str, object]:
        """The configuration file's values, its paths as they are written.

        Raises:
            ConfigError: it cannot be used.
        """
        return parse_file(self.data, where=self.where) if self.path else {}

    def inputs(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The evaluation's inputs as the base's workflow gives them; what only GitHub can work out is the head's."""
        if isinstance(self.step, NoStep):
            return dict(environ)
        found = {}
        for option in OPTIONS:
            text = self.step.inputs.get(option.name, self.step.inputs.get(option.name.replace("-", "_"), ""))
            if "${{" in text:
                text = read_input(environ, option.name)
            if text:
                found[f"INPUT_{option.name.upper()}"] = text
        return found


def read_base(api: Api, inputs: ActionInputs, workflow: str, sha: str) -> Base:
    """Look up the configuration at the base commit: where the base's workflow, then the head's, then nobody names it.

    Args:
        api: GitHub.
        inputs: of the head's workflow.
        workflow: path of the workflow file; empty when it is unknown.
        sha: the base commit.

    Raises:
        ApiError: GitHub could not be asked. ConfigError: a path leads out of the repository, or the base's workflow
            is not YAML: what it asked of the evaluation is then unknown, and the head's word is not taken for it.
    """
    root = root_of(inputs.config or FILE)
    own = root.inside(inputs.config or FILE)
    step = _step(api, inputs.id, workflow, sha)
    before = step.inputs.get("config", FILE) if isinstance(step, Step) else own
    wanted = [os.path.normpath(before) if "${{" not in before else own, own, FILE]
    for path in filter(None, dict.fromkeys(wanted)):
        found = file_at(api, path, sha)
        if isinstance(found, FileFound):
            return Base(api=api, sha=sha, root=root, path=path, data=found.data, step=step)
    return Base(api=api, sha=sha, root=root, path="", data=b"", step=step)


def _step(api: Api, evaluation: str, workflow: str, sha: str) -> Step | NoStep:
    file = file_at(api, workflow, sha) if workflow else FileAbsent(workflow)
    if isinstance(file, FileAbsent):
        return NoStep()
    found = named(step_inputs(file.data, f"{workflow} (base branch)"), evaluation)
    return NoStep() if found is None else Step(found)


def configuration(base: Base, own: Config, environ: Mapping[str, str]) -> Config:
    """How the base evaluates itself; where it says nothing at all, as the head does.

    Raises:
        ConfigError: the base's file cannot be used.
    """
    if not base.path and isinstance(base.step, NoStep):
        return own
    path = Path(base.root.here(base.path or FILE))
    values = file_values(base.data, path, where=base.where) if base.path else {}
    found = load({}, base.inputs(environ), values, where=base.where)
    return found if found.golden else load({}, {**base.inputs(environ), "INPUT_GOLDEN": own.golden}, values)


def golden_places(base: Base, own: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where a golden set may be: as the base names it, then as the head does."""
    try:
        named_there = configuration(base, own, environ).golden
    except RagevalError:
        named_there = own.golden
    return tuple(dict.fromkeys((named_there, own.golden)))


def copy_golden(base: Base, location: str, folder: Path) -> str:
    """Copy the golden set as it stands at the base commit into `folder`; empty where it is not there.

    Returns:
        The location of the copy, as `read_golden` takes it.

    Raises:
        ApiError: GitHub could not be asked. GoldenError: the location names no files.
    """
    if Path(location).is_dir():
        kept = [name for name in BEIR if _copy(base, f"{location}/{name}", folder / name)]
        return str(folder) if BEIR[0] in kept and len(kept) > 1 else ""
    if any(mark in location for mark in "*?["):
        return ""  # which files the base had of this pattern cannot be told from the head's checkout
    pieces = []
    for number, place in enumerate(find(location)):
        copies = {role: folder / f"{number}-{role}{Path(path).suffix}" for role, path in place.files.items()}
        if not all(_copy(base, path, copies[role]) for role, path in place.files.items()):
            return ""
        named = ",".join(f"{role}={path}" for role, path in copies.items())
        pieces.append(str(copies["rows"]) if copies.keys() == {"rows"} else named)
    return "\n".join(pieces)


def _copy(base: Base, path: str, target: Path) -> bool:
    inside = base.root.inside(path)
    found = base.file(inside) if inside else FileAbsent(path)
    if isinstance(found, FileAbsent):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(found.data)
    return True


def has_golden(base: Base, own: Config, environ: Mapping[str, str]) -> bool:
    """Whether the base commit has a golden set, under its own name or the head's.

    Raises:
        ApiError: GitHub could not be asked.
    """
    for location in golden_places(base, own, environ):
        beir = Path(location).is_dir()
        paths = [f"{location}/{BEIR[0]}"] if beir else files_named(location)
        if all((inside := base.root.inside(path)) and _is_there(base, inside) for path in paths):
            return True
    return False


def _is_there(base: Base, path: str) -> bool:
    return isinstance(base.file(path), FileFound)
