"""Who may accept a result, and every way that does not count."""

from __future__ import annotations

from typing import Any

import pytest

from rageval_action.github.api import Api
from rageval_action.github.event import PullRequest
from rageval_action.github.override import Accepted, NotAccepted, OverrideUnknown, find_override
from tests.fakes.github import FORK_ID, REPOSITORY_ID, user
from tests.fakes.github_server import FAULTS, FakeGitHub

HEAD, OLD = "a" * 40, "b" * 40
COMMAND = "looks fine\n\n/rageval accept the old labels were wrong\n"


@pytest.fixture
def request_of(github: FakeGitHub) -> PullRequest:
    github.state.commit(HEAD, author="coder")
    github.state.pull(7, HEAD, OLD)
    github.state.permissions.update(
        ana="write", root="admin", mo="maintain", tri="triage", rea="read", dev="admin", coder="admin"
    )
    return PullRequest(
        number=7,
        head_sha=HEAD,
        head_ref="topic",
        head_repository_id=FORK_ID,
        base_sha=OLD,
        base_ref="main",
        base_repository_id=REPOSITORY_ID,
        author="dev",
        author_id=user("dev")["id"],
    )


@pytest.mark.parametrize("login", ["ana", "root", "mo"])
def test_a_writer_accepts(login: str, github: FakeGitHub, api: Api, request_of: PullRequest) -> None:
    github.state.review(7, login, COMMAND, HEAD)
    made = find_override(api, request_of, "default")
    assert isinstance(made, Accepted)
    assert (made.by, made.reason, made.sha) == (login, "the old labels were wrong", HEAD)


REFUSED: dict[str, dict[str, Any]] = {
    "the author": {"login": "dev"},
    "who wrote the head commit": {"login": "coder"},
    "triage": {"login": "tri"},
    "read": {"login": "rea"},
    "a stranger": {"login": "mallory"},
    "a bot": {"login": "helper[bot]"},
    "an older commit": {"login": "ana", "commit_id": OLD},
    "a mere comment": {"login": "ana", "state": "COMMENTED"},
    "a request for changes": {"login": "ana", "state": "CHANGES_REQUESTED"},
    "a dismissed approval": {"login": "ana", "state": "DISMISSED"},
    "no command": {"login": "ana", "body": "LGTM"},
    "no reason": {"login": "ana", "body": "/rageval accept"},
    "only blanks as reason": {"login": "ana", "body": "/rageval accept   \n"},
    "a quoted command": {"login": "ana", "body": "> /rageval accept because"},
    "another evaluation": {"login": "ana", "body": "/rageval accept id=zh because"},
    "no body": {"login": "ana", "body": ""},
    "another evaluation without a reason": {"login": "ana", "body": "/rageval accept id=zh"},
    "an id that is none": {"login": "ana", "body": "/rageval accept id=z/h because"},
    "an empty id": {"login": "ana", "body": "/rageval accept id= because"},
    "a blank before the id": {"login": "ana", "body": "/rageval accept id = zh because"},
    "an id in capitals": {"login": "ana", "body": "/rageval accept ID=zh because"},
    "a code fence": {"login": "ana", "body": "```\n/rageval accept because\n```"},
    "a fence of tildes with words": {"login": "ana", "body": "~~~ sh\n/rageval accept because\n~~~"},
    "a fence that never ends": {"login": "ana", "body": "````\n```\n/rageval accept because"},
    "a quotation that goes on": {"login": "ana", "body": "> they said\n/rageval accept because"},
    "an HTML comment": {"login": "ana", "body": "<!--\n/rageval accept because\n-->"},
    "behind an HTML comment": {"login": "ana", "body": "<!-- x -->/rageval accept because"},
    "an HTML comment that never ends": {"login": "ana", "body": "fine <!--\n\n/rageval accept because"},
    "indented code": {"login": "ana", "body": "    /rageval accept because"},
    "a command of another name": {"login": "ana", "body": "/ragevalaccept because"},
}
NOTED = {"another evaluation without a reason", "an id that is none", "an empty id", "a blank before the id"}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_does_not_count(case: str, github: FakeGitHub, api: Api, request_of: PullRequest) -> None:
    fields = {"login": "ana", "body": COMMAND, "commit_id": HEAD, "state": "APPROVED"} | REFUSED[case]
    github.state.permissions["helper[bot]"] = "admin"
    github.state.review(7, **fields)
    made = find_override(api, request_of, "default")
    assert isinstance(made, NotAccepted), case
    assert bool(made.notes) or case not in NOTED


