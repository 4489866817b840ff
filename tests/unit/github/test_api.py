"""The client: what it retries, what it never does twice, and where the token goes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import requests
from msgspec.structs import replace

from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError, is_limit, limit_wait
from rageval_action.github.rest_types import Comment, Commit, CreatedObject
from rageval_action.github.runner import Token
from rageval_action.http_client import Reply
from tests.fakes.github import zipped
from tests.fakes.github_server import FAULTS, READ_TOKEN, FakeGitHub
from tests.fakes.network import IMPATIENT, FastClock

SHA = "a" * 40
COMMIT = f"/repos/acme/docs/commits/{SHA}"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_read_survives_every_passing_fault_but_lies(
    fault: str, github: FakeGitHub, make_api: Callable[..., Api]
) -> None:
    api = make_api(limits=IMPATIENT)
    github.state.commit(SHA)
    github.faults = {0: fault}
    github.patience = 0.9
    if fault == "bad-json":
        with pytest.raises(ApiError) as error:
            api.get(COMMIT, Commit)
        assert error.value.failure == "malformed"
        return
    assert api.get(COMMIT, Commit).sha == SHA
    assert len(github.log) == 2


@pytest.mark.parametrize(
    ("fault", "tries"), [("500", 1), ("timeout", 1), ("half-closed", 1), ("429", 2), ("403-secondary", 2)]
)
def test_a_post_is_sent_again_only_when_it_was_refused_unheard(
    fault: str, tries: int, github: FakeGitHub, make_api: Callable[..., Api]
) -> None:
    api = make_api(limits=IMPATIENT)
    github.faults = {0: fault}
    github.patience = 0.9
    path = "/repos/acme/docs/issues/7/comments"
    if tries == 1:
        with pytest.raises(ApiError) as error:
            api.send("POST", path, Comment, {"body": "x"})
        assert error.value.delivered
        said = {"500": "HTTP 500.", "timeout": "no answer in time.", "half-closed": "the connection broke ("}
        assert said[fault] in str(error.value)
    else:
        api.send("POST", path, Comment, {"body": "x"})
    assert len(github.log) == tries


def test_no_connection_is_an_outage_after_all_tries(make_api: Callable[..., Api], clock: FastClock) -> None:
    api = make_api(url="http://127.0.0.1:9")
    with pytest.raises(ApiError) as error:
        api.send("POST", "/x", CreatedObject, {})
    assert error.value.failure == "outage"
    assert str(error.value).endswith("POST /x: the server cannot be reached.")
    assert clock.sleeps == [1.0, 2.0, 4.0]


def test_missing_rights_are_final(github: FakeGitHub, make_api: Callable[..., Api]) -> None:
    api = make_api(READ_TOKEN)
    with pytest.raises(ApiError) as error:
        api.send("POST", "/repos/acme/docs/issues/7/comments", Comment, {"body": "x"})
    assert (error.value.failure, error.value.status, error.value.delivered) == ("forbidden", 403, False)
    assert len(github.log) == 1


def test_the_total_cap_ends_waiting(
    github: FakeGitHub, make_api: Callable[..., Api], clock: FastClock
) -> None:
    github.always = lambda _name: "429"
    api = make_api(seconds=2.5)
    with pytest.raises(ApiError) as error:
        api.get(COMMIT, Commit)
    assert error.value.failure == "limited"
    assert sum(clock.sleeps) <= 2.5
    with pytest.raises(ApiError) as error:
        make_api(seconds=0.0).get(COMMIT, Commit)
    assert "no time was left" in error.value.message


def test_a_spent_rate_limit_waits_for_the_reset(
    github: FakeGitHub, make_api: Callable[..., Api], clock: FastClock
) -> None:
    github.state.commit(SHA)
    github.remaining = 0

    def refill(seconds: float) -> None:
        clock.sleep(seconds)
        github.remaining = 10

    api = make_api(handle=replace(clock.handle(), sleep=refill))
    assert api.get(COMMIT, Commit).sha == SHA
    assert len(clock.sleeps) == 1
    assert 1.0 <= clock.sleeps[0] <= 4.0


def test_waiting_times() -> None:
    assert limit_wait({"retry-after": "7"}, 0) == 7
    assert limit_wait({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1050"}, 1000) == 51
    assert limit_wait({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "900"}, 1000) == 1
    assert limit_wait({"retry-after": "soon"}, 0) == 60
    assert limit_wait({"retry-after": "9" * 40}, 0) == 60


def refusal(said: str, **headers: str) -> Reply:
    return Reply(status=403, headers=headers, body=json.dumps({"message": said}).encode())


def test_which_refusals_are_limits() -> None:
    assert not is_limit(refusal("Resource not accessible by integration", **{"retry-after": "1"}))
    assert is_limit(refusal("You have exceeded a secondary rate limit"))
    assert is_limit(replace(refusal(""), status=429))
    assert not is_limit(refusal("Must have admin rights"))


def test_pages_are_followed_to_the_end_on_our_host_only(
    github: FakeGitHub, api: Api, make_api: Callable[..., Api]
) -> None:
    for number in range(230):
        github.state.comment(7, "someone", f"comment {number}")
    pages = list(api.pages("/repos/acme/docs/issues/7/comments", tuple[Comment, ...]))
    assert [len(page) for page in pages] == [100, 100, 30]
    api = make_api(url=github.url.replace("127.0.0.1", "localhost"))
    with pytest.raises(ApiError) as error:
        list(api.pages("/repos/acme/docs/issues/7/comments", tuple[Comment, ...]))
    assert error.value.failure == "malformed"


def artifact_of(github: FakeGitHub) -> str:
    github.state.commit(SHA)
    github.state.run(1, SHA)
    made = github.state.artifact(1, zipped({"record.json": b"{}"}))
    return f"/repos/acme/docs/actions/artifacts/{made.id}/zip"


def test_a_download_leaves_the_token_behind(github: FakeGitHub, api: Api) -> None:
    path = artifact_of(github)
    assert api.download(path, 10_000).startswith(b"PK")
    assert github.log[-1].startswith("BLOB")


def test_requests_itself_would_not_have_kept_the_promise_for_us(github: FakeGitHub) -> None:
    """The storage host notices a token: without our own redirect this is what a naive client could do."""
    path = artifact_of(github)
    first = requests.get(
        github.url + path, headers={"Authorization": "Bearer ghs_full"}, allow_redirects=False, timeout=5
    )
    requests.get(first.headers["Location"], headers={"Authorization": "Bearer ghs_full"}, timeout=5)
    assert "the token was sent to the storage host" in github.broken
    github.broken.clear()


def test_a_netrc_cannot_add_credentials(
    github: FakeGitHub, api: Api, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"  # type: ignore[operator]
    netrc.write_text(
        "machine localhost login me password secret\nmachine 127.0.0.1 login me password secret\n"
    )
    monkeypatch.setenv("NETRC", str(netrc))
    assert api.download(artifact_of(github), 10_000)


def test_sizes_are_capped(github: FakeGitHub, api: Api) -> None:
    path = artifact_of(github)
    with pytest.raises(ApiError) as error:
        api.download(path, 50)
    assert error.value.failure == "too-large"


def test_redirects_elsewhere_are_refused(github: FakeGitHub, api: Api) -> None:
    with pytest.raises(ApiError) as error:
        api.raw(artifact_of(github), 100)
    assert error.value.failure == "malformed"
    assert "unexpected redirect" in error.value.message
    assert not any(name.startswith("BLOB") for name in github.log)


def test_an_expired_artifact_is_gone(github: FakeGitHub, api: Api) -> None:
    path = artifact_of(github)
    for artifact in github.state.artifacts.values():
        artifact.expired = True
    with pytest.raises(ApiError) as error:
        api.download(path, 100)
    assert error.value.failure == "gone"


def test_messages_hold_neither_token_nor_signature(github: FakeGitHub, make_api: Callable[..., Api]) -> None:
    api = make_api("ghs_very-secret")
    with pytest.raises(ApiError) as error:
        api.get(COMMIT, Commit, {"sig": "signature-secret"})
    shown = (
        f"{error.value!r} {error.value} {vars(error.value)} {api!r} {Token('ghs_very-secret')!r} {Token('')}"
    )
    assert "secret" not in shown
    assert error.value.failure == "forbidden"


def test_deleting_twice_is_fine(github: FakeGitHub, api: Api) -> None:
    made = github.state.comment(7, "github-actions[bot]", "x")
    api.delete(f"/repos/acme/docs/issues/comments/{made}")
    api.delete(f"/repos/acme/docs/issues/comments/{made}")
    assert github.state.comments == {}


def test_a_token_is_used_without_the_line_end_it_was_pasted_with(
    github: FakeGitHub, make_api: Callable[..., Api]
) -> None:
    github.state.commit(SHA)
    assert make_api(f" {READ_TOKEN}\n").get(COMMIT, Commit).sha == SHA


def test_a_token_that_is_no_header_is_not_shown(make_api: Callable[..., Api]) -> None:
    with pytest.raises(ApiError) as error:
        make_api("very\nsecret").get(COMMIT, Commit)
    assert error.value.failure == "malformed"
    assert (
        "secret"
        not in f"{error.value} {error.value.__context__ if not error.value.__suppress_context__ else ''}"
    )
