from __future__ import annotations

import shlex

import pytest

from rageval_action.config import flatten
from rageval_action.errors import ConfigError
from rageval_action.retrievers.options import Options


def test_values_are_read_checked_and_recorded_with_their_defaults() -> None:
    options = Options("x", {"k": "60", "b": 0.5, "on": "true", "of": "dense, bm25", "dense.k": 3})
    assert options.integer("k", 1) == 60
    assert options.number("b", 0.75) == 0.5
    assert options.flag("on", default=False)
    assert options.names("of") == ("dense", "bm25")
    assert options.text("mode", "a", choices=("a", "b")) == "a"
    assert options.text("key", "s3cret", secret=True) == "s3cret"
    assert options.part("dense") == {"k": 3}
    options.finish()
    assert options.recorded == {"k": 60, "b": 0.5, "on": True, "of": "dense, bm25", "mode": "a"}


def test_an_unknown_option_names_its_neighbour() -> None:
    options = Options("bm25", {"stemer": "english"})
    options.text("stemmer", "none")
    with pytest.raises(ConfigError) as caught:
        options.finish()
    assert caught.value.code == "config.unknown-option"
    assert caught.value.hint == "Did you mean stemmer?"


@pytest.mark.parametrize(
    ("read", "value"),
    [
        ("integer", "two"), ("integer", 1.5), ("integer", -1), ("integer", True), ("number", "nan"),
        ("number", float("inf")), ("flag", "perhaps"), ("choice", "c"),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_where_it_stands(read: str, value: object) -> None:
    options = Options("x", {"it": value})  # type: ignore[dict-item]
    readers = {
        "integer": lambda: options.integer("it"),
        "number": lambda: options.number("it"),
        "flag": lambda: options.flag("it", default=False),
        "choice": lambda: options.text("it", choices=("a", "b")),
    }
    with pytest.raises(ConfigError) as caught:
        readers[read]()
    assert caught.value.code == "config.bad-option"
    assert caught.value.where == "retriever x, option it"


def test_a_required_option_is_asked_for() -> None:
    with pytest.raises(ConfigError, match="needs the option file") as caught:
        Options("x", {}).text("file")
    assert "`retriever: {name: x, file: …}`" in caught.value.hint


def test_nested_tables_and_lists_become_one_level() -> None:
    nested = {"of": ["dense", "bm25"], "dense": {"threads": 2, "deep": {"x": True}}}
    assert flatten(nested) == {"of": "dense,bm25", "dense.threads": 2, "dense.deep.x": True}
    words = ["/opt/my tools/python3", "search.py", "--top", 5, "a,b"]
    assert shlex.split(str(flatten({"of": {"command": words}})["of.command"])) == [*map(str, words)]
    with pytest.raises(ConfigError):
        flatten({"a": None})
