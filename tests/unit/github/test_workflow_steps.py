"""Inputs of this action's steps in a workflow file of the base."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rageval_action.github.workflow_steps import named, step_inputs
from tests.action.own_process import EXAMPLES


def workflow(*steps: Any) -> bytes:
    return json.dumps({"on": "push", "jobs": {"one": {"steps": list(steps)}}}).encode()


def test_every_example_workflow_names_its_step() -> None:
    for path in sorted((EXAMPLES / "workflows").glob("*.yml")):
        assert step_inputs(path.read_bytes()), path.name
    (found,) = step_inputs((EXAMPLES / "workflows" / "push-and-pr.yml").read_bytes())
    assert found == {"golden": "golden.jsonl", "snapshot": "snapshot"}


def test_steps_of_others_are_passed_over_and_values_are_texts() -> None:
    data = workflow(
        {"run": "true"},
        {"uses": "actions/checkout@v4", "with": {"path": "base"}},
        {"uses": "./", "with": {"snapshot": "s", "k": 7, "texts": False, "model": None}},
    )
    assert step_inputs(data) == ({"snapshot": "s", "k": "7", "texts": "false"},)


@pytest.mark.parametrize(
    "data", [b"", b"a: [", b"jobs: 3", b"jobs: {a: {steps: {}}}", b"jobs: {a: [1]}", b"\xff"]
)
def test_what_is_no_workflow_names_nothing(data: bytes) -> None:
    assert step_inputs(data) == ()


def test_the_step_of_an_evaluation() -> None:
    en, zh, open_id = {"id": "en"}, {"id": "zh"}, {"id": "${{ matrix.id }}"}
    assert named((en, zh), "zh") == zh
    assert named((en, zh), "fr") is None
    assert named((en,), "renamed") == en
    assert named((en, open_id), "fr") == open_id
    assert named((), "en") is None
    assert named(({}, zh), "default") == {}
