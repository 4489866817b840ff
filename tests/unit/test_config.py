"""One table, four places to set an option: which wins, and what is refused where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rageval_action.config import BY_NAME, OPTIONS, POLICY_KEYS, load, parse_file, read_file
from rageval_action.core.judging.policy import DropGate, FloorGate, default_gates
from rageval_action.errors import ConfigError


def refused(*, flags: Any = (), inputs: Any = (), file: Any = ()) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(dict(flags), dict(inputs), dict(file), where="ci/rageval.yml")
    return caught.value


def yaml_error(text: str | bytes) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse_file(text.encode() if isinstance(text, str) else text, where="rageval.yml")
    return caught.value


class TestDefaults:
    def test_nothing_given(self) -> None:
        config = load({}, {}, {})
        assert (config.golden, config.snapshot, config.model, config.region) == ("", "", "", "")
        assert (config.unit, config.access, config.review) == ("auto", "auto", "optional")
        assert (config.k, config.depth, config.threads) == (5, 100, 0)
        assert config.measures == ()
        assert config.no_answer_threshold is None
        assert config.texts is True
        assert (config.retriever, config.retriever_options) == ("dense", {})
        assert config.policy.gates == default_gates(5)
        assert (config.policy.k, config.policy.fail_on, config.policy.max_errors) == (5, "fail", 0.1)

    def test_every_option_says_what_it_is(self) -> None:
        assert len(BY_NAME) == len(OPTIONS)
        for option in OPTIONS:
            assert option.help.endswith(".")
            assert option.name == option.name.lower().replace("_", "-")
            assert bool(option.choices) == (option.kind == "choice")
            assert option.default in ("", *option.choices) or not option.choices


class TestPrecedence:
    def test_flag_over_input_over_file_over_default(self) -> None:
        flags, inputs, file = {"k": "3"}, {"INPUT_K": "4"}, {"k": 7}
        assert load(flags, inputs, file).k == 3
        assert load({}, inputs, file).k == 4
        assert load({}, {}, file).k == 7
        assert load({}, {}, {}).k == 5

    @pytest.mark.parametrize("nothing", [None, ()])
    def test_a_flag_that_was_not_given(self, nothing: object) -> None:
        assert load({"measures": nothing, "k": None}, {"INPUT_MEASURES": "mrr"}, {"k": 2}).measures == (
            "mrr",
        )

    @pytest.mark.parametrize("blank", ["", "  ", "\n"])
    def test_a_blank_input_is_not_given(self, blank: str) -> None:
        assert load({}, {"INPUT_K": blank}, {"k": 7}).k == 7

    def test_a_null_in_the_file_is_not_given(self) -> None:
        assert load({}, {}, {"k": None, "golden": None}).k == 5

    @pytest.mark.parametrize("name", ["INPUT_NO-ANSWER-THRESHOLD", "INPUT_NO_ANSWER_THRESHOLD"])
    def test_both_spellings_of_an_input(self, name: str) -> None:
        assert load({}, {name: " 0.25 "}, {}).no_answer_threshold == 0.25

    @pytest.mark.parametrize("name", ["no-answer-threshold", "no_answer_threshold"])
    def test_both_spellings_of_a_flag(self, name: str) -> None:
        assert load({name: "0.5"}, {}, {}).no_answer_threshold == 0.5

    def test_other_environment_is_no_input(self) -> None:
        assert load({}, {"K": "9", "INPUT_": "9", "INPUTK": "9"}, {}).k == 5

    def test_the_policy_is_read_from_the_file_alone(self) -> None:
        config = load(
            {"gates": "[]", "fail-on": "never"},
            {"INPUT_GATES": "[]", "INPUT_FAIL-ON": "never", "INPUT_MAX_ERRORS": "1"},
            {"gates": [{"measure": "recall@3", "min": 0.8}]},
        )
        assert config.policy.gates == (FloorGate(measure="recall@3", min=0.8),)
        assert (config.policy.fail_on, config.policy.max_errors) == ("fail", 0.1)

    def test_the_headline_cutoff_reaches_the_policy(self) -> None:
        policy = load({"k": "3"}, {}, {}).policy
        assert (policy.k, policy.gates) == (3, (DropGate(measure="recall@3", max_drop=0.02),))


class TestValues:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ("recall@1,3, mrr", ("recall@1", "3", "mrr")),
            ("recall@5\nmrr\n", ("recall@5", "mrr")),
            (["recall@1,3", "mrr"], ("recall@1,3", "mrr")),
            (("mrr",), ("mrr",)),
            (",,", ()),
        ],
    )
    def test_lists(self, given: object, expected: tuple[str, ...]) -> None:
        assert load({"measures": given}, {}, {}).measures == expected

    @pytest.mark.parametrize(
        ("word", "value"),
        [
            *((word, True) for word in ("true", "YES", "on", "1", True)),
            *((word, False) for word in ("false", "No", "off", "0", False)),
        ],
    )
    def test_flags(self, word: object, value: bool) -> None:
        assert load({}, {}, {"texts": word}).texts is value

    def test_a_retriever_with_options(self) -> None:
        config = load({}, {}, {"retriever": {"name": "bm25", "k1": 1.2, "stem": True, "n": 3, "lang": "en"}})
        assert config.retriever == "bm25"
        assert config.retriever_options == {"k1": 1.2, "stem": True, "n": 3, "lang": "en"}

    def test_options_of_a_part_stand_under_its_name(self) -> None:
        nested = {"name": "hybrid", "of": ["dense", "bm25"], "bm25": {"k1": 1.2}}
        config = load({}, {}, {"retriever": nested})
        assert config.retriever_options == {"of": "dense,bm25", "bm25.k1": 1.2}

    def test_depth_may_equal_k(self) -> None:
        assert load({}, {}, {"k": 7, "depth": 7}).depth == 7

    @pytest.mark.parametrize(
        ("source", "name", "value", "where", "text"),
        [
            ("flags", "k", "five", "--k", '"five" is not a whole number'),
            ("flags", "k", "-1", "--k", '"-1" is not a whole number from 1 to 1,000,000'),
            ("flags", "k", "0", "--k", '"0" is not a whole number from 1 to 1,000,000'),
            ("file", "k", 0, "ci/rageval.yml: k", "0 is not a whole number from 1 to 1,000,000"),
            ("file", "depth", -1, "ci/rageval.yml: depth", "-1 is not a whole number from 0 to 1,000,000"),
            (
                "file",
                "threads",
                2**31,
                "ci/rageval.yml: threads",
                "2147483648 is not a whole number from 0 to 1,024",
            ),
            ("flags", "k", "2.5", "--k", '"2.5" is not a whole number'),
            ("file", "k", True, "ci/rageval.yml: k", "true is not a whole number"),
            ("file", "k", [5], "ci/rageval.yml: k", "[5] is not a whole number"),
            ("inputs", "INPUT_K", "many", "input k", '"many" is not a whole number'),
            ("inputs", "INPUT_TEXTS", "maybe", "input texts", '"maybe" is neither true nor false'),
            (
                "inputs",
                "INPUT_UNIT",
                "page",
                "input unit",
                '"page" is none of auto, document, chunk, evidence',
            ),
            ("file", "access", ["audit"], "ci/rageval.yml: access", "is none of auto, enforce, audit"),
            ("file", "golden", 7, "ci/rageval.yml: golden", "golden is 7, not text"),
            ("file", "measures", 7, "ci/rageval.yml: measures", "7 is not a list of names"),
            ("file", "measures", [7], "ci/rageval.yml: measures", "[7] is not a list of names"),
            ("flags", "no-answer-threshold", "high", "--no-answer-threshold", '"high" is not a number'),
            (
                "flags",
                "no-answer-threshold",
                "nan",
                "--no-answer-threshold",
                '"nan" is not a number from -1,000,000,000,000 to 1,000,000,000,000',
            ),
            (
                "file",
                "no-answer-threshold",
                float("inf"),
                "ci/rageval.yml: no-answer-threshold",
                "inf is not a number",
            ),
            ("file", "retriever", ["bm25"], "ci/rageval.yml: retriever", "retriever is ['bm25'], not text"),
            ("file", "retriever", {"k1": 1}, "ci/rageval.yml", "retriever: "),
            ("file", "retriever", {"name": "x", "o": [[1]]}, "ci/rageval.yml: retriever", "o: "),
            ("file", "depth", 4, "depth", "depth is 4, less than k = 5"),
        ],
    )
    def test_bad_values_say_where(self, source: str, name: str, value: object, where: str, text: str) -> None:
        error = refused(**{source: {name: value}})
        assert (error.code, error.where) == ("config.bad-value", where)
        assert text in error.message

    @pytest.mark.parametrize(
        ("file", "code", "where"),
        [
            ({"max-errors": 2}, "config.bad-policy", "ci/rageval.yml"),
            (
                {"gates": [{"measure": "mrr", "min": 0.5}, {"min": 2}]},
                "config.bad-gate",
                "ci/rageval.yml: gates[1]",
            ),
            ({"waivers": [{}]}, "config.bad-waiver", "ci/rageval.yml: waivers[0]"),
        ],
    )
    def test_a_bad_policy_says_where(self, file: dict[str, object], code: str, where: str) -> None:
        error = refused(file=file)
        assert (error.code, error.where) == (code, where)


class TestFile:
    def test_paths_are_relative_to_the_folder_of_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "ci" / "rageval.yml"
        path.parent.mkdir()
        path.write_text("golden: ../golden.jsonl\nsnapshot: /data/index\nk: 3\n")
        values = read_file(path)
        assert values == {
            "golden": str(path.parent / "../golden.jsonl"),
            "snapshot": "/data/index",
            "k": 3,
        }

    @pytest.mark.parametrize("location", ["s3://bucket/index", "qrels=a.txt,topics=b.txt"])
    def test_locations_that_are_no_paths_stay(self, tmp_path: Path, location: str) -> None:
        (tmp_path / "rageval.yml").write_text(f'snapshot: "{location}"\n')
        assert read_file(tmp_path / "rageval.yml")["snapshot"] == location

    def test_a_path_of_another_type_is_left_to_the_check(self, tmp_path: Path) -> None:
        (tmp_path / "rageval.yml").write_text("golden: 7\n")
        assert read_file(tmp_path / "rageval.yml") == {"golden": 7}

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as caught:
            read_file(tmp_path / "none.yml")
        assert (caught.value.code, caught.value.where) == ("config.not-found", str(tmp_path / "none.yml"))
        assert caught.value.message == "No such file or directory."

    @pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
    def test_an_empty_file(self, text: str) -> None:
        assert parse_file(text.encode(), where="x") == {}

    def test_every_key_of_the_table_and_the_policy(self) -> None:
        text = "".join(f"{name}: x\n" for name in (*BY_NAME, *POLICY_KEYS))
        assert set(parse_file(text.encode(), where="x")) == {*BY_NAME, *POLICY_KEYS}

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ("golen: a\n", "Did you mean golden?"),
            ("gate: []\n", "Did you mean gates?"),
            ("zzz: 1\n", "Known: golden, "),
        ],
    )
    def test_unknown_keys(self, text: str, hint: str) -> None:
        error = yaml_error(text)
        assert (error.code, error.where) == ("config.unknown-key", "rageval.yml")
        assert error.hint.startswith(hint)

    @pytest.mark.parametrize(
        ("text", "where"),
        [
            ("k: [1\n", "rageval.yml:2"),
            ("k: 1\n  golden: x\n", "rageval.yml:2"),
            ("waivers:\n  - owner: a\n    until: 2027-02-30\n", "rageval.yml:3"),
            (b"k: \xff\xfe\n", "rageval.yml"),
            ("- k\n", "rageval.yml"),
            ("7: x\n", "rageval.yml"),
            ("just text\n", "rageval.yml"),
            ("k: !!python/object/apply:os.system [true]\n", "rageval.yml:1"),
            ("k: 1\n---\nk: 2\n", "rageval.yml:2"),
            ("[" * 5000, "rageval.yml"),
            ("? [a, b]\n: c\n", "rageval.yml:1"),
        ],
        ids=range(11),
    )
    def test_what_is_no_configuration(self, text: str | bytes, where: str) -> None:
        error = yaml_error(text)
        assert error.code == "config.bad-yaml"
        assert error.where.startswith(where)

    @pytest.mark.parametrize(
        ("text", "line", "name"),
        [
            ("k: 3\ngolden: a\nk: 5\n", 3, "k"),
            ("gates:\n  - measure: mrr\n    min: 0.5\n    min: 0.1\n", 4, "min"),
            ("gates: []\nwaivers: []\ngates: [{measure: mrr, min: 0.1}]\n", 3, "gates"),
        ],
    )
    def test_a_key_may_not_occur_twice(self, text: str, line: int, name: str) -> None:
        error = yaml_error(text)
        assert (error.code, error.where) == ("config.bad-yaml", f"rageval.yml:{line}")
        assert error.message == f'"{name}" occurs twice.'

    @pytest.mark.parametrize("value", ['!!timestamp "x"', "!!bool x", '!!int ""', '!!float ""', "9" * 5000])
    def test_a_value_that_yaml_cannot_read_has_its_line(self, value: str) -> None:
        error = yaml_error(f"k: 5\nregion: {value}\n")
        assert (error.code, error.where) == ("config.bad-yaml", "rageval.yml:2")

    @pytest.mark.parametrize("layers", [8, 40])
    def test_aliases_are_not_written_out_without_end(self, layers: int) -> None:
        lines = ["unit:", "  - &a0 [x]"]
        lines += [f"  - &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, layers)]
        assert "too many values" in yaml_error("\n".join(lines)).message
        assert "too many values" in yaml_error("gates: &all\n  - *all\n").message
