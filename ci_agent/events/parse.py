"""Reads an event's name and payload into an `Event`."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ValidationError

from ci_agent.errors import EventError
from ci_agent.types.events import Actor, Event, IssueCommentEvent, OtherEvent

__all__ = ["KNOWN_EVENTS", "parse_event", "read_payload"]

LARGEST_PAYLOAD_BYTES = 25 * 1024 * 1024

# Every event that can start a workflow, so that a typing error is told apart from an event we leave alone.
KNOWN_EVENTS = frozenset({
    "branch_protection_rule", "check_run", "check_suite", "create", "delete", "deployment", "deployment_status",
    "discussion", "discussion_comment", "fork", "gollum", "image_version", "issue_comment", "issues", "label",
    "merge_group", "milestone", "page_build", "public", "pull_request", "pull_request_comment",
    "pull_request_review", "pull_request_review_comment", "pull_request_target", "push", "registry_package",
    "release", "repository_dispatch", "schedule", "status", "watch", "workflow_call", "workflow_dispatch",
    "workflow_run",
})  # fmt: skip


class _User(BaseModel):
    login: str
    type: str = "User"


class _Repository(BaseModel):
    full_name: str
    default_branch: str
    private: bool = False


class _Comment(BaseModel):
    id: int
    body: str | None = ""
    user: _User | None = None
    html_url: str
    created_at: str
    updated_at: str


class _Issue(BaseModel):
    number: int
    title: str
    body: str | None = ""
    user: _User | None = None
    locked: bool = False
    pull_request: dict[str, object] | None = None


class _IssueCommentPayload(BaseModel):
    action: str
    issue: _Issue
    comment: _Comment
    repository: _Repository
    sender: _User


def read_payload(path: Path | None) -> dict[str, object]:
    """The JSON object in the event file, or one line that says what is wrong with it."""
    if path is None:
        raise EventError("GITHUB_EVENT_PATH is not set", hint="GitHub Actions sets it; set it to an event's JSON file")
    try:
        if path.stat().st_size > LARGEST_PAYLOAD_BYTES:
            raise EventError(f"event file {path} is larger than {LARGEST_PAYLOAD_BYTES} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise EventError(
            f"event file {path} cannot be read: {error.strerror}",
            hint="set GITHUB_EVENT_PATH to an event's JSON file",
        ) from None
    if not data.strip():
        raise EventError(f"event file {path} is empty", hint="it must hold the event's JSON payload")
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise EventError(
            f"event file {path} is not JSON: {error}", hint="it must hold the event's JSON payload"
        ) from None
    if not isinstance(payload, dict):
        raise EventError(
            f"event file {path} holds a JSON {type(payload).__name__}, not an object",
            hint="it must hold the event's payload",
        )
    return payload


def parse_event(name: str, payload: dict[str, object], repository: str = "") -> Event:
    """The event, or one line that says which field is missing or wrong.

    `repository` is the one the job belongs to; it wins over the payload's, which an old name may stand in.
    """
    if not name:
        raise EventError("GITHUB_EVENT_NAME is not set", hint="GitHub Actions sets it, for example to issue_comment")
    if name not in KNOWN_EVENTS:
        raise EventError(
            f"unknown event {name!r} in GITHUB_EVENT_NAME",
            hint="it must be a GitHub event, for example issue_comment",
        )
    if name != "issue_comment":
        return OtherEvent(name)
    try:
        return _issue_comment(_IssueCommentPayload.model_validate(payload), repository)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise EventError(
            f"the {name} payload is wrong at {field}: {first['msg']}", hint="check GITHUB_EVENT_PATH"
        ) from None


def _issue_comment(payload: _IssueCommentPayload, repository: str) -> IssueCommentEvent:
    comment, issue = payload.comment, payload.issue
    return IssueCommentEvent(
        repository=repository or payload.repository.full_name,
        is_public=not payload.repository.private,
        default_branch=payload.repository.default_branch,
        action=payload.action,
        actor=_actor(payload.sender),
        comment_author=_actor(comment.user),
        comment_id=comment.id,
        comment_body=comment.body or "",
        comment_url=comment.html_url,
        comment_created_at=comment.created_at,
        comment_updated_at=comment.updated_at,
        issue_number=issue.number,
        issue_title=issue.title,
        issue_body=issue.body or "",
        issue_author=issue.user.login if issue.user else "ghost",
        issue_locked=issue.locked,
        is_pull_request=issue.pull_request is not None,
    )


def _actor(user: _User | None) -> Actor:
    """A deleted account is GitHub's `ghost`, who has no rights anywhere."""
    if user is None:
        return Actor("ghost", is_bot=False)
    return Actor(user.login, is_bot=user.type != "User" or user.login.endswith("[bot]"))
