"""Name released images by digest in both action files, or check a version before a release.

    python3 tools/image/pin.py --check 1.2.3
    python3 tools/image/pin.py --full registry.example/org/name@sha256:… --slim registry.example/org/name@sha256:…

Standard library only: the release workflow runs it on a bare runner.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {"full": "action.yml", "slim": "slim/action.yml"}
IMAGE = re.compile(r"[a-z0-9.-]+(?:/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}")


def pinned(text: str, image: str) -> str:
    """An action file with its image replaced.

    Raises:
        ValueError: `image` has no digest, or the file does not have exactly one image line.
    """
    if not IMAGE.fullmatch(image):
        raise ValueError(f"not an image by digest: {image}")
    changed, count = re.subn(r"(?m)^  image: .*$", f"  image: docker://{image}", text)
    if count != 1:
        raise ValueError(f"{count} image lines, not one")
    return changed


def version() -> str:
    """The package's own version, read without importing it."""
    text = (ROOT / "rageval_action" / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    return found[1] if found else ""


def main() -> None:
    """Do what the arguments ask for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", default="")
    parser.add_argument("--full", default="")
    parser.add_argument("--slim", default="")
    given = parser.parse_args()
    if given.check:
        if not re.fullmatch(r"\d+\.\d+\.\d+", given.check) or given.check != version():
            raise SystemExit(f"the version asked for is not {version()}")
        return
    for name, file in FILES.items():
        path = ROOT / file
        path.write_text(pinned(path.read_text("utf-8"), getattr(given, name)), "utf-8")


if __name__ == "__main__":
    main()
