"""Reads an event's name and payload into an `Event`."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, PositiveInt, ValidationError

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


# Lone halves of surrogate pairs: JSON can spell them, nothing can write them.
SURROGATES = re.compile("[\ud800-\udfff]")


def _shaped(pattern: str, what: str) -> AfterValidator:
    """Refuses text that is not of the pattern, without repeating it: it may hold anything."""
    expression: Callable[[str], object] = re.compile(pattern, re.ASCII | re.DOTALL).fullmatch

    def check(value: str) -> str:
        if not expression(value):
            raise ValueError(f"it is not {what}")
        return value

    return AfterValidator(check)


def _check_time(value: str) -> str:
    datetime.fromisoformat(value)
    return value


Login = Annotated[str, _shaped(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?", "a GitHub login")]
FullName = Annotated[
    str, _shaped(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}", "of the form owner/name")
]
Branch = Annotated[
    str,
    _shaped(
        r"(?![-/.])(?!.*(?:\.\.|//|@\{))[^\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]{1,255}(?<![/.])", "a git branch's name"
    ),
]
Url = Annotated[str, _shaped(r"https?://[!-~]{1,2000}", "an http(s) address")]
Word = Annotated[str, _shaped(r"[a-z_]{1,50}", "an action's name")]
Timestamp = Annotated[
    str,
    _shaped(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", "an ISO 8601 date and time"),
    AfterValidator(_check_time),
]
Prose = Annotated[str, AfterValidator(lambda value: SURROGATES.sub("\ufffd", value))]


class _User(BaseModel):
    login: Login
    type: str = "User"


class _Repository(BaseModel):
    full_name: FullName
    default_branch: Branch
    private: bool = False


class _Comment(BaseModel):
    id: PositiveInt
    body: Prose | None = ""
    user: _User | None = None
    html_url: Url
    created_at: Timestamp


class _Issue(BaseModel):
    number: PositiveInt
    title: Prose
    body: Prose | None = ""
    user: _User | None = None
    pull_request: dict[object, object] | None = None


class _IssueCommentPayload(BaseModel):
    action: Word
    issue: _Issue
    comment: _Comment
    repository: _Repository
    sender: _User


def read_payload(path: Path | None) -> dict[str, object]:
    """The JSON object in the event file, or one line that says what is wrong with it."""
    if path is None:
        raise EventError("GITHUB_EVENT_PATH is not set", hint="GitHub Actions sets it; set it to an event's JSON file")
    try:
        mode = path.stat().st_mode
        # A pipe would be waited for without end; a folder gives the system's own reason below.
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise EventError(
                f"event file {path} is not a regular file", hint="set GITHUB_EVENT_PATH to an event's JSON file"
            )
        with path.open("rb") as file:
            data = file.read(LARGEST_PAYLOAD_BYTES + 1)
    except OSError as error:
        raise EventError(
            f"event file {path} cannot be read: {error.strerror}",
            hint="set GITHUB_EVENT_PATH to an event's JSON file",
        ) from None
    if len(data) > LARGEST_PAYLOAD_BYTES:
        raise EventError(f"event file {path} is larger than {LARGEST_PAYLOAD_BYTES} bytes")
    return _read_object(path, data)


def _read_object(path: Path, data: bytes) -> dict[str, object]:
    if not data.strip():
        raise EventError(f"event file {path} is empty", hint="it must hold the event's JSON payload")
    try:
        payload = json.loads(data.decode("utf-8-sig"))
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
        issue_number=issue.number,
        issue_title=issue.title,
        issue_body=issue.body or "",
        issue_author=issue.user.login if issue.user else "ghost",
        is_pull_request=issue.pull_request is not None,
    )


def _actor(user: _User | None) -> Actor:
    """A deleted account is GitHub's `ghost`, who has no rights anywhere."""
    if user is None:
        return Actor("ghost", is_bot=False)
    return Actor(user.login, is_bot=user.type != "User" or user.login.endswith("[bot]"))
