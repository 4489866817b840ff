from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rageval_action.core.model.types import ChunkAcl, Query, QueryAcl, Run
from rageval_action.errors import ConfigError
from rageval_action.retrievers import cage_user, confine
from rageval_action.retrievers.cage_user import USERS
from rageval_action.retrievers.command import CommandRetriever, Limits
from rageval_action.retrievers.confine import UnsafeProcessError, confined
from rageval_action.retrievers.interface import OptionValue
from rageval_action.retrievers.python import PythonRetriever
from tests.fakes.interpreter import FOLDER, interpreter
from tests.unit.retrievers.text_corpora import context, snapshot, texts

THREE = texts("one", "two", "three")
QUERIES = [Query(id="q1", text="one"), Query(id="q2", text="two"), Query(id="q3", text="three")]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def program() -> Iterator[Path]:
    """A folder that another user may read (pytest's own are closed to others), with the programs in it."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        folder.chmod(0o755)
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        yield folder


def run(program: Path, behaviour: str, queries: list[Query] = QUERIES, **options: OptionValue) -> Run:
    made = CommandRetriever(
        context(
            snapshot(THREE), access="audit", command=f"{interpreter()} search.py {behaviour}",
            cwd=str(program), **options,
        )
    )  # fmt: skip
    return made.retrieve(queries, 10)


def test_a_program_answers_every_query(program: Path) -> None:
    answered = run(program, "good")
    assert [[hit.id for hit in ranking.hits] for ranking in answered.rankings] == [["c1", "c2", "c3"]] * 3
    assert [hit.doc for hit in answered.rankings[0].hits] == ["d1", "d2", "d3"]
    assert answered.warm_up == 1
    assert set(answered.rankings[0].latency_ms) == {"retrieve", "total"}
    assert answered.notices == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("hang", "no answer within 0.4 s"),
        ("die", "the process ended with 7; it said: out of luck"),
        ("long", "the answer is empty or longer than 4194304 bytes"),
        ("garbage", "the answer is not JSON: 'no JSON here'"),
        ("deep", "the answer is not JSON"),
        ("number", "the answer is not a JSON object"),
        ("nan", "the answer is not JSON"),
        ("infinite", "the answer is not JSON"),
        ("word", "the score of result 1 is not a finite number"),
        ("some", "some results have a score and some have none"),
        ("nameless", "result 1 has no id"),
        ("unknown", 'none of the ids returned is in the snapshot (first: "x1")'),
        ("other", "the answer has the id 'someone else', not that of the query"),
        ("error", "it answered with an error: index is cold"),
        ("nothing", "the results are not a list but NoneType"),
        ("flood", "no answer within 0.4 s"),
    ],
)
def test_a_bad_answer_costs_only_its_query(program: Path, behaviour: str, said: str) -> None:
    answered = run(program, behaviour, timeout_s=0.4 if behaviour in {"hang", "flood"} else 20)
    assert answered.rankings[1].error.startswith(said)
    assert answered.rankings[1].hits == ()
    for ranking in (answered.rankings[0], answered.rankings[2]):
        assert [hit.id for hit in ranking.hits] == ["c1", "c2", "c3"]


def test_duplicates_and_strangers_are_counted_and_empty_answers_are_answers(program: Path) -> None:
    twice = run(program, "duplicates")
    assert [(hit.id, hit.score) for hit in twice.rankings[1].hits] == [("c2", 0.5), ("c1", 0.4)]
    assert [notice.code for notice in twice.notices] == ["retriever.repeated-ids"]
    stranger = run(program, "stranger")
    assert [hit.id for hit in stranger.rankings[1].hits] == ["c1", "x9", "c2"]
    assert '"x9"' in stranger.notices[0].text
    empty = run(program, "empty").rankings[1]
    assert (empty.hits, empty.error) == ((), "")


def test_a_program_that_keeps_dying_is_not_asked_for_ever(program: Path) -> None:
    began = time.monotonic()
    many = [Query(id=f"q{at}", text="x") for at in range(50)]
    made = CommandRetriever(context(snapshot(THREE), command="/bin/false", cwd=str(program)))
    answered = made.retrieve(many, 10)
    assert all(ranking.error for ranking in answered.rankings)
    errors = [ranking.error for ranking in answered.rankings]
    assert errors[:3] == ["the process ended with 1"] * 3
    said = "not asked: the process was started 3 times and never answered, the last time: the process ended with 1"
    assert errors[3:] == [said] * 47
    assert time.monotonic() - began < 20


def test_failures_in_a_row_are_those_of_the_queries_that_carry_them(program: Path) -> None:
    many = [QUERIES[0], *(Query(id=f"q2-{at}", text="two") for at in range(9))]
    errors = [ranking.error for ranking in run(program, "die", many).rankings]
    assert errors[0] == ""
    assert errors[1:6] == ["the process ended with 7; it said: out of luck"] * 5
    assert all(error.startswith("not asked: the process failed 5 times in a row, ") for error in errors[6:])


@pytest.mark.slow
def test_only_the_first_start_has_the_long_limit(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = [Query(id=f"q2-{at}", text="two") for at in range(20)]
    answered = run(program, "hang", many, timeout_s=0.1, start_timeout_s=2.5)
    errors = [ranking.error for ranking in answered.rankings]
    assert errors[:3] == ["no answer within 2.5 s", "no answer within 2 s", "no answer within 2 s"]
    assert all(error.startswith("not asked: the process was started 3 times") for error in errors[3:])
    said = capsys.readouterr().err.splitlines()
    assert said[0] == 'rageval: query "q2-0": no answer within 2.5 s'
    assert len(said) == 3


@pytest.mark.parametrize(
    ("timeout_s", "start_timeout_s", "first_s", "limit"),
    [
        (2, 120, 0.5, 6),
        (0.1, 120, 0.5, 2),
        (2, 120, 40, 80),
        (2, 120, 100, 120),
        (30, 20, 1, 20),
        (2, 120, 0, 6),
    ],
)
def test_a_restart_has_as_long_as_the_first_start_needed(
    timeout_s: float, start_timeout_s: float, first_s: float, limit: float
) -> None:
    assert Limits(timeout_s=timeout_s, start_timeout_s=start_timeout_s).restart_s(first_s) == limit


def test_a_program_that_is_not_there_is_said_per_query(program: Path) -> None:
    made = CommandRetriever(context(snapshot(THREE), command="./no-such-program", cwd=str(program)))
    assert "could not be started" in made.retrieve(QUERIES, 10).rankings[0].error


def test_much_on_standard_error_blocks_nothing(program: Path) -> None:
    assert all(ranking.hits for ranking in run(program, "noisy").rankings)


def test_a_stopped_run_leaves_no_process(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(items: list[Query], label: str) -> object:
        yield items[0]
        raise KeyboardInterrupt

    monkeypatch.setattr("rageval_action.retrievers.command.track", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(program, "good")
    listed = subprocess.run(["ps", "-eo", "args"], check=False, capture_output=True, text=True).stdout
    assert "search.py good" not in listed


def test_who_asks_is_told_and_enforced(program: Path) -> None:
    chunks = texts("one", "two", "three", acls={1: ChunkAcl(principals=("ana",))})
    asked = [Query(id="q1", text="one", acl=QueryAcl(principal="eve"))]
    options = {"command": f"{interpreter()} search.py good", "cwd": str(program)}
    enforced = CommandRetriever(context(snapshot(chunks), **options)).retrieve(asked, 10)
    assert [hit.id for hit in enforced.rankings[0].hits] == ["c2", "c3"]
    assert enforced.notices[0].code == "retriever.hidden-results"
    audited = CommandRetriever(context(snapshot(chunks), access="audit", **options)).retrieve(asked, 10)
    assert [hit.id for hit in audited.rankings[0].hits] == ["c1", "c2", "c3"]


@pytest.mark.parametrize(
    "options",
    [
        {"command": "'"},
        {"command": " "},
        {},
        {"command": "x", "cwd": "/no/such/folder"},
        {"command": "x", "uid": 121},
        {"command": "x", "user": "root"},
    ],
)
def test_bad_options_are_refused_before_anything_runs(options: dict[str, OptionValue]) -> None:
    with pytest.raises(ConfigError):
        CommandRetriever(context(snapshot(THREE), **options))


# What a hostile program can see


@pytest.fixture
def checkout(program: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a token in its configuration, and the job's secrets in our environment."""
    (program / ".git").mkdir(exist_ok=True)
    kept = program / "credentials.config"
    kept.write_text('[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic s3cret-needle\n')
    (program / ".git" / "config").write_text(
        f"[include]\n\tpath = {kept}\n[http]\n\textraheader = s3cret-needle\n"
    )
    for path in (kept, program / ".git" / "config"):
        path.chmod(0o644)
    for name in ("GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "INPUT_GITHUB-TOKEN", "OPENAI_API_KEY", "PLAIN"):
        monkeypatch.setenv(name, "s3cret-needle")
    return program


SPIED = """
import sys; sys.path.insert(0, sys.argv[1])
from rageval_action.core.model.types import Query
from rageval_action.retrievers.command import CommandRetriever, Limits
from tests.unit.retrievers.text_corpora import context, snapshot, texts
made = CommandRetriever(context(snapshot(texts("one")), access="audit", command=sys.argv[3], cwd=sys.argv[2]))
run = made.retrieve([Query(id="q", text="one")], 100)
print(run.parameters["isolation"], run.rankings[0].error, [hit.id for hit in run.rankings[0].hits])
"""


@needs_root
def test_as_root_a_hostile_program_finds_nothing(checkout: Path) -> None:
    """The secrets are in our real environment, as a job has them, so `/proc` of the parent holds them."""
    here = str(Path(__file__).resolve().parents[3])
    spied = subprocess.run(
        [sys.executable, "-c", SPIED, here, str(checkout), f"{interpreter()} spy.py"],
        check=False, capture_output=True, text=True, env=dict(os.environ), cwd=here,
    )  # fmt: skip
    assert spied.stdout.strip() == "other-user  ['c1']", spied.stderr
    assert (checkout / ".git" / "config").stat().st_mode & 0o777 == 0o644  # as it was


@needs_root
def test_without_confinement_the_same_program_finds_them(checkout: Path) -> None:
    """The check above is worth something: the spy does see secrets where nothing stops it."""
    seen = subprocess.run(
        [interpreter(), "spy.py"],
        check=False,
        input='{"id": "q"}\n',
        capture_output=True,
        text=True,
        cwd=checkout,
    )
    found = json.loads(seen.stdout)["results"]
    assert "env GITHUB_TOKEN" in found
    assert any(name.endswith("/.git/config") for name in found)


@needs_root
@pytest.mark.parametrize("ci", ["", "true"])
def test_as_an_ordinary_user_a_hostile_program_finds_nothing(checkout: Path, ci: str) -> None:
    """Not root: rageval closes its memory and environment to its own user. Run for real as such a user."""
    here = str(Path(__file__).resolve().parents[3])
    python = interpreter()
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    ready = subprocess.run(
        [python, "-c", "import numpy, msgspec, pytest"], check=False, capture_output=True, cwd="/",
        env={"PYTHONPATH": ":".join(libraries)},
    )  # fmt: skip
    if ready.returncode != 0:
        pytest.skip("no Python here that an ordinary user may run with our libraries")
    for path in (checkout / ".git" / "config", checkout / "credentials.config"):
        path.chmod(0o600)
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": ":".join([here, *libraries]), "HOME": "/nonexistent", "CI": ci,
        "GITHUB_TOKEN": "s3cret-needle", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    spied = subprocess.run(
        [python, "-c", SPIED, here, str(checkout), f"{python} spy.py"],
        check=False, capture_output=True, text=True, cwd=here, env=environment,
        user=65534, group=65534, extra_groups=[],
    )  # fmt: skip
    assert spied.stdout.strip() == "no-dump  ['c1']", spied.stderr


def test_in_ci_a_secret_in_reach_of_our_own_user_stops_the_start(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confine.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(UnsafeProcessError) as caught, confined([], checkout):
        pass
    assert caught.value.code == "retriever.unsafe-process"
    assert "run-file" in caught.value.hint
    assert "s3cret-needle" not in str(caught.value)


@needs_root
def test_a_readable_secret_stops_the_start(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where closing a file does nothing (some mounts ignore modes), the probe sees it."""
    monkeypatch.setattr(Path, "chmod", lambda self, mode: None)
    with pytest.raises(UnsafeProcessError, match="can read"), confined([], checkout):
        pass


@needs_root
def test_the_user_is_nobody_elses(program: Path) -> None:
    with confined([], program) as one, confined([], program) as other:
        assert one.user in USERS
        assert other.user in USERS
        assert one.user != other.user
        assert one.arguments()["group"] == one.user
        assert one.arguments()["extra_groups"] == []


@needs_root
@pytest.mark.parametrize("taken", ["_has_account", "_ids_of_processes"])
def test_an_id_that_is_in_use_is_passed_over(
    program: Path, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = {
        "_has_account": lambda user: user < USERS[7],
        "_ids_of_processes": lambda: set(USERS[:7]),
    }
    monkeypatch.setattr(cage_user, taken, used[taken])
    with confined([], program) as how:
        assert how.user is not None
        assert how.user >= USERS[7]
    monkeypatch.setattr(cage_user, "_has_account", lambda user: True)
    with pytest.raises(ConfigError) as caught, confined([], program):
        pass
    assert caught.value.code == "retriever.no-free-user"


@needs_root
@pytest.mark.parametrize("variable", confine.COMMAND_FILES)
def test_the_runners_command_files_are_closed_meanwhile(
    program: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = program / "commands"
    file.touch()
    file.chmod(0o666)
    monkeypatch.setenv(variable, str(file))
    with confined([], program):
        assert file.stat().st_mode & 0o777 == 0o600
    assert file.stat().st_mode & 0o777 == 0o666
    monkeypatch.setattr(Path, "chmod", lambda self, mode: None)
    with pytest.raises(UnsafeProcessError, match="can read or write"), confined([], program):
        pass
    os.chmod(file, 0o622)  # noqa: PTH101, S103 - `Path.chmod` does nothing here
    with pytest.raises(UnsafeProcessError, match="can read or write"), confined([], program):
        pass


@needs_root
@pytest.mark.parametrize("by", ["place", "variable"])
def test_a_container_engine_in_reach_stops_the_start(
    program: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = program / "docker.sock"
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(place))
        if by == "place":
            monkeypatch.setattr(confine, "ENGINES", (str(place),))
        else:
            monkeypatch.setenv("DOCKER_HOST", f"unix://{place}")
        place.chmod(0o660)
        with confined([], program):
            pass
        place.chmod(0o666)
        with pytest.raises(UnsafeProcessError, match=r"docker\.sock"), confined([], program):
            pass


@needs_root
def test_a_program_that_the_other_user_may_not_run_is_said_with_the_ways_out(program: Path) -> None:
    (program / "closed").mkdir(mode=0o700)
    python = program / "closed" / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    made = CommandRetriever(context(snapshot(THREE), command="closed/python", cwd=str(program)))
    with pytest.raises(ConfigError) as caught:
        made.retrieve(QUERIES, 10)
    assert caught.value.code == "retriever.program-closed"
    assert str(python) in caught.value.message
    for way in ("/opt", "ordinary user", "run-file"):
        assert way in caught.value.hint


LEAVES = """
import json, os, subprocess, sys
for line in sys.stdin:
    left = subprocess.Popen(["sleep", "300"], start_new_session=True, stdout=2)
    limits = open("/proc/self/limits").read()
    core = next(line.split()[4:6] for line in limits.splitlines() if line.startswith("Max core"))
    found = ["c1", f"pid {left.pid}", "core " + "/".join(core), f"user {os.getuid()} {os.getgid()} {os.getgroups()}"]
    print(json.dumps({"id": json.loads(line)["id"], "results": found}), flush=True)
"""


@pytest.mark.parametrize("isolation", ["other-user", "no-dump"])
def test_nothing_outlives_the_run_and_nothing_dumps_its_memory(
    program: Path, isolation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isolation == "no-dump":
        monkeypatch.setattr(confine.os, "geteuid", lambda: 1000)
        monkeypatch.delenv("CI", raising=False)
    elif os.geteuid() != 0:
        pytest.skip("only root can become another user")
    (program / "leaves.py").write_text(LEAVES)
    line = f"{interpreter()} leaves.py"
    made = CommandRetriever(context(snapshot(THREE), access="audit", command=line, cwd=str(program)))
    run = made.retrieve(QUERIES, 10)
    assert run.parameters["isolation"] == isolation
    said = {hit.id for ranking in run.rankings for hit in ranking.hits}
    assert "core 0/0" in said
    pids = [int(text.split()[1]) for text in said if text.startswith("pid ")]
    assert len(pids) == len(QUERIES)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    if isolation == "other-user":
        ((user, group, groups),) = {tuple(text.split()[1:]) for text in said if text.startswith("user ")}
        assert user == group
        assert int(user) in USERS
        assert groups == "[]"


def test_the_environment_is_built_and_not_copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEARCH_URL", "http://localhost")
    monkeypatch.setenv("OTHER", "x")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.delenv("CI", raising=False)
    with confined(["SEARCH_URL"], tmp_path) as how:
        assert how.environment["SEARCH_URL"] == "http://localhost"
        assert how.environment["LC_TIME"] == "C"
        assert "OTHER" not in how.environment
        assert Path(how.environment["HOME"]).is_dir()
    assert not Path(how.environment["HOME"]).exists()
    for name in ("GITHUB_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "INPUT_TOKEN"):
        with pytest.raises(ConfigError, match="belongs to the job"), confined([name], tmp_path):
            pass


def test_credentials_are_found_where_checkouts_keep_them(checkout: Path, tmp_path: Path) -> None:
    found = confine.credential_files(checkout)
    assert checkout / ".git" / "config" in found
    assert checkout / "credentials.config" in found
    inside = checkout / "deep" / "folder"
    inside.mkdir(parents=True)
    assert checkout / ".git" / "config" in confine.credential_files(inside)
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {checkout / '.git'}\n")
    assert checkout / ".git" / "config" in confine.credential_files(worktree)


# A function in a child process


def python_run(program: Path, function: str, queries: list[Query] = QUERIES, **options: OptionValue) -> Run:
    built = context(
        snapshot(THREE), access="audit", function=f"team_search:{function}", path=str(program),
        python=interpreter(), cwd=str(program), **options,
    )  # fmt: skip
    return PythonRetriever(built).retrieve(queries, 10)


def test_a_function_is_called_and_its_prints_do_no_harm(program: Path) -> None:
    answered = python_run(program, "search")
    assert [[hit.id for hit in ranking.hits] for ranking in answered.rankings] == [["c2", "c1"]] * 3
    assert answered.retriever == "python"


def test_a_function_may_return_mappings_lazily_and_ask_for_the_acl(program: Path) -> None:
    assert [hit.id for hit in python_run(program, "mapping").rankings[0].hits] == ["c3", "c1"]
    asked = [Query(id="q1", text="x", acl=QueryAcl(principal="ana")), Query(id="q2", text="x")]
    assert [r.hits[0].id for r in python_run(program, "with_acl", asked).rankings] == ["c1", "c2"]


def test_the_code_that_ranks_is_in_the_run(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(program)
    assert list(python_run(program, "search").code) == ["team_search.py"]
    assert list(run(program, "good").code) == ["search.py"]


def test_a_function_that_raises_costs_its_query(program: Path) -> None:
    answered = python_run(program, "broken")
    assert answered.rankings[1].error == "it answered with an error: ValueError: no index for two"
    assert answered.rankings[2].hits


def test_a_function_that_hangs_costs_its_queries(program: Path) -> None:
    answered = python_run(program, "slow", QUERIES[:1], start_timeout_s=0.5)
    assert answered.rankings[0].error == "no answer within 0.5 s"


def test_a_module_that_is_not_there_is_said(program: Path) -> None:
    built = context(
        snapshot(THREE), function="no_such:thing", python=interpreter(), cwd=str(program), path=str(program)
    )
    assert "No module named" in PythonRetriever(built).retrieve(QUERIES, 10).rankings[0].error
    with pytest.raises(ConfigError, match="module:function"):
        PythonRetriever(context(snapshot(THREE), function="nonsense"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["yes", "sh -c 'setsid sleep 60 & exec yes'", "sh -c 'setsid sleep 60 & exit 3'", "cat /dev/zero"]
)
def test_a_program_that_never_stops_talking_is_left(line: str) -> None:
    began = time.monotonic()
    made = CommandRetriever(
        context(snapshot(THREE), access="audit", command=line, timeout_s=0.3, start_timeout_s=0.3)
    )
    assert all(ranking.error for ranking in made.retrieve(QUERIES, 10).rankings)
    assert time.monotonic() - began < 20
