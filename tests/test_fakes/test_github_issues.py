"""Issues, comments, reactions and labels of the fake GitHub, through PyGithub."""

from collections.abc import Iterator
from typing import Any

import pytest
from github import Auth, GithubException, UnknownObjectException

from tests.fakes.github.scene import Scene, open_scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    with open_scene() as made:
        yield made


def test_a_comment_is_created_updated_and_deleted(scene: Scene) -> None:
    scene.repo.add_issue(title="Broken", body="It fails", user="alice")
    issue = scene.remote.get_issue(1)
    comment = issue.create_comment("working on it")
    assert (comment.user.login, comment.user.type) == ("github-actions[bot]", "Bot")
    assert comment.html_url == f"{scene.gh.server_url}/octo/hello/issues/1#issuecomment-{comment.id}"
    comment.edit("done")
    assert [one.body for one in issue.get_comments()] == ["done"]
    assert comment.updated_at > comment.created_at
    comment.delete()
    assert list(issue.get_comments()) == []
    with pytest.raises(UnknownObjectException):
        issue.get_comment(comment.id)


def test_comments_can_be_asked_for_since_a_moment(scene: Scene) -> None:
    scene.repo.add_issue()
    scene.repo.add_comment(1, "old")
    scene.gh.clock.set("2026-05-01T12:00:00Z")
    scene.repo.add_comment(1, "new")
    since = scene.gh.clock.now.replace(day=1, hour=0)
    assert [one.body for one in scene.remote.get_issue(1).get_comments(since=since)] == ["new"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (" \n", "Body cannot be blank"),
        ("x" * 65_537, "body is too long (maximum is 65536 characters)"),
    ],
)
def test_a_comment_outside_the_limits_is_refused(scene: Scene, body: str, message: str) -> None:
    scene.repo.add_issue()
    with pytest.raises(GithubException) as caught:
        scene.remote.get_issue(1).create_comment(body)
    assert caught.value.status == 422
    data: Any = caught.value.data
    assert data["errors"][0]["message"] == message
    assert scene.gh.writes == []


def test_the_longest_comment_is_accepted(scene: Scene) -> None:
    scene.repo.add_issue()
    assert len(scene.remote.get_issue(1).create_comment("x" * 65_536).body) == 65_536


@pytest.mark.contract_exempt("sends a body without the required field")
def test_a_missing_field_is_named(scene: Scene) -> None:
    scene.repo.add_issue()
    with pytest.raises(GithubException) as caught:
        scene.api.requester.requestJsonAndCheck("POST", "/repos/octo/hello/issues/1/comments", input={})
    assert caught.value.data["message"] == 'Invalid request.\n\n"body" wasn\'t supplied.'


def test_issues_are_opened_listed_closed_and_searched(scene: Scene) -> None:
    made = scene.remote.create_issue("Crash on start", "with a trace", labels=["bug"])
    scene.remote.create_issue("Another")
    made.edit(state="closed", state_reason="not_planned")
    assert [one.title for one in scene.remote.get_issues()] == ["Another"]
    assert [one.number for one in scene.remote.get_issues(state="all")] == [2, 1]
    assert [one.number for one in scene.remote.get_issues(state="closed", labels=["bug"])] == [1]
    found = scene.api.search_issues("crash repo:octo/hello is:issue state:closed label:bug")
    assert [(one.number, one.state_reason) for one in found] == [(1, "not_planned")]
    assert [one.number for one in scene.api.search_issues("label:bug")] == [1]
    for other in ("crash is:open", "crash label:docs", "crash is:pr", "crash author:bob", "crash repo:octo/other"):
        assert scene.api.search_issues(other).totalCount == 0, other


def test_a_repeated_reaction_is_the_same_one(scene: Scene) -> None:
    scene.repo.add_issue()
    comment = scene.remote.get_issue(1).create_comment("hi")
    first, second = comment.create_reaction("eyes"), comment.create_reaction("eyes")
    assert first.id == second.id
    comment.create_reaction("rocket")
    assert [one.content for one in comment.get_reactions()] == ["eyes", "rocket"]
    comment.delete_reaction(first.id)
    assert scene.remote.get_issue(1).get_comment(comment.id).reactions["total_count"] == 1
    scene.remote.get_issue(1).create_reaction("+1")
    assert scene.repo.issues[1].reactions[0].user == "github-actions[bot]"


def test_labels_are_made_on_use_and_removed(scene: Scene) -> None:
    scene.repo.add_issue(labels=["bug"])
    scene.remote.create_label("area/ci", "ff0000", "Things that run")
    issue = scene.remote.get_issue(1)
    issue.add_to_labels("area/ci", "new one")
    assert scene.repo.issues[1].labels == ["bug", "area/ci", "new one"]
    issue.remove_from_labels("area/ci")
    issue.set_labels("triage")
    assert [one.name for one in issue.get_labels()] == ["triage"]
    assert scene.remote.get_label("area/ci").description == "Things that run"
    issue.delete_labels()
    assert scene.repo.issues[1].labels == []
    with pytest.raises(GithubException, match="already_exists"):
        scene.remote.create_label("BUG", "ffffff")


def test_a_locked_issue_takes_no_comment_from_outside(scene: Scene) -> None:
    scene.repo.add_issue()
    scene.remote.get_issue(1).lock("resolved")
    scene.gh.add_token("ghp_bob", login="bob", permissions={"issues": "write"})
    with pytest.raises(GithubException, match="locked"):
        scene.api.requester.withAuth(Auth.Token("ghp_bob")).requestJsonAndCheck(
            "POST", "/repos/octo/hello/issues/1/comments", input={"body": "hi"}
        )
    scene.remote.get_issue(1).unlock()
    assert scene.repo.issues[1].locked is False


def test_issues_that_are_switched_off_are_gone(scene: Scene) -> None:
    scene.repo.add_issue()
    scene.repo.has_issues = False
    with pytest.raises(GithubException) as caught:
        scene.remote.get_issue(1)
    assert caught.value.status == 410
