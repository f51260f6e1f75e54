"""GitHub through PyGithub: the reads a run needs and the writes that `outputs/post.py` makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

import github
import requests
from github.GithubException import BadCredentialsException, GithubException, RateLimitExceededException

from ci_agent import __version__
from ci_agent.errors import ConfigError, GitHubError, GitHubUnreachable

if TYPE_CHECKING:
    from github.IssueComment import IssueComment

__all__ = ["GitHubClient", "ThreadComment"]

TIMEOUT_SECONDS = 20
RETRIES = 3
# Waiting longer would burn runner minutes; the run says instead that GitHub's limit is reached.
LONGEST_RATE_LIMIT_WAIT_SECONDS = 90.0
# Somebody who floods a thread must not make every run spend the token's hourly requests.
MOST_COMMENTS = 1_000
WROTE = "query($id: ID!) { node(id: $id) { ... on IssueComment { viewerDidAuthor } } }"


@dataclass(frozen=True, slots=True)
class ThreadComment:
    """A comment in an issue's or a pull request's thread."""

    id: int
    node_id: str
    author: str
    by_bot: bool
    body: str
    created_at: str
    updated_at: str
    url: str


class GitHubClient:
    """One repository, one token."""

    def __init__(self, api_url: str, token: str, repository: str) -> None:
        # Only reads and idempotent writes are retried blindly: a POST whose answer was lost may have happened.
        retry = github.GithubRetry(
            total=RETRIES,
            backoff_factor=0.3,
            allowed_methods=frozenset({"GET", "HEAD", "PATCH", "PUT"}),
            max_rate_limit_wait=LONGEST_RATE_LIMIT_WAIT_SECONDS,
        )
        self._api = github.Github(
            base_url=api_url,
            auth=github.Auth.Token(token),
            timeout=TIMEOUT_SECONDS,
            user_agent=f"ci-agent/{__version__}",
            retry=retry,
            per_page=100,
            seconds_between_requests=None,
            seconds_between_writes=None,
            lazy=True,
        )
        self._api_url = api_url
        self._repository = repository
        self._repo = self._api.get_repo(repository)

    def close(self) -> None:
        """Give the connections back."""
        self._api.close()

    def newest_comments(self, issue_number: int) -> Iterator[ThreadComment]:
        """The thread's comments, newest first, page by page, up to a limit that no conversation reaches."""
        with self._told("read the comments"):
            for comment in islice(self._repo.get_issue(issue_number).get_comments().reversed, MOST_COMMENTS):
                yield _thread_comment(comment)

    def is_own(self, comment: ThreadComment) -> bool:
        """Whether this token wrote a comment. GraphQL says so for every kind of token, logins do not."""
        try:
            with self._told("ask who wrote a comment"):
                _, answer = self._api.requester.graphql_query(WROTE, {"id": comment.node_id})
        except GitHubError as error:
            # Behind some proxies there is only REST; then a bot's comment with our marker has to do.
            if error.status in (403, 404, 405):
                return comment.by_bot
            raise
        return bool((answer["data"].get("node") or {}).get("viewerDidAuthor"))

    def create_comment(self, issue_number: int, body: str) -> ThreadComment:
        """Post a comment. Never retried here: see `outputs/post.py`."""
        with self._told("post a comment"):
            return _thread_comment(self._repo.get_issue(issue_number).create_comment(body))

    def update_comment(self, issue_number: int, comment_id: int, body: str) -> ThreadComment:
        """Replace a comment's text."""
        with self._told("update its comment"):
            comment = self._repo.get_issue(issue_number).get_comment(comment_id)
            comment.edit(body)
            return _thread_comment(comment)

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """Turn the libraries' exceptions into ours, with what was tried."""
        try:
            yield
        except BadCredentialsException as error:
            raise ConfigError(
                f"GitHub does not accept GITHUB_TOKEN: {error.message}", hint="pass a valid github-token"
            ) from None
        except RateLimitExceededException as error:
            raise GitHubError(
                f"GitHub's rate limit is reached, could not {doing}: {error.message}", status=error.status
            ) from None
        except GithubException as error:
            raise GitHubError(
                f"GitHub answers HTTP {error.status}, could not {doing}: {error.message}", status=error.status
            ) from None
        except requests.RequestException as error:
            raise GitHubUnreachable(
                f"GitHub cannot be reached at {self._api_url}, could not {doing}: {_cause(error)}",
                hint="check GITHUB_API_URL and the network",
            ) from None


def _cause(error: BaseException) -> str:
    """The innermost reason, without addresses of objects and without the request."""
    current: BaseException | None = error
    while current is not None:
        error, current = current, _deeper(current)
    return type(error).__name__ if not str(error) else str(error).rsplit(">: ", 1)[-1]


def _deeper(error: BaseException) -> BaseException | None:
    reason = getattr(error, "reason", None)
    if isinstance(reason, BaseException):
        return reason
    first = error.args[0] if error.args else None
    return first if isinstance(first, BaseException) else None


def _thread_comment(comment: IssueComment) -> ThreadComment:
    text: Callable[[datetime | None], str] = lambda moment: moment.isoformat() if moment else ""  # noqa: E731
    return ThreadComment(
        id=comment.id,
        node_id=comment.node_id or "",
        author=comment.user.login if comment.user else "ghost",
        by_bot=comment.user is not None and comment.user.type == "Bot",
        body=comment.body or "",
        created_at=text(comment.created_at),
        updated_at=text(comment.updated_at),
        url=comment.html_url,
    )
