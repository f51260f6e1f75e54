"""Pagination, conditional requests, rate limits, faults and the logs of the fake GitHub."""

import threading
import time
from collections.abc import Iterator

import pytest
import requests
from github import Auth, Github, GithubException, GithubRetry, RateLimitExceededException

from tests.fakes.github import FakeGitHub
from tests.fakes.github.scene import Scene, open_scene

COMMENTS = r"/repos/octo/hello/issues/\d+/comments"
HEADERS = {"Authorization": "Bearer ghs_test"}


@pytest.fixture
def scene() -> Iterator[Scene]:
    with open_scene() as made:
        made.repo.add_issue()
        yield made


def test_listings_come_in_pages_with_links(scene: Scene) -> None:
    for number in range(205):
        scene.repo.add_comment(1, f"comment {number}")
    url = f"{scene.gh.url}/repos/octo/hello/issues/1/comments"
    first = requests.get(url, params={"per_page": 500}, headers=HEADERS, timeout=5)
    assert len(first.json()) == 100
    assert first.links["next"]["url"] == f"{url}?per_page=500&page=2"
    assert first.links["last"]["url"] == f"{url}?per_page=500&page=3"
    assert "prev" not in first.links
    last = requests.get(first.links["last"]["url"], headers=HEADERS, timeout=5)
    assert (len(last.json()), "next" in last.links, "first" in last.links) == (5, False, True)
    found = scene.remote.get_issue(1).get_comments()
    assert [one.body for one in found] == [f"comment {number}" for number in range(205)]
    assert found.totalCount == 205


def test_an_unchanged_answer_is_not_sent_again_and_costs_nothing(scene: Scene) -> None:
    url = f"{scene.gh.url}/repos/octo/hello/issues/1"
    first = requests.get(url, headers=HEADERS, timeout=5)
    again = requests.get(url, headers={**HEADERS, "If-None-Match": first.headers["ETag"]}, timeout=5)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["X-RateLimit-Remaining"] == first.headers["X-RateLimit-Remaining"]
    scene.repo.issues[1].title = "Changed"
    changed = requests.get(url, headers={**HEADERS, "If-None-Match": first.headers["ETag"]}, timeout=5)
    assert (changed.status_code, changed.json()["title"]) == (200, "Changed")
    assert first.headers["X-GitHub-Request-Id"] != changed.headers["X-GitHub-Request-Id"]


def test_the_primary_limit_refuses_until_its_reset(scene: Scene) -> None:
    scene.gh.rate_limit(remaining=1, reset_in=1)
    scene.remote.get_issue(1)
    with pytest.raises(RateLimitExceededException) as caught:
        scene.remote.get_issue(1)
    told = caught.value.headers or {}
    assert told["x-ratelimit-remaining"] == "0"
    assert scene.api.get_rate_limit().resources.core.remaining == 0
    time.sleep(max(0.0, int(told["x-ratelimit-reset"]) - time.time()) + 0.01)
    assert scene.remote.get_issue(1).number == 1


def test_the_secondary_limit_is_waited_out_by_the_real_client(scene: Scene) -> None:
    scene.gh.secondary_limit(retry_after=1, times=1, method="POST")
    retry = GithubRetry(total=2)
    with Github(base_url=scene.gh.url, auth=Auth.Token("ghs_test"), retry=retry) as api:
        started = time.monotonic()
        api.get_repo("octo/hello").get_issue(1).create_comment("late")
        assert time.monotonic() - started >= 1
    assert [one.status for one in scene.gh.requests if one.method == "POST"] == [403, 201]
    assert len(scene.gh.writes) == 1


