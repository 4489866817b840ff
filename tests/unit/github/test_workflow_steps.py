"""Inputs of this action's steps in a workflow file of the base."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rageval_action.errors import ConfigError
from rageval_action.github.workflow_steps import named, step_inputs
from tests.action.own_process import EXAMPLES


def workflow(*steps: Any) -> bytes:
    return json.dumps({"on": "push", "jobs": {"one": {"steps": list(steps)}}}).encode()


def test_every_example_workflow_names_its_step() -> None:
    for path in sorted((EXAMPLES / "workflows").glob("*.yml")):
        assert step_inputs(path.read_bytes(), path.name), path.name
    (found,) = step_inputs((EXAMPLES / "workflows" / "push-and-pr.yml").read_bytes(), "w.yml")
    assert found == {"golden": "golden.jsonl", "snapshot": "snapshot"}


def test_steps_of_others_are_passed_over_and_values_are_texts() -> None:
    data = workflow(
        {"run": "true"},
        {"uses": "actions/checkout@v4", "with": {"path": "base"}},
        {"uses": "./", "with": {"snapshot": "s", "k": 7, "texts": False, "model": None}},
    )
    assert step_inputs(data, "w.yml") == ({"snapshot": "s", "k": "7", "texts": "false"},)


@pytest.mark.parametrize("data", [b"", b"jobs: 3", b"jobs: {a: {steps: {}}}", b"jobs: {a: [1]}"])
def test_what_is_no_workflow_names_nothing(data: bytes) -> None:
    assert step_inputs(data, "w.yml") == ()


@pytest.mark.parametrize("data", [b"a: [", b'{"unfinished": ', b"\xff", b"a: 1\na: 2"])
def test_a_workflow_that_is_no_yaml_is_refused(data: bytes) -> None:
    with pytest.raises(ConfigError, match="cannot be used") as caught:
        step_inputs(data, "w.yml")
    assert caught.value.code == "config.bad-yaml"
    assert caught.value.where.startswith("w.yml")


def test_the_step_of_an_evaluation() -> None:
    en, zh, open_id = {"id": "en"}, {"id": "zh"}, {"id": "${{ matrix.id }}"}
    assert named((en, zh), "zh") == zh
    assert named((en, zh), "fr") is None
    assert named((en,), "renamed") == en
    assert named((en, open_id), "fr") == open_id
    assert named((), "en") is None
    assert named(({}, zh), "default") == {}
