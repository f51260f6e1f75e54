"""Payloads, also with the things that GitHub leaves out."""

import json

from ci_agent.events.parse import parse_event
from ci_agent.types.events import Actor, IssueCommentEvent, OtherEvent
from tests.job import PAYLOAD


def test_real_payload_is_read_whole() -> None:
    payload = json.loads(PAYLOAD.read_text())
    event = parse_event("issue_comment", payload)
    assert isinstance(event, IssueCommentEvent)
    assert event.repository == payload["repository"]["full_name"]
    assert event.comment_body == payload["comment"]["body"]
    assert event.actor == Actor(payload["sender"]["login"], is_bot=False)
    assert event.is_public


def test_deleted_account_is_a_ghost_and_missing_texts_are_empty() -> None:
    payload = json.loads(PAYLOAD.read_text())
    payload["comment"] |= {"user": None, "body": None}
    payload["issue"] |= {"user": None, "body": None}
    event = parse_event("issue_comment", payload)
    assert isinstance(event, IssueCommentEvent)
    assert (event.comment_author.login, event.issue_author) == ("ghost", "ghost")
    assert (event.comment_body, event.issue_body) == ("", "")


def test_event_that_github_knows_is_not_an_error() -> None:
    assert parse_event("workflow_run", {}) == OtherEvent("workflow_run")


def test_repository_of_the_job_wins_over_an_old_name() -> None:
    event = parse_event("issue_comment", json.loads(PAYLOAD.read_text()), "octo/renamed")
    assert isinstance(event, IssueCommentEvent)
    assert event.repository == "octo/renamed"