def test_a_scripted_error_hits_only_what_it_names(scene: Scene) -> None:
    scene.gh.fault(method="POST", path=COMMENTS, status=502, times=2, body="<html>bad gateway</html>")
    issue = scene.remote.get_issue(1)
    for _ in range(2):
        with pytest.raises(GithubException) as caught:
            issue.create_comment("x")
        assert caught.value.status == 502
    assert (scene.gh.writes, scene.repo.comments) == ([], {})
    issue.create_comment("y")
    assert len(scene.gh.writes) == 1
    assert scene.gh.pending_faults == []


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_dropped_answer_may_or_may_not_have_taken_effect(scene: Scene, after_commit: bool) -> None:
    issue = scene.remote.get_issue(1)
    scene.gh.fault(method="POST", path=COMMENTS, drop=True, after_commit=after_commit)
    with pytest.raises(requests.ConnectionError):
        issue.create_comment("x")
    assert len(scene.repo.comments) == after_commit
    assert [one.path for one in scene.gh.writes] == ["/repos/octo/hello/issues/1/comments"] * after_commit


def test_a_lost_answer_with_a_status_still_took_effect(scene: Scene) -> None:
    issue = scene.remote.get_issue(1)
    scene.gh.fault(method="POST", path=COMMENTS, status=504, after_commit=True)
    with pytest.raises(GithubException):
        issue.create_comment("x")
    assert ([one.status for one in scene.gh.writes], len(scene.repo.comments)) == ([504], 1)


def test_a_body_can_be_cut_short(scene: Scene) -> None:
    scene.gh.fault(path="/repos/octo/hello/issues/1", truncate=20)
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        requests.get(f"{scene.gh.url}/repos/octo/hello/issues/1", timeout=5)


def test_a_delay_holds_back_only_its_own_request(scene: Scene) -> None:
    scene.gh.fault(path="/repos/octo/hello/issues/1", delay=0.6)
    url = f"{scene.gh.url}/repos/octo/hello"
    slow = threading.Thread(target=requests.get, args=(f"{url}/issues/1",), kwargs={"timeout": 5})
    slow.start()
    time.sleep(0.1)
    requests.get(url, timeout=5)
    assert slow.is_alive()
    slow.join()
    assert [one.path for one in scene.gh.requests][-2:] == ["/repos/octo/hello", "/repos/octo/hello/issues/1"]


def test_the_log_has_everything_but_the_token(scene: Scene) -> None:
    scene.remote.get_issue(1).create_comment("logged")
    seen = scene.gh.requests[-1]
    assert (seen.method, seen.path, seen.body, seen.status) == (
        "POST",
        "/repos/octo/hello/issues/1/comments",
        {"body": "logged"},
        201,
    )
    assert seen.headers["authorization"] == "***"
    assert seen.response["body"] == "logged"
    assert [one.method for one in scene.gh.writes] == ["POST"]


@pytest.mark.contract_exempt("sends text that is not JSON, and to an address that does not exist")
def test_nonsense_is_answered_as_github_does(scene: Scene) -> None:
    url = f"{scene.gh.url}/repos/octo/hello/issues"
    broken = requests.post(url, data="{", headers=HEADERS, timeout=5)
    assert (broken.status_code, broken.json()["message"]) == (400, "Problems parsing JSON")
    missing = requests.get(f"{url}/1/nothing", headers=HEADERS, timeout=5)
    assert (missing.status_code, missing.json()["message"]) == (404, "Not Found")


def test_the_clock_and_the_numbers_are_the_tests_own() -> None:
    with FakeGitHub() as gh:
        repo = gh.add_repo("octo/hello")
        gh.clock.set("2030-02-03T04:05:06Z")
        assert repo.add_issue(number=41).created_at == "2030-02-03T04:05:07Z"
        gh.clock.advance(60)
        pull = repo.add_pull()
        assert (pull.number, repo.issues[42].created_at[:16]) == (42, "2030-02-03T04:06")
        ids = [repo.id, repo.issues[41].id, repo.issues[42].id, pull.id, repo.add_comment(41, "x").id]
        assert len(set(ids)) == len(ids)


def test_a_fake_ends_with_clients_still_connected() -> None:
    before = threading.active_count()
    with FakeGitHub() as gh, requests.Session() as session:
        gh.add_repo("octo/hello")
        session.get(f"{gh.url}/repos/octo/hello", timeout=5)
        gh.close()
        with pytest.raises(requests.ConnectionError):
            session.get(f"{gh.url}/repos/octo/hello", timeout=5)
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before
