"""Break a module in every small way and see whether its tests notice.

    python tools/mutate.py rageval_action/core/scoring.py tests/unit/core/test_scoring.py …

Mutants are made and tested in a copy of the tree. One change each: a comparison, an operator, a number or truth value,
a condition, a min/max, a reversed order, or a statement left out; annotations and texts stay. Prints the survivors and
their share, and ends with 1 when a tenth or more survive.
"""

from __future__ import annotations

import ast
import copy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_ALIVE = 0.10
TIMEOUT_S = 120

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}

Change = Callable[[ast.AST], ast.AST]


def swapped(operator: ast.AST) -> ast.AST | None:
    """The operator's counterpart, None where it has none."""
    other = SWAPS.get(type(operator))
    return other() if other else None


def with_field(field: str, value: object) -> Change:
    """A change that sets one field of a copied node."""

    def change(node: ast.AST) -> ast.AST:
        setattr(node, field, value)
        return node

    return change


def operator_changes(node: ast.AST) -> Iterator[Change]:
    """The other operator."""
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            if other := swapped(operator):
                yield with_field("ops", [*node.ops[:at], other, *node.ops[at + 1 :]])
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        if other := swapped(node.op):
            yield with_field("op", other)
    elif isinstance(node, ast.UnaryOp):
        yield lambda copied: copied.operand  # type: ignore[attr-defined]


def value_changes(node: ast.AST) -> Iterator[Change]:
    """Another constant, the opposite function, the other branch."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield with_field("value", not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield with_field("value", node.value + 1)
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield with_field("id", NAMES[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield with_field("attr", NAMES[node.attr])
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield with_field("test", ast.UnaryOp(ast.Not(), node.test))


def statement_changes(node: ast.AST) -> Iterator[Change]:
    """What can be done to a statement: leave it out, or do the other thing."""
    if isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    ):
        yield lambda _: ast.Pass()
    elif isinstance(node, ast.Continue):
        yield lambda _: ast.Break()
    elif isinstance(node, ast.Break):
        yield lambda _: ast.Continue()
    elif isinstance(node, ast.Raise):
        yield lambda _: ast.Pass()


def code_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but annotations and what only a type checker reads."""
    for field, value in ast.iter_fields(tree):
        if field in {"annotation", "returns"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.AnnAssign) and "TypeAlias" in ast.unparse(child.annotation):
                continue
            yield child
            yield from code_nodes(child)


def mutants(source: str) -> Iterator[tuple[int, str, str]]:
    """(line, the changed code, the whole changed module)."""
    tree = ast.parse(source)
    for at, node in enumerate(code_nodes(tree)):
        for change in (*operator_changes(node), *value_changes(node), *statement_changes(node)):
            changed = copy.deepcopy(tree)
            target = list(code_nodes(changed))[at]
            made = change(target)
            if made is not target:
                replace(changed, target, made)
            ast.fix_missing_locations(changed)
            line = getattr(node, "lineno", 0)
            yield line, ast.unparse(made), ast.unparse(changed)


def replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Put `new` where `old` is in `tree`."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list) and any(one is old for one in value):
                setattr(parent, field, [new if one is old else one for one in value])


def passes(folder: Path, tests: list[str]) -> bool:
    """True when the tests pass in `folder`."""
    words = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main(module: str, tests: list[str]) -> int:
    """Test every mutant of `module`; the exit code."""
    source = (ROOT / module).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tree"
        folder.mkdir()
        for part in ("rageval_action", "tests"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        if not passes(folder, tests):
            print("the tests fail before anything is changed")
            return 2
        alive = total = 0
        for line, code, text in mutants(source):
            (folder / module).write_text(text, encoding="utf-8")
            total += 1
            if passes(folder, tests):
                alive += 1
                print(f"alive {module}:{line}: {code.splitlines()[0]}", flush=True)
    print(f"{module}: {alive} of {total} mutants alive ({alive / total:.1%})")
    return int(alive / total >= MOST_ALIVE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
