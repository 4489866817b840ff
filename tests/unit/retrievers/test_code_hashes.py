"""Which files of a repository are known to rank."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from rageval_action.retrievers.code_hashes import code_of_command, code_of_function

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/search.py": "from . import ranking\nfrom .text import fold as f\nimport helpers.deep.words, json\n",
    "src/shop/ranking.py": "from shop.search import search\n",
    "src/shop/text/__init__.py": "from ..numbers import *\n",
    "src/shop/text/fold.py": "import no_such_module\n",
    "src/shop/numbers.py": "def broken(:\n",
    "src/shop/unused.py": "",
    "src/helpers/deep/words.py": "",
    "src/shop/fast.cpython-311-x86_64-linux-gnu.so": "ELF",
    "tool/run.py": "import beside\n",
    "tool/beside.py": "",
    "tool/index.json": "{}",
    "tool/serve.sh": "exec python run.py\n",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repository"
    for name, text in {**FILES, ".git/HEAD": "ref: refs/heads/main"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (tmp_path / "outside.py").write_text("")
    (root / "tool" / "link.py").symlink_to(tmp_path / "outside.py")
    monkeypatch.chdir(root / "tool")
    return root


def test_a_function_is_followed_through_its_imports(repository: Path) -> None:
    found = code_of_function("shop.search", [Path("../src")])
    names = ("__init__", "numbers", "ranking", "search", "text/__init__", "text/fold")
    assert sorted(found) == sorted(["src/helpers/deep/words.py", *(f"src/shop/{name}.py" for name in names)])
    assert found["src/shop/ranking.py"] == hashlib.sha256(FILES["src/shop/ranking.py"].encode()).hexdigest()


def test_another_body_gives_another_hash(repository: Path) -> None:
    before = code_of_function("shop.search", [repository / "src"])
    (repository / "src/shop/text/fold.py").write_text("fold = reversed\n")
    after = code_of_function("shop.search", [repository / "src"])
    assert [name for name in after if after[name] != before[name]] == ["src/shop/text/fold.py"]


def test_a_compiled_module_counts(repository: Path) -> None:
    found = code_of_function("shop.fast", [repository / "src"])
    assert "src/shop/fast.cpython-311-x86_64-linux-gnu.so" in found


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("python run.py --index=index.json", ["tool/beside.py", "tool/index.json", "tool/run.py"]),
        ("./serve.sh", ["tool/serve.sh"]),
        ("python -m run", ["tool/beside.py", "tool/run.py"]),
        ("python link.py", []),
        ("curl http://localhost/search", []),
    ],
)
def test_a_command_names_its_files(repository: Path, line: str, files: list[str]) -> None:
    assert list(code_of_command(line.split(), repository / "tool")) == files


def test_an_installed_module_is_not_tracked(repository: Path) -> None:
    assert code_of_function("json.decoder", [repository / "src"]) == {}
