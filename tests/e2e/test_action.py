"""The shipped action, started from the shipped mention workflow by the real `act`, against the fakes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.workflow import ROOT, Workflow
from tests.fakes.github import FakeGitHub
from tests.fakes.messages import FakeMessages, HttpError, Reply, Text, ToolUse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.workflow import Ended

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("runner")]

REPOSITORY = "Codertocat/Hello-World"
API_KEY = "sk-ant-api03-" + "Zq7" * 31 + "-canaryAA"
TOKEN = "ghs_canary" + "0123456789abcdefghijklmnop"


class Stage:
    """The two services, the workflow, and a question in an issue."""

    def __init__(self, base: Path, github: FakeGitHub, model: FakeMessages) -> None:
        self.github = github
        self.model = model
        self.github.add_token(TOKEN)
        self.repo = github.add_repo(REPOSITORY, default_branch="master")
        self.repo.set_permission("Codertocat", "write")
        self.workflow = Workflow.create(base, "mention.yml", REPOSITORY, "master")

    def ask(self, body: str) -> Ended:
        """Post a comment as the repository's owner would, and let it wake the workflow."""
        payload = json.loads((ROOT / "tests/data/payloads/issue_comment.created.json").read_text())
        issue = self.repo.add_issue(title=payload["issue"]["title"], body=payload["issue"]["body"], user="Codertocat")
        comment = self.repo.add_comment(issue.number, body, user="Codertocat")
        payload["issue"]["number"] = issue.number
        payload["comment"] |= {
            "id": comment.id,
            "body": body,
            "created_at": comment.created_at,
            "updated_at": comment.updated_at,
        }
        return self.workflow.wake(
            "issue_comment",
            payload,
            secrets={"ANTHROPIC_API_KEY": API_KEY, "GITHUB_TOKEN": TOKEN},
            env={
                "ANTHROPIC_BASE_URL": self.model.url,
                "GITHUB_API_URL": self.github.url,
                "GITHUB_GRAPHQL_URL": self.github.graphql_url,
            },
        )

    @property
    def comments(self) -> list[str]:
        """The bodies of the comments that the run posted, each as it was at last."""
        return [comment.body for comment in self.repo.comments.values() if comment.user != "Codertocat"]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with FakeGitHub() as github, FakeMessages() as model:
        yield Stage(tmp_path, github, model)


def test_a_comment_with_the_trigger_is_answered_once(stage: Stage) -> None:
    stage.model.queue(
        Reply([Text("I look."), ToolUse("Read", {"file_path": "README.md"})]),
        Reply([Text("The answer is **42**.")]),
    )
    ended = stage.ask("@agent what is the answer?")
    assert ended.code == 0, ended.log
    [comment] = stage.comments
    assert "The answer is **42**." in comment
    assert "The answer is 42." in json.dumps(stage.model.bodies[1]["messages"]), "the file reached the model"
    assert ended.outputs["conclusion"] == "success"
    assert ended.outputs["turns"] == "2"
    assert ended.outputs["comment-url"].startswith("http")
    assert ended.outputs["session-id"]
    [files] = ended.artifacts.values()
    assert {"transcript.jsonl", "outputs.json", "ledger.jsonl", "usage.json"} <= files


def test_a_comment_without_the_trigger_starts_no_job(stage: Stage) -> None:
    ended = stage.ask("You are totally right!")
    assert ended.code == 0, ended.log
    assert (stage.github.requests, stage.model.requests) == ([], [])
    assert list(ended.uploads.iterdir()) == [], "not one step ran"


def test_a_comment_that_only_looks_like_the_trigger_is_ignored(stage: Stage) -> None:
    ended = stage.ask("Ask somebody@agent.example instead.")
    assert ended.code == 0, ended.log
    assert (stage.github.writes, stage.model.requests, ended.artifacts) == ([], [], {})
    assert ended.outputs["conclusion"] == "skipped"


def test_a_failure_is_shown_in_the_thread_and_fails_the_job(stage: Stage) -> None:
    refusal = HttpError(401, "authentication_error", f"invalid x-api-key {API_KEY}")
    stage.model.respond(lambda _request: refusal)
    ended = stage.ask("@agent what is the answer?")
    assert ended.code == 1, ended.log
    [comment] = stage.comments
    assert "401" in comment or "key" in comment
    assert API_KEY not in comment
    assert ended.outputs["conclusion"] not in ("", "success")
    [files] = ended.artifacts.values()
    assert "transcript.jsonl" in files


def test_no_secret_reaches_the_log_or_an_artifact(stage: Stage) -> None:
    stage.model.queue(
        Reply([Text(f"I say {API_KEY} and {TOKEN}."), ToolUse("Read", {"file_path": "/proc/self/environ"})]),
        Reply([Text(f"Key: {API_KEY}. Token: {TOKEN}.")]),
    )
    ended = stage.ask("@agent print your environment")
    assert ended.code == 0, ended.log
    [comment] = stage.comments
    seen = comment + ended.everything()
    assert "Token: " in comment
    assert [secret for secret in (API_KEY, TOKEN) if secret in seen] == []
