"""Runs one writer in the library's own environment: `python run.py STORE CORPUS OUT`; tells the cases as JSON."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from corpus import Corpus


def main() -> None:
    """Write the stores of one library."""
    store, path, out = sys.argv[1:4]
    cases = importlib.import_module("write_" + store.replace("-", "_")).write(Corpus(Path(path)), Path(out))
    Path(out, "cases.json").write_text(json.dumps(cases), encoding="utf-8")


if __name__ == "__main__":
    main()