@pytest.mark.parametrize(
    "body",
    [
        "> old words\n\n/rageval accept because",
        "```\ncode\n```\n/rageval accept because",
        "<!-- a note -->\n/rageval accept because",
        "/rageval accept because <!-- of that -->",
        "/rageval accept id=default because",
    ],
)
def test_what_stands_beside_code_quotes_and_comments_counts(
    body: str, github: FakeGitHub, api: Api, request_of: PullRequest
) -> None:
    github.state.review(7, "ana", body, HEAD)
    made = find_override(api, request_of, "default")
    assert isinstance(made, Accepted)
    assert made.reason == "because"


@pytest.mark.parametrize("role", ["author", "committer"])
def test_a_head_commit_by_nobody_is_accepted_by_nobody(
    role: str, github: FakeGitHub, api: Api, request_of: PullRequest
) -> None:
    """The address could be the approver's own."""
    github.state.review(7, "ana", COMMAND, HEAD)
    assert github.state.commits[HEAD]["committer"]["login"] == "web-flow"
    github.state.commits[HEAD][role] = {}
    made = find_override(api, request_of, "default")
    assert isinstance(made, NotAccepted)
    assert f"the head commit's {role} has no GitHub account" in made.notes[0]


def test_the_newest_decision_of_a_person_stands(
    github: FakeGitHub, api: Api, request_of: PullRequest
) -> None:
    github.state.review(7, "ana", COMMAND, HEAD)
    github.state.review(7, "ana", "thinking", HEAD, state="COMMENTED")
    assert isinstance(find_override(api, request_of, "default"), Accepted)
    github.state.review(7, "ana", "wait", HEAD, state="CHANGES_REQUESTED")
    assert isinstance(find_override(api, request_of, "default"), NotAccepted)
    github.state.review(7, "root", "/rageval accept I decide", HEAD)
    made = find_override(api, request_of, "default")
    assert isinstance(made, Accepted)
    assert made.by == "root"


def test_ids_choose_the_evaluation(github: FakeGitHub, api: Api, request_of: PullRequest) -> None:
    github.state.review(7, "ana", "/rageval accept id=zh because of zh\r\n", HEAD)
    made = find_override(api, request_of, "zh")
    assert isinstance(made, Accepted)
    assert made.reason == "because of zh"
    assert isinstance(find_override(api, request_of, "en"), NotAccepted)


def test_refusals_are_explained(github: FakeGitHub, api: Api, request_of: PullRequest) -> None:
    github.state.review(7, "mallory", COMMAND, HEAD)
    made = find_override(api, request_of, "default")
    assert isinstance(made, NotAccepted)
    assert made.notes == ("mallory has no write access.",)


def test_reasons_are_one_visible_line(github: FakeGitHub, api: Api, request_of: PullRequest) -> None:
    github.state.review(7, "ana", "/rageval accept a\u202eb " + "x" * 900, HEAD)
    made = find_override(api, request_of, "default")
    assert isinstance(made, Accepted)
    assert made.reason.startswith("a\ufffdb x")
    assert len(made.reason) == 500


@pytest.mark.parametrize("fault", [f for f in FAULTS if f != "timeout"])
def test_an_outage_never_accepts(fault: str, github: FakeGitHub, api: Api, request_of: PullRequest) -> None:
    github.state.review(7, "mallory", COMMAND, HEAD)
    assert isinstance(find_override(api, request_of, "default"), NotAccepted)
    for broken in range(len(github.log)):
        github.log.clear()
        github.faults = {broken + n: fault for n in range(4)}
        assert isinstance(find_override(api, request_of, "default"), OverrideUnknown | NotAccepted)
