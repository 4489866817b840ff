"""Mutation testing of one module: which small faults do its tests not see?

    python tools/mutate.py rageval_action/core/judging/policy.py -- tests/unit/core/judging/test_policy.py

Every mutant changes one thing (a comparison, a number, a word, `and`/`or`, a sum, a returned value, a condition) in a
copy of the project; the tests run on the copy, so the working tree is never touched. A mutant that no test notices is
alive and listed. Ends with 1 when more than `--max-alive` per cent are. Unix only: every run is a fork.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

OUT_OF_TIME = -signal.SIGKILL
"""The exit code of a run that was ended: an endless loop was noticed, but so is a busy machine."""

DECLARED = ("frozen", "kw_only", "omit_defaults", "eq")
"""Keywords of a type's declaration, which say how it may be used and change no result."""

PRELOADED = ("numpy", "msgspec", "hypothesis")
"""What a fork need not load again."""

COPIED = ("rageval_action", "tests", "docs", "pyproject.toml")

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}

Change = Callable[[ast.AST], None]
"""Applied to the node at hand in a copy of the tree."""


@dataclass(frozen=True)
class Mutant:
    """One change: `node` is the position of the changed node in `walk` order."""

    node: int
    line: int
    what: str
    change: Change


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that matters when the program runs: no annotation, type alias, docstring or import."""
    if isinstance(tree, ast.Import | ast.ImportFrom) or _is_for_types(tree):
        return
    yield tree
    if isinstance(tree, ast.keyword) and tree.arg in DECLARED:
        return
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns") or (name == "value" and _is_alias(tree)):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not _is_docstring(child):
                yield from walk(child)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_for_types(node: ast.AST) -> bool:
    """True for what only type checkers and star imports read."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) == "__all__"
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value) == "Literal"
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _is_alias(node: ast.AST) -> bool:
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"


def mutants(tree: ast.AST) -> list[Mutant]:
    """All single changes, in the order of the source."""
    found, line = [], 0
    for position, node in enumerate(walk(tree)):
        line = getattr(node, "lineno", line)
        found += [Mutant(position, line, what, change) for what, change in changes(node)]
    return found


def changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """What can be done to one node, each with a description."""
    yield from _operations(node)
    yield from _statements(node)


def _operations(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.Constant():
            yield from _constants(node)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield _names(node.op, other), _setter("op", other)
        case ast.BinOp() | ast.AugAssign() if type(node.op) in ARITHMETIC:
            swapped = ARITHMETIC[type(node.op)]()
            yield _names(node.op, swapped), _setter("op", swapped)
        case ast.UnaryOp(op=ast.Not()):
            yield "not x -> x", _drop_not
        case ast.UnaryOp(op=ast.USub()):
            yield "-x -> +x", _setter("op", ast.UAdd())
        case ast.Name(id=name) if name in NAMES:
            yield f"{name} -> {NAMES[name]}", _setter("id", NAMES[name])
        case ast.Attribute(attr=name) if name in NAMES:
            yield f".{name} -> .{NAMES[name]}", _setter("attr", NAMES[name])


def _statements(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield f"return {_short(value)} -> return None", _setter("value", ast.Constant(None))
        case ast.If() | ast.IfExp() | ast.While():
            yield f"if {_short(node.test)} -> if not", _negate
        case ast.comprehension(ifs=[_, *_]):
            yield "comprehension without its condition", _setter("ifs", [])
        case ast.Raise() | ast.Expr() | ast.AugAssign():
            yield f"without {_short(node)}", _defuse
        case ast.Continue():
            yield "continue -> break", _setter("__class__", ast.Break)
        case ast.Break():
            yield "break -> continue", _setter("__class__", ast.Continue)


def _comparisons(node: ast.Compare) -> Iterator[tuple[str, Change]]:
    for position, operator in enumerate(node.ops):
        for other in COMPARISONS[type(operator)]:
            changed = list(node.ops)
            changed[position] = other()
            yield _names(operator, other()), _setter("ops", changed)


def _constants(node: ast.Constant) -> Iterator[tuple[str, Change]]:
    value = node.value
    other: object
    if isinstance(value, bool):
        other = not value
    elif isinstance(value, int | float):
        other = value + 1
    elif isinstance(value, str) and value:
        other = f"x{value}"
    else:
        return
    yield f"{value!r} -> {other!r}"[:80], _setter("value", other)


def _setter(field: str, value: object) -> Change:
    def change(node: ast.AST) -> None:
        setattr(node, field, value)

    return change


def _drop_not(node: ast.AST) -> None:
    assert isinstance(node, ast.UnaryOp)  # noqa: S101 - `changes` offers it for nothing else
    node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)


def _negate(node: ast.AST) -> None:
    assert isinstance(node, ast.If | ast.IfExp | ast.While)  # noqa: S101 - as above
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _defuse(node: ast.AST) -> None:
    """The statement becomes `assert True`, which has no effect."""
    node.__class__ = ast.Assert
    node.test, node.msg = ast.Constant(value=True), None  # type: ignore[attr-defined]


def _names(old: ast.AST, new: ast.AST) -> str:
    return f"{type(old).__name__} -> {type(new).__name__}"


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 50 else f"{text[:47]}..."


def source(tree: ast.AST, mutant: Mutant) -> str:
    """The module with one change."""
    changed = copy.deepcopy(tree)
    for position, node in enumerate(walk(changed)):
        if position == mutant.node:
            mutant.change(node)
            break
    return ast.unparse(ast.fix_missing_locations(changed))


class Bench:
    """A copy of the project in which one module is changed and the tests run, in a fork of this process."""

    def __init__(self, root: Path, module: Path, tests: list[str], home: Path) -> None:
        self.folder = home
        for name in COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, home / name)
            else:
                shutil.copy(root / name, home / name)
        self.module = home / module
        self.tests = tests
        self.runs = 0

    def start(self, text: str) -> int:
        """Run the tests with this text in the module's place; the process id of the fork that does."""
        self.runs += 1
        self.module.write_text(text, encoding="utf-8")
        os.utime(
            self.module, (self.runs, self.runs)
        )  # compiled code is known by its time: no two runs share one
        sys.stdout.flush()
        child = os.fork()
        if child:
            return child
        try:
            os.setsid()
            os.chdir(self.folder)
            sys.path.insert(0, str(self.folder))
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *self.tests]))
        except BaseException:  # noqa: BLE001 - whatever it is, the mutant was noticed
            code = 1
        os._exit(code)


