"""Pull requests, reviews, inline comments and threads of the fake GitHub, through PyGithub."""

from collections.abc import Iterator
from typing import Any

import pytest
from github import GithubException
from github.PullRequest import PullRequest, ReviewComment

from tests.fakes.github import PullFile
from tests.fakes.github.scene import Scene, open_scene

PATCH = "@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+drei\n three\n@@ -10,2 +11,2 @@\n ten\n-eleven\n+elf"


@pytest.fixture
def scene() -> Iterator[Scene]:
    with open_scene() as made:
        yield made


@pytest.fixture
def pull(scene: Scene) -> PullRequest:
    scene.repo.add_pull("Change", "Because", "alice", "a" * 40, files=[PullFile("src/app.py", PATCH)])
    return scene.remote.get_pull(1)


def test_a_pull_request_shows_its_files_and_diff(scene: Scene, pull: PullRequest) -> None:
    assert (pull.head.sha, pull.additions, pull.deletions, pull.changed_files) == ("a" * 40, 3, 2, 1)
    assert [(one.filename, one.status, one.patch) for one in pull.get_files()] == [("src/app.py", "modified", PATCH)]
    assert [one.sha for one in pull.get_commits()] == ["a" * 40]
    accept = {"Accept": "application/vnd.github.v3.diff"}
    _, data = scene.api.requester.requestJsonAndCheck("GET", pull.url, headers=accept)
    assert data["data"] == f"diff --git a/src/app.py b/src/app.py\n--- a/src/app.py\n+++ b/src/app.py\n{PATCH}\n"


def test_a_fork_is_seen_as_one(scene: Scene) -> None:
    scene.repo.add_pull(user="mallory", head_repo="mallory/hello", head_ref="evil")
    pull = scene.remote.get_pull(1)
    assert (pull.head.repo.full_name, pull.head.repo.fork) == ("mallory/hello", True)
    assert pull.head.label == "mallory:evil"
    assert "refs/heads/evil" not in scene.repo.git.refs


def test_a_pull_request_from_a_branch_has_the_changes_of_its_commits(scene: Scene) -> None:
    scene.repo.add_commit({"src/new.py": "x = 1\n", "README.md": "# hello\n\nmore\n"}, branch="topic")
    made = scene.remote.create_pull(base="main", head="topic", title="Add it", body="", draft=True)
    assert [(one.filename, one.status) for one in made.get_files()] == [
        ("README.md", "modified"),
        ("src/new.py", "added"),
    ]
    assert next(iter(made.get_files())).patch == "@@ -1 +1,3 @@\n # hello\n+\n+more"
    with pytest.raises(GithubException, match="already exists for octo:topic"):
        scene.remote.create_pull(base="main", head="topic", title="Again")
    with pytest.raises(GithubException, match='"field": "head", "code": "invalid"'):
        scene.remote.create_pull(base="main", head="nowhere", title="Again")
    assert [one.number for one in scene.remote.get_pulls(head="octo:topic")] == [1]
    made.edit(state="closed")
    assert list(scene.remote.get_pulls()) == []


def test_a_review_with_comments_is_submitted_at_once(scene: Scene, pull: PullRequest) -> None:
    comments: list[ReviewComment] = [
        {"path": "src/app.py", "line": 3, "side": "RIGHT", "body": "why drei?"},
        {"path": "src/app.py", "start_line": 1, "line": 2, "side": "LEFT", "body": "a range"},
    ]
    review = pull.create_review(body="Looks odd", event="COMMENT", comments=comments)
    assert (review.state, review.commit_id) == ("COMMENTED", "a" * 40)
    shown = list(pull.get_review_comments())
    assert [(one.line, one.start_line, one.body) for one in shown] == [(3, None, "why drei?"), (2, 1, "a range")]
    assert shown[0].diff_hunk == "@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+drei"
    assert [one.id for one in pull.get_single_review_comments(review.id)] == [one.id for one in shown]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"line": 9}, "line must be part of the diff"),
        ({"line": 2, "side": "LEFT", "path": "other.py"}, "line must be part of the diff"),
        ({"line": 12, "start_line": 3}, "start line must be part of the same hunk as the line."),
        ({"line": 3, "start_line": 3}, "start line must precede the end line."),
    ],
)
def test_a_review_with_one_comment_off_the_diff_posts_nothing(
    scene: Scene, pull: PullRequest, place: Any, message: str
) -> None:
    good: Any = {"path": "src/app.py", "line": 3, "body": "fine"}
    bad: Any = {"path": "src/app.py", "body": "no", **place}
    with pytest.raises(GithubException) as caught:
        pull.create_review(body="b", event="COMMENT", comments=[good, bad])
    data: Any = caught.value.data
    assert (caught.value.status, data["message"]) == (422, "Unprocessable Entity")
    assert message in data["errors"][0]
    assert (scene.repo.reviews, scene.repo.review_comments) == ({}, {})


def test_a_single_comment_off_the_diff_is_refused(scene: Scene, pull: PullRequest) -> None:
    commit = scene.remote.get_commit("a" * 40)
    with pytest.raises(GithubException) as caught:
        pull.create_review_comment("text", commit, "src/app.py", line=9)
    data: Any = caught.value.data
    assert data["errors"][0]["field"] == "pull_request_review_thread.line"
    assert data["errors"][0]["message"] == "pull_request_review_thread.line must be part of the diff"
    made = pull.create_review_comment("on the file", commit, "src/app.py", subject_type="file")
    assert scene.repo.review_comments[made.id].line is None


def test_a_reply_joins_its_thread(scene: Scene, pull: PullRequest) -> None:
    commit = scene.remote.get_commit("a" * 40)
    first = pull.create_review_comment("why?", commit, "src/app.py", line=3, side="RIGHT")
    answer = pull.create_review_comment_reply(first.id, "because")
    assert (answer.in_reply_to_id, answer.line) == (first.id, 3)
    assert len(scene.repo.threads) == 1
    first.edit("why, really?")
    assert pull.get_review_comment(first.id).body == "why, really?"
    answer.delete()
    first.delete()
    assert scene.repo.threads == {}


def test_a_pending_review_is_submitted_later(scene: Scene, pull: PullRequest) -> None:
    review = pull.create_review(body="draft")
    assert (review.state, scene.repo.reviews[review.id].submitted_at) == ("PENDING", None)
    with pytest.raises(GithubException, match="one pending review"):
        pull.create_review(body="second")
    url = f"{pull.url}/reviews/{review.id}/events"
    scene.api.requester.requestJsonAndCheck("POST", url, input={"event": "REQUEST_CHANGES", "body": "No"})
    assert pull.get_review(review.id).state == "CHANGES_REQUESTED"
    pull.get_review(review.id).dismiss("sorry")
    assert [one.state for one in pull.get_reviews()] == ["DISMISSED"]


def test_nobody_approves_their_own_pull_request(scene: Scene) -> None:
    scene.repo.add_pull(user="github-actions[bot]")
    with pytest.raises(GithubException, match="Can not approve your own pull request"):
        scene.remote.get_pull(1).create_review(event="APPROVE")


def test_a_merge_needs_the_expected_head(scene: Scene, pull: PullRequest) -> None:
    with pytest.raises(GithubException, match="Head branch was modified"):
        pull.merge(sha="b" * 40)
    assert pull.merge(sha="a" * 40).merged is True
    assert (scene.remote.get_pull(1).merged, scene.repo.sha("main")) == (True, "a" * 40)
