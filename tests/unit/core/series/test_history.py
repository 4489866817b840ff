"""Creep is found, noise is not taken for it, and what cannot be compared is not."""

from __future__ import annotations

import datetime

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from rageval_action.core.model.record import Mean
from rageval_action.core.series import history as core
from rageval_action.core.series.history import Point, grown, history, order_p, point, trend_p
from rageval_action.errors import RecordError
from tests.synthetic_runs import ranked

START = datetime.datetime(2031, 1, 1, tzinfo=datetime.UTC)


def points(values, **fields):
    return [
        Point(
            run_id=f"run-{at:04}",
            sha=f"{at:040x}",
            created_at=START + datetime.timedelta(days=at),
            measures={} if value is None else {"recall@5": Mean(mean=float(value), n=100)},
            **{"golden": "g", **{name: given[at] for name, given in fields.items()}},
        )
        for at, value in enumerate(values)
    ]


def creeping(count: int = 40, places=(10, 15, 21, 27, 33), noise: float = 0.0, seed: int = 1):
    steps = np.searchsorted(places, np.arange(count), side="right")
    return 0.9 - 0.008 * steps + noise * np.random.default_rng(seed).standard_normal(count)


def test_a_kept_history_grows_in_order_of_time():
    first, second, third = points([0.9, 0.8, 0.7])
    assert grown([first, third], second) == (first, second, third)
    assert grown([], first) == (first,)


def test_a_commit_that_is_measured_again_keeps_its_place():
    first, second = points([0.9, 0.8])
    again = replace(first, run_id="later", created_at=START + datetime.timedelta(days=9), queries=5)
    kept = grown([replace(first, release="v1"), second], again)
    assert kept == (replace(again, created_at=first.created_at, release="v1"), second)


def test_records_of_no_commit_are_told_apart_by_their_runs():
    first, second = (replace(one, sha="") for one in points([0.9, 0.8]))
    assert grown([first], second) == (first, second)
    assert grown([first, second], replace(second, queries=7)) == (first, replace(second, queries=7))


def test_a_kept_history_drops_its_oldest_where_there_is_no_room():
    made = points([0.9] * 10)
    size = len(msgspec.json.encode(made[0]))
    assert grown(made[:9], made[9], limit=3 * size) == tuple(made[7:])
    assert grown(made[:9], made[9], limit=0) == (made[9],)


def test_a_history_is_read_back_and_anything_else_is_refused():
    told = history(points([0.9, 0.8]))
    assert core.decode(msgspec.json.encode(told), place="h.json") == told
    for data in (
        b"",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"schema":"rageval.history/2","headline":"","points":[]}',
    ):
        with pytest.raises(RecordError, match="not a valid history") as caught:
            core.decode(data, place="h.json")
        assert (caught.value.code, caught.value.where) == ("history.bad-json", "h.json")


def test_five_drops_of_less_than_a_point_are_found():
    (alarm,) = history(points(creeping())).creep
    assert (alarm.measure, alarm.slice, alarm.reference) == ("recall@5", "", "best")
    assert alarm.drop == pytest.approx(0.04)
    assert alarm.steps == 5
    assert alarm.largest_step == pytest.approx(0.008)
    assert (alarm.since, alarm.now) == ("run-0009", "run-0039")
    assert alarm.p < 0.01


@pytest.mark.parametrize(
    "places", [(1, 2, 3, 4, 5), (95, 96, 97, 98, 99), (5, 20, 40, 60, 99), (30, 31, 50, 51, 52)]
)
def test_wherever_they_are(places):
    assert history(points(creeping(6 if places[-1] == 5 else 100, places))).creep


@pytest.mark.parametrize("noise", [0.001, 0.002, 0.004])
def test_through_noise(noise):
    found = sum(bool(history(points(creeping(60, noise=noise, seed=seed))).creep) for seed in range(20))
    assert found >= 19


@pytest.mark.slow
@pytest.mark.parametrize(("count", "noise"), [(12, 0.02), (40, 0.02), (40, 0.03), (100, 0.01), (25, 0.015)])
def test_at_most_five_percent_of_histories_without_any_change_raise_an_alarm(count, noise):
    generator = np.random.default_rng(7)
    alarms = sum(
        bool(history(points(0.8 + noise * generator.standard_normal(count))).creep) for _ in range(200)
    )
    assert alarms <= 10


def test_the_order_test_holds_its_level():
    generator = np.random.default_rng(3)
    ps = np.array([order_p(generator.standard_normal(30), permutations=199) for _ in range(600)])
    assert np.mean(ps <= 0.05) <= 0.07
    assert np.mean(ps <= 0.2) <= 0.23


def test_the_trend_test_agrees_with_permutations():
    generator = np.random.default_rng(5)
    values = generator.standard_normal(40) - 0.03 * np.arange(40)
    time = np.arange(40) - 19.5
    drawn = np.array([generator.permutation(values) @ time for _ in range(20_000)])
    assert trend_p(values) == pytest.approx(np.mean(drawn <= values @ time), abs=0.01)


