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
def test_all_pages_of_a_thread_are_read_newest_first(client: GitHubClient) -> None:
    second = f"{COMMENTS}?page=2"
    page_2 = [responses.matchers.query_param_matcher({"page": "2"}, strict_match=False)]
    links = {"Link": f'<{COMMENTS}>; rel="prev", <{COMMENTS}>; rel="first"'}
    responses.get(COMMENTS, json=[raw(2), raw(3)], headers=links, match=page_2)
    page_1 = [responses.matchers.query_param_matcher({"per_page": "100"})]
    links = {"Link": f'<{second}>; rel="next", <{second}>; rel="last"'}
    responses.get(COMMENTS, json=[raw(1)], headers=links, match=page_1)
    responses.get(COMMENTS, json=[raw(1)])
    assert [comment.id for comment in client.newest_comments(1)] == [3, 2, 1]


@responses.activate
def test_flooded_thread_is_read_up_to_a_limit(client: GitHubClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ci_agent.github.client.MOST_COMMENTS", 2)
    responses.get(COMMENTS, json=[raw(1), raw(2), raw(3)])
    assert [comment.id for comment in client.newest_comments(1)] == [3, 2]


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
        list(client.newest_comments(1))
    assert "t0ken-value" not in str(caught.value)


@responses.activate
def test_broken_connection_names_the_address_and_the_reason(client: GitHubClient) -> None:
    responses.post(COMMENTS, body=requests.ConnectionError("refused"))
    with pytest.raises(GitHubUnreachable, match=r"cannot be reached at https://api.github.example:443.*refused"):
        client.create_comment(1, "x")


@responses.activate
def test_author_is_asked_by_graphql_and_a_bot_has_to_do_where_there_is_none(client: GitHubClient) -> None:
    responses.get(COMMENTS, json=[raw(1)])
    comments = list(client.newest_comments(1))
    graphql = f"{API}/graphql"
    responses.post(graphql, json={"data": {"nodes": [{"id": "IC_1", "viewerDidAuthor": False}]}})
    assert client.first_own(comments) is None
    responses.replace(responses.POST, graphql, json={"data": {"nodes": [{"id": "IC_1", "viewerDidAuthor": True}]}})
    assert client.first_own(comments) == comments[0]
    responses.replace(responses.POST, graphql, status=404, json={"message": "Not Found"})
    assert client.first_own(comments) == comments[0]
