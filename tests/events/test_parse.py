"""Payloads, also with the things that GitHub leaves out."""

import json
import os
from pathlib import Path

import pytest

from ci_agent.errors import EventError
from ci_agent.events.parse import LARGEST_PAYLOAD_BYTES, parse_event, read_payload
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


GARBAGE = [
    ("comment", "created_at", "yesterday"),
    ("comment", "created_at", "2019-13-45T15:20:21Z"),
    ("comment", "html_url", "https://github.com/\ud800"),
    ("comment", "html_url", "javascript:alert(1)"),
    ("comment", "html_url", "https://github.com/a\n::error::b"),
    ("comment", "id", -1),
    ("issue", "number", 0),
    ("sender", "login", "\ud800"),
    ("sender", "login", "../../user"),
    ("sender", "login", "alice\n"),
    ("sender", "login", "alice[bot]x"),
    ("sender", "login", ""),
    ("repository", "default_branch", "ma\0in"),
    ("repository", "default_branch", "--upload-pack=x"),
    ("repository", "default_branch", "a..b"),
    ("repository", "full_name", "octo"),
    ("repository", "full_name", "octo/.."),
    ("repository", "full_name", "octo/hello/x"),
    ("repository", "full_name", "octo/\ud800"),
]


@pytest.mark.parametrize(("section", "field", "value"), GARBAGE)
def test_garbage_is_one_line_that_names_the_field(section: str, field: str, value: object) -> None:
    payload = json.loads(PAYLOAD.read_text())
    payload[section][field] = value
    with pytest.raises(EventError, match=rf"wrong at {section}\.{field}: ") as caught:
        parse_event("issue_comment", payload)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("login", ["a", "Codertocat", "dependabot[bot]", "octo-cat", "octocat_corp", "Copilot"])
def test_logins_of_github_are_taken(login: str) -> None:
    payload = json.loads(PAYLOAD.read_text())
    payload["sender"]["login"] = login
    event = parse_event("issue_comment", payload)
    assert isinstance(event, IssueCommentEvent)
    assert event.actor.login == login


def test_lone_surrogates_in_texts_are_replaced() -> None:
    payload = json.loads(PAYLOAD.read_text())
    payload["comment"]["body"] = payload["issue"]["title"] = "a\ud800b"
    event = parse_event("issue_comment", payload)
    assert isinstance(event, IssueCommentEvent)
    assert (event.comment_body, event.issue_title) == ("a\ufffdb", "a\ufffdb")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": "\xff"}', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"a":' * 100_000, "is not JSON"),
        (b"1" * 10_000, "is not JSON"),
        (b"\xef\xbb\xbf", "is not JSON"),
        (b" " * (LARGEST_PAYLOAD_BYTES + 1), "is larger than"),
    ],
    ids=range(6),
)
def test_file_that_is_no_payload_is_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "event.json"
    path.write_bytes(data)
    with pytest.raises(EventError, match=message) as caught:
        read_payload(path)
    assert str(caught.value).isprintable()


def test_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_payload(path) == {"a": 1}


def test_pipe_and_device_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(EventError, match="is not a regular file"):
            read_payload(path)
