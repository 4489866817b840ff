"""Which files of the checkout rank: a program, a function, what they import, what options name."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rageval_action.action.ranking_files import ranking_files
from rageval_action.config import load

FILES = {
    "find.py": "import lib.order\nfrom lib import rest\nimport json\n",
    "lib/__init__.py": "",
    "lib/order.py": "from . import deep\nfrom .deeper.most import x\n",
    "lib/rest.py": "broken (",
    "lib/deep.py": "import find\n",
    "lib/deeper/__init__.py": "",
    "lib/deeper/most.py": "x = 1\n",
    "unused.py": "",
    "run.jsonl": "{}\n",
    "store/data": "",
}
IMPORTED = {
    "lib/__init__.py",
    "lib/order.py",
    "lib/rest.py",
    "lib/deep.py",
    "lib/deeper/__init__.py",
    "lib/deeper/most.py",
}

CASES: dict[str, tuple[str, dict[str, str], set[str]]] = {
    "a function": ("python", {"function": "find:search"}, {"find.py", *IMPORTED}),
    "a function of a package": (
        "python",
        {"function": "lib.rest:search"},
        {"lib/__init__.py", "lib/rest.py"},
    ),
    "a function in a folder": (
        "python",
        {"function": "rest:search", "path": "nowhere, lib"},
        {"lib/rest.py"},
    ),
    "a function that is not there": ("python", {"function": "gone:search"}, {"gone.py"}),
    "a script": ("command", {"command": "python find.py --fast"}, {"find.py", *IMPORTED}),
    "a module": (
        "command",
        {"command": "python -m lib.deep"},
        {"lib/__init__.py", "lib/deep.py", "find.py", *IMPORTED},
    ),
    "a script beside": ("command", {"command": "python deep.py", "cwd": "lib"}, {"lib/deep.py"}),
    "a part of a hybrid": (
        "hybrid",
        {"parts": "dense,python", "python.function": "lib.rest:f"},
        {"lib/__init__.py", "lib/rest.py"},
    ),
    "a run file": ("run-file", {"file": "run.jsonl"}, {"run.jsonl"}),
    "a store": ("lancedb", {"location": "store"}, {"store"}),
    "nothing of ours": ("bm25", {"k1": "1.2"}, set()),
    "no words": ("command", {"command": "'"}, set()),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_what_ranks(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    retriever, options, expected = CASES[case]
    config = replace(load({}, {}, {}), retriever=retriever, retriever_options=options)
    assert set(ranking_files(config)) == expected
