"""What happened in the repository."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Actor", "Event", "Ignore", "IssueCommentEvent", "OtherEvent"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it, as the payload says; what they may do is asked from GitHub."""

    login: str
    is_bot: bool


@dataclass(frozen=True, slots=True)
class IssueCommentEvent:
    """A comment on an issue or a pull request."""

    repository: str
    is_public: bool
    default_branch: str
    action: str
    actor: Actor
    comment_author: Actor
    comment_id: int
    comment_body: str
    comment_url: str
    comment_created_at: str
    issue_number: int
    issue_title: str
    issue_body: str
    issue_author: str
    is_pull_request: bool


@dataclass(frozen=True, slots=True)
class OtherEvent:
    """An event that GitHub knows and this version does not act on."""

    name: str


Event = IssueCommentEvent | OtherEvent


@dataclass(frozen=True, slots=True)
class Ignore:
    """Nothing to do, and why."""

    reason: str
