"""Decides what an event asks for, before anybody is asked who sent it."""

from __future__ import annotations

from typing import assert_never

from ci_agent.events.mention import find_request
from ci_agent.types.events import Event, Ignore, IssueCommentEvent, OtherEvent
from ci_agent.types.outputs import MARKER_PREFIX
from ci_agent.types.tasks import Target, Task, TaskKind

__all__ = ["route"]


def route(event: Event, trigger: str) -> Task | Ignore:
    """A task, or the reason why there is none."""
    match event:
        case IssueCommentEvent():
            return _comment(event, trigger)
        case OtherEvent(name):
            return Ignore(f"{name} events start nothing in this version")
        case _:
            assert_never(event)


def _comment(event: IssueCommentEvent, trigger: str) -> Task | Ignore:
    if event.action != "created":
        return Ignore(f"the comment was {event.action}, only new comments are answered")
    if event.comment_body.startswith(MARKER_PREFIX):
        return Ignore("the comment is the agent's own")
    request = find_request(event.comment_body, trigger)
    if request is None:
        return Ignore(f"the comment does not mention {trigger}")
    if event.actor.login != event.comment_author.login:
        return Ignore(f"the comment is by {event.comment_author.login}, the event by {event.actor.login}")
    return Task(
        kind=TaskKind.MENTION,
        actor=event.actor,
        request=request,
        target=Target(
            repository=event.repository,
            is_public=event.is_public,
            issue_number=event.issue_number,
            trigger_id=f"comment-{event.comment_id}",
            trigger_url=event.comment_url,
            triggered_at=event.comment_created_at,
        ),
        title=event.issue_title,
        body=event.issue_body,
        author=event.issue_author,
        is_pull_request=event.is_pull_request,
    )
