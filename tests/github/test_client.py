"""The client's own behaviour, with `responses` in GitHub's place."""

from __future__ import annotations

import pytest
import requests
import responses

from ci_agent.errors import ConfigError, GitHubError, GitHubUnreachable
from ci_agent.github.client import GitHubClient

API = "https://api.github.example:443"
COMMENTS = f"{API}/repos/o/r/issues/1/comments"


@pytest.fixture
def client() -> GitHubClient:
    return GitHubClient(API, "t0ken-value", "o/r")


def raw(number: int, body: str = "hi") -> dict[str, object]:
    return {
        "id": number,
        "node_id": f"IC_{number}",
        "body": body,
        "user": {"login": "a[bot]", "type": "Bot"},
        "html_url": f"https://x/{number}",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    }


@responses.activate
def test_all_pages_of_a_thread_are_read(client: GitHubClient) -> None:
    responses.get(COMMENTS, json=[raw(1)], headers={"Link": f'<{COMMENTS}?page=2>; rel="next"'})
    responses.get(f"{COMMENTS}?page=2", json=[raw(2)])
    assert [comment.id for comment in client.comments(1)] == [1, 2]


@responses.activate
def test_post_is_not_retried_blindly(client: GitHubClient) -> None:
    responses.post(COMMENTS, status=502, json={"message": "Bad gateway"})
    with pytest.raises(GitHubError, match="HTTP 502, could not post a comment") as caught:
        client.create_comment(1, "x")
    assert caught.value.status == 502
    assert len(responses.calls) == 1


@responses.activate
def test_refused_token_is_the_operators_to_mend_and_is_not_shown(client: GitHubClient) -> None:
    responses.get(COMMENTS, status=401, json={"message": "Bad credentials"})
    with pytest.raises(ConfigError, match="does not accept GITHUB_TOKEN") as caught:
        list(client.comments(1))
    assert "t0ken-value" not in str(caught.value)


@responses.activate
def test_broken_connection_names_the_address_and_the_reason(client: GitHubClient) -> None:
    responses.post(COMMENTS, body=requests.ConnectionError("refused"))
    with pytest.raises(GitHubUnreachable, match=r"cannot be reached at https://api.github.example:443.*refused"):
        client.create_comment(1, "x")


@responses.activate
def test_author_is_asked_by_graphql_and_a_bot_has_to_do_where_there_is_none(client: GitHubClient) -> None:
    responses.get(COMMENTS, json=[raw(1)])
    comment = next(client.comments(1))
    graphql = f"{API}/graphql"
    responses.post(graphql, json={"data": {"node": {"viewerDidAuthor": False}}})
    assert not client.is_own(comment)
    responses.replace(responses.POST, graphql, json={"data": {"node": {"viewerDidAuthor": True}}})
    assert client.is_own(comment)
    responses.replace(responses.POST, graphql, status=404, json={"message": "Not Found"})
    assert client.is_own(comment)
