"""Threads, minimising and discussions of the fake GitHub, through PyGithub's GraphQL client."""

from collections.abc import Iterator
from typing import Any

import pytest
from github import GithubException, UnknownObjectException

from tests.fakes.github import PullFile
from tests.fakes.github.scene import Scene, connect, open_scene

PATCH = "@@ -0,0 +1,5 @@\n" + "\n".join(f"+line {number}" for number in range(1, 6))
THREADS = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 2, after: $after) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes { id isResolved path line comments(first: 10) { nodes { databaseId body author { __typename login } } } }
      }
    }
  }
}
"""


@pytest.fixture
def scene() -> Iterator[Scene]:
    with open_scene() as made:
        made.repo.add_pull(head_sha="a" * 40, files=[PullFile("new.py", PATCH, "added")])
        places: Any = [{"path": "new.py", "line": line, "body": f"on {line}"} for line in range(1, 6)]
        made.remote.get_pull(1).create_review(body="b", event="COMMENT", comments=places)
        yield made


def _page(scene: Scene, after: str | None = None) -> Any:
    variables = {"owner": "octo", "name": "hello", "number": 1, "after": after}
    _, data = scene.api.requester.graphql_query(THREADS, variables)
    return data["data"]["repository"]["pullRequest"]["reviewThreads"]


def test_threads_are_listed_page_by_page(scene: Scene) -> None:
    pages = [_page(scene)]
    for _ in range(2):
        pages.append(_page(scene, pages[-1]["pageInfo"]["endCursor"]))
    assert [[node["line"] for node in page["nodes"]] for page in pages] == [[1, 2], [3, 4], [5]]
    assert [page["pageInfo"]["hasNextPage"] for page in pages] == [True, True, False]
    page = pages[-1]
    assert page["totalCount"] == 5
    author = page["nodes"][0]["comments"]["nodes"][0]["author"]
    assert author == {"__typename": "Bot", "login": "github-actions"}


def test_a_thread_is_resolved_and_opened_again(scene: Scene) -> None:
    node = _page(scene)["nodes"][0]
    for name, resolved in (("resolveReviewThread", True), ("unresolveReviewThread", False)):
        _, data = scene.api.requester.graphql_named_mutation(
            name, {"threadId": node["id"]}, "thread { isResolved viewerCanResolve }"
        )
        assert data["thread"] == {"isResolved": resolved, "viewerCanResolve": not resolved}
        assert _page(scene)["nodes"][0]["isResolved"] is resolved
    assert [one.path for one in scene.gh.writes][-2:] == ["/graphql", "/graphql"]


def test_a_comment_is_minimised(scene: Scene) -> None:
    comment = scene.remote.get_issue(1).create_comment("noise")
    assert comment.minimize("OUTDATED") is True
    assert scene.repo.comments[comment.id].minimized_reason == "OUTDATED"
    assert comment.unminimize() is True
    assert scene.repo.comments[comment.id].minimized_reason is None


def test_a_mutation_needs_the_permission(scene: Scene) -> None:
    node = _page(scene)["nodes"][0]
    scene.gh.add_token("ghs_read", permissions={"pull_requests": "read"})
    before = len(scene.gh.writes)
    with connect(scene.gh, "ghs_read") as api, pytest.raises(GithubException) as caught:
        api.requester.graphql_named_mutation("resolveReviewThread", {"threadId": node["id"]}, "thread { id }")
    assert caught.value.data["errors"][0]["type"] == "FORBIDDEN"
    assert (len(scene.gh.writes), _page(scene)["nodes"][0]["isResolved"]) == (before, False)


def test_what_is_not_there_is_not_found(scene: Scene) -> None:
    with pytest.raises(UnknownObjectException):
        scene.api.requester.graphql_node("PRRT_nothing", "id", "PullRequestReviewThread")


def test_a_thread_off_the_diff_is_silently_not_made(scene: Scene) -> None:
    _, found = scene.api.requester.graphql_query(
        'query { repository(owner: "octo", name: "hello") { pullRequest(number: 1) { id } } }', {}
    )
    sent = {"pullRequestId": found["data"]["repository"]["pullRequest"]["id"], "path": "new.py", "body": "b"}
    for line, made in ((3, {"line": 3}), (99, None)):
        _, data = scene.api.requester.graphql_named_mutation(
            "addPullRequestReviewThread", {**sent, "line": line}, "thread { line }"
        )
        assert data["thread"] == made


def test_a_discussion_takes_a_comment(scene: Scene) -> None:
    talk = scene.repo.add_discussion("Ideas", "What next?")
    _, found = scene.api.requester.graphql_query(
        'query { repository(owner: "octo", name: "hello") { discussion(number: 2) { id title } } }', {}
    )
    node = found["data"]["repository"]["discussion"]
    scene.api.requester.graphql_named_mutation(
        "addDiscussionComment", {"discussionId": node["id"], "body": "This"}, "comment { id body }"
    )
    assert (node["title"], [one.body for one in talk.comments]) == ("Ideas", ["This"])