def test_equal_scores_have_no_order():
    assert order_p(np.full(20, 0.7)) == 1.0
    assert trend_p(np.full(20, 0.7)) == 1.0
    assert order_p(np.array([0.9, 0.1])) == 1.0
    assert trend_p(np.array([0.9, 0.1])) == 1.0


def test_one_large_step_is_a_drop_and_no_creep():
    assert history(points([0.9] * 20 + [0.85] * 20)).creep == ()


def test_a_fall_within_the_tolerance_is_nobodys_business():
    assert history(points(creeping()), tolerance=0.05).creep == ()
    assert history(points([0.9] * 20 + [0.89] * 20)).creep == ()


def test_a_creep_that_was_made_good_is_none():
    values = [*creeping(), 0.9, 0.9, 0.9, 0.9]
    assert history(points(values)).creep == ()


def test_an_old_low_level_does_not_hide_a_creep():
    values = [0.7] * 60 + list(creeping())
    (alarm,) = history(points(values)).creep
    assert alarm.before == pytest.approx(0.9)


def test_scores_under_another_golden_set_are_not_compared():
    values = list(creeping())
    changed = ["g"] * 35 + ["h"] * 5
    assert history(points(values, golden=changed)).creep == ()


def test_a_release_is_the_reference_from_then_on():
    values = [0.95] * 5 + list(creeping())
    releases = [""] * len(values)
    releases[14] = "v2"
    (alarm,) = history(points(values, release=releases)).creep
    assert (alarm.since, alarm.reference) == ("run-0014", "release")
    releases[-1] = "v3"
    assert history(points(values, release=releases)).creep == ()


def test_records_are_comparable_since_the_golden_set_changed_and_where_the_headline_has_a_score():
    changed = points([0.9, 0.8, None, 0.7, 0.7], golden=["g", "h", "h", "h", "h"])
    assert core.comparable(history(changed)) == 3
    assert core.comparable(history(points([0.9] * 4))) == 4
    assert core.comparable(history(points([None]))) == 0


def test_too_few_records_say_nothing():
    assert history(points([0.9, 0.88, 0.86, 0.84, 0.82])).creep == ()


def test_records_without_the_measure_are_left_out():
    values = list(creeping())
    values[3] = values[20] = None
    assert history(points(values)).creep


def test_slices_have_alarms_of_their_own():
    made = points([0.9] * 40)
    falling = creeping()
    made = [
        core.Point(**{**{f: getattr(one, f) for f in one.__struct_fields__}, "slices": {"tag:x": {"recall@5": Mean(mean=float(falling[at]), n=50)}, "tag:y": {"recall@5": Mean(mean=0.9, n=50)}}})
        for at, one in enumerate(made)
    ]  # fmt: skip
    (alarm,) = history(made).creep
    assert alarm.slice == "tag:x"


def test_marks_say_what_changed():
    fields = {
        "golden": ["g", "g", "h", "h"],
        "model": ["m", "m", "m", "n"],
        "chunker": ["c", "c", "c", "c"],
        "snapshot": ["a" * 64, "b" * 64, "b" * 64, "c" * 64],
        "retriever": ["dense", "dense", "dense", "hybrid"],
        "policy": ["p", "p", "q", "q"],
        "release": ["", "", "", "v1"],
    }
    told = history(points([0.9] * 4, **fields))
    assert [(mark.run_id, mark.kind) for mark in told.marks] == [
        ("run-0001", "corpus"),
        ("run-0002", "golden set"),
        ("run-0002", "policy"),
        ("run-0003", "release"),
        ("run-0003", "model"),
        ("run-0003", "retriever"),
    ]


def test_another_chunker_is_not_called_another_corpus():
    told = history(points([0.9] * 2, chunker=["a", "b"], snapshot=["x", "y"]))
    assert [mark.kind for mark in told.marks] == ["chunker"]


def test_order_is_time_and_a_run_counts_once():
    made = points([0.1, 0.2, 0.3])
    told = history([made[2], made[0], made[1], made[0]])
    assert [one.run_id for one in told.points] == ["run-0000", "run-0001", "run-0002"]
    assert told.series[0].values == (0.1, 0.2, 0.3)


def test_no_record_is_an_empty_history():
    assert history([]).points == ()
    assert history(points([None, None])).series == ()


def test_a_point_keeps_what_a_trend_needs():
    record = ranked([1, 2, 9, 0], tags={0: ["big"]}).record
    kept = point(record, "v1")
    assert kept.measures == record.measures
    assert kept.slices["tag:big"] == {"recall@5": record.slices["tag:big"].measures["recall@5"]}
    assert (kept.release, kept.queries, kept.k) == ("v1", 4, 5)