class Running(NamedTuple):
    """A mutant under test."""

    bench: Bench
    mutant: Mutant
    until: float


def alive(module: Path, tests: list[str], jobs: int, lines: range) -> tuple[list[Mutant], int]:
    """The mutants that no test notices, and how many there were."""
    text = module.read_text(encoding="utf-8")
    tree = ast.parse(text)
    found = [mutant for mutant in mutants(tree) if mutant.line in lines]
    left: list[Mutant] = []
    with tempfile.TemporaryDirectory() as home:
        idle = [Bench(Path.cwd(), module, tests, Path(home) / str(number)) for number in range(jobs)]
        limit = _calibrate(idle[0], text)
        waiting, running = found[::-1], dict[int, Running]()
        while waiting or running:
            while waiting and idle:
                bench, mutant = idle.pop(), waiting.pop()
                running[bench.start(source(tree, mutant))] = Running(bench, mutant, time.monotonic() + limit)
            for child, one in list(running.items()):
                code = _ended(child, one.until)
                if code is None:
                    continue
                idle.append(running.pop(child).bench)
                if code == OUT_OF_TIME:
                    print(f"ended  {module}:{one.mutant.line}: {one.mutant.what} (out of time)", flush=True)
                if code == 0:
                    left.append(one.mutant)
                    print(f"alive  {module}:{one.mutant.line}: {one.mutant.what}", flush=True)
            time.sleep(0.01)
    return left, len(found)


def _ended(child: int, until: float) -> int | None:
    """The exit code, None while it runs; out of time it is ended and counts as failed."""
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        return os.waitstatus_to_exitcode(status)
    if time.monotonic() < until:
        return None
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return OUT_OF_TIME


def _calibrate(bench: Bench, text: str) -> float:
    """Seconds a mutant may take; proves that the tests pass, and that they look at the copy."""
    started = time.monotonic()
    if _wait(bench.start(text)) != 0:
        raise SystemExit("the tests fail without any mutant")
    limit = 5.0 * (time.monotonic() - started) + 5.0
    if _wait(bench.start("raise SystemError")) == 0:
        raise SystemExit("the tests pass without the module: they do not import it")
    return limit


def _wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else "")
    parser.add_argument("module", type=Path, help="file to mutate, from the root of the project")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-alive", type=float, default=10.0, metavar="PER_CENT")
    parser.add_argument("--lines", default="1-100000", metavar="FROM-TO", help="only mutants on these lines")
    parser.add_argument("tests", nargs="+", help="arguments of pytest, after --")
    options = parser.parse_args()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # plugins cost more time than the tests
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    first, _, last = options.lines.partition("-")
    left, number = alive(
        options.module, options.tests, options.jobs, range(int(first), int(last or first) + 1)
    )
    share = 100.0 * len(left) / max(number, 1)
    print(f"{options.module}: {number} mutants, {len(left)} alive ({share:.1f} %)")
    return 1 if share > options.max_alive else 0


if __name__ == "__main__":
    raise SystemExit(main())
