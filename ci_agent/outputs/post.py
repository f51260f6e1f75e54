"""The only code that writes to GitHub."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ci_agent.errors import GitHubError, GitHubUnreachable
from ci_agent.outputs.comment import marker
from ci_agent.types.outputs import Posted

if TYPE_CHECKING:
    from ci_agent.github.client import GitHubClient, ThreadComment
    from ci_agent.types.tasks import Target

__all__ = ["post_comment"]

TRIES = 3
SECONDS_BETWEEN_TRIES = 1.0
LONGEST_WAIT_SECONDS = 60.0
# More look-alikes than this in one thread are somebody's game; ours is the oldest or it is posted anew.
MOST_MARKED = 100


def post_comment(client: GitHubClient, target: Target, body: str) -> Posted:
    """Post the answer once: a comment that an earlier run left for the same trigger is updated."""
    for attempt in range(1, TRIES + 1):
        try:
            return _post_once(client, target, body)
        except GitHubError as error:
            wait = _wait(error, attempt)
            if wait is None or attempt == TRIES:
                raise
        time.sleep(wait)
    raise AssertionError("the last try returns or raises")


def _wait(error: GitHubError, attempt: int) -> float | None:
    """Seconds until another try, or None where it is no use. A lost answer may hide a comment: each try looks first."""
    if error.retry_after is not None and error.status in (403, 429):
        return error.retry_after if error.retry_after <= LONGEST_WAIT_SECONDS else None
    passing = isinstance(error, GitHubUnreachable) or error.status >= 500
    return SECONDS_BETWEEN_TRIES * attempt if passing else None


def _post_once(client: GitHubClient, target: Target, body: str) -> Posted:
    earlier = _find(client, target)
    if earlier is None:
        return Posted(client.create_comment(target.issue_number, body).url, updated=False)
    return Posted(client.update_comment(target.issue_number, earlier.id, body).url, updated=True)


def _find(client: GitHubClient, target: Target) -> ThreadComment | None:
    """Our comment for this trigger. Anybody can write our marker, so only our own comments count."""
    mark = marker(target.trigger_id)
    marked = [comment for comment in client.newest_comments(target.issue_number) if comment.body.startswith(mark)]
    return client.first_own(marked[-MOST_MARKED:]) if marked else None
