"""GitHub through PyGithub: the reads a run needs and the writes that `outputs/post.py` makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import github
import requests
from github.GithubException import (
    BadAttributeException,
    BadCredentialsException,
    GithubException,
    RateLimitExceededException,
)

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
WROTE = "query($ids: [ID!]!) { nodes(ids: $ids) { id ... on IssueComment { viewerDidAuthor } } }"


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

    def first_own(self, comments: Sequence[ThreadComment]) -> ThreadComment | None:
        """The first comment that this token wrote. GraphQL says so for every kind of token, logins do not."""
        try:
            with self._told("ask who wrote a comment"):
                ids = [comment.node_id for comment in comments]
                _, answer = self._api.requester.graphql_query(WROTE, {"ids": ids})
                wrote = {node["id"] for node in answer["data"]["nodes"] if node and node.get("viewerDidAuthor")}
        except GitHubError as error:
            # Behind some proxies there is only REST; then a bot's comment with our marker has to do.
            if error.status not in (403, 404, 405):
                raise
            wrote = {comment.node_id for comment in comments if comment.by_bot}
        return next((comment for comment in comments if comment.node_id in wrote), None)

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
        except BadAttributeException as error:
            raise self._garbled(doing, str(error)) from None
        except GithubException as error:
            raise _refused(doing, error) from None
        except requests.exceptions.RetryError as error:
            raise GitHubError(f"GitHub keeps failing, could not {doing}: {_cause(error)}", status=500) from None
        except requests.exceptions.JSONDecodeError as error:
            raise self._garbled(doing, str(error)) from None
        except requests.RequestException as error:
            raise GitHubUnreachable(
                f"GitHub cannot be reached at {self._api_url}, could not {doing}: {_cause(error)}",
                hint="check GITHUB_API_URL and the network",
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError, AssertionError) as error:
            # The client library trusts answers to have GitHub's shape; a proxy's page does not.
            raise self._garbled(doing, f"{type(error).__name__} {error}") from None

    def _garbled(self, doing: str, detail: str) -> GitHubError:
        text = f"{self._api_url} gives an answer that is not GitHub's, could not {doing}: {detail}"
        return GitHubUnreachable(text, hint="check GITHUB_API_URL and the proxies on the way")


def _refused(doing: str, error: GithubException) -> GitHubError:
    """A status that GitHub itself gave."""
    wait = str((error.headers or {}).get("retry-after", ""))
    limited = isinstance(error, RateLimitExceededException)
    said = "GitHub's rate limit is reached" if limited else f"GitHub answers HTTP {error.status}"
    return GitHubError(
        f"{said}, could not {doing}: {error.message}",
        status=error.status,
        retry_after=float(wait) if wait.isdigit() else None,
    )


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
    if not isinstance(comment.id, int) or not comment.html_url:
        raise ValueError("a comment without id and address")
    return ThreadComment(
        id=comment.id,
        node_id=comment.node_id or "",
        author=comment.user.login if comment.user else "ghost",
        by_bot=comment.user is not None and comment.user.type == "Bot",
        body=comment.body or "",
        created_at=comment.created_at.isoformat(),
        updated_at=comment.updated_at.isoformat(),
        url=comment.html_url,
    )
