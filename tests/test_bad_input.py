"""Bad input gives one clear line that names the thing and the fix, exit 2, and nothing is posted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.github import FakeGitHub
from tests.fakes.messages import FakeMessages, HttpError, Reply, Text
from tests.job import Job, mention

BROKEN_POLICY = "version: 1\nbudget:\n  usd: 1\ntriger: '@bot'\n"


def env(**values: str | None) -> Callable[[Job], None]:
    return lambda job: job.env.update(values)


def event_file(text: str | None) -> Callable[[Job], None]:
    def change(job: Job) -> None:
        path = Path(job.folder / "other.json")
        if text is not None:
            path.write_text(text)
        job.env["GITHUB_EVENT_PATH"] = str(path)

    return change


def payload(change: Callable[[dict[str, Any]], object]) -> Callable[[Job], None]:
    def apply(job: Job) -> None:
        change(job.payload)

    return apply


def policy(text: str) -> Callable[[Job], None]:
    return lambda job: env(GITHUB_SHA=job.commit({".github/ci-agent.yml": text}))(job)


def linked_policy(job: Job) -> None:
    (job.workspace / ".github").mkdir()
    (job.workspace / ".github" / "ci-agent.yml").symlink_to("../x.yml")
    job.env["GITHUB_SHA"] = job.commit({"x.yml": "version: 1"})


TABLE: dict[str, tuple[Callable[[Job], None], list[str]]] = {
    "event file missing": (event_file(None), ["other.json", "No such file", "GITHUB_EVENT_PATH"]),
    "event file empty": (event_file(" \n"), ["other.json is empty", "JSON payload"]),
    "event file not JSON": (event_file("{'a': 1}"), ["other.json is not JSON", "line 1"]),
    "event file a list": (event_file("[]"), ["holds a JSON list, not an object"]),
    "event file is a folder": (lambda job: env(GITHUB_EVENT_PATH=str(job.folder))(job), ["Is a directory"]),
    "event of the wrong shape": (payload(lambda p: p["comment"].pop("id")), ["issue_comment payload", "comment.id"]),
    "event path unset": (env(GITHUB_EVENT_PATH=None), ["GITHUB_EVENT_PATH is not set"]),
    "event name unset": (env(GITHUB_EVENT_NAME=None), ["GITHUB_EVENT_NAME is not set"]),
    "unknown event": (env(GITHUB_EVENT_NAME="isue_comment"), ["unknown event 'isue_comment'"]),
    "missing token": (env(GITHUB_TOKEN=None), ["GITHUB_TOKEN is not set", "github-token"]),
    "empty token": (env(GITHUB_TOKEN=""), ["GITHUB_TOKEN is not set"]),
    "rejected token": (env(GITHUB_TOKEN="ghs_wrong"), ["GITHUB_TOKEN", "Bad credentials"]),
    "missing model key": (env(ANTHROPIC_API_KEY=None), ["ANTHROPIC_API_KEY is not set", "federation-rule-id"]),
    "GitHub address no address": (env(GITHUB_API_URL="github"), ["GITHUB_API_URL", "not an http(s) address"]),
    "GitHub address unreachable": (env(GITHUB_API_URL="http://127.0.0.1:1"), ["http://127.0.0.1:1", "GITHUB_API_URL"]),
    "model address no address": (env(ANTHROPIC_BASE_URL="ftp://x"), ["ANTHROPIC_BASE_URL", "not an http(s) address"]),
    "model address unreachable": (env(ANTHROPIC_BASE_URL="http://127.0.0.1:1"), ["ANTHROPIC_BASE_URL http://127.0.0.1:1"]),
    "no number": (env(CI_AGENT_MAX_TURNS="many"), ["CI_AGENT_MAX_TURNS", "valid integer"]),
    "no patience": (env(CI_AGENT_IDLE_SECONDS="0"), ["CI_AGENT_IDLE_SECONDS", "greater than 0"]),
    "endless patience": (env(CI_AGENT_IDLE_SECONDS="3601"), ["CI_AGENT_IDLE_SECONDS", "less than or equal to 3600"]),
    "unknown provider": (env(CI_AGENT_MODEL_PROVIDER="openai"), ["CI_AGENT_MODEL_PROVIDER", "'bedrock'", "'foundry'"]),
    "provider without its key": (env(CI_AGENT_MODEL_PROVIDER="foundry"), ["ANTHROPIC_FOUNDRY_API_KEY is not set"]),
    "unknown mode": (env(CI_AGENT_MODE="yolo"), ["CI_AGENT_MODE", "'publish', 'propose' or 'stage'"]),
    "unknown key in the policy": (
        policy(BROKEN_POLICY),
        ['.github/ci-agent.yml:4: unknown key "triger", did you mean "trigger"?'],
    ),
    "policy is a link": (linked_policy, [".github/ci-agent.yml at ", "is a link or a folder"]),
    "policy is a folder": (
        lambda job: env(GITHUB_SHA=job.commit({".github/ci-agent.yml/x": "version: 1"}))(job),
        [".github/ci-agent.yml at ", "is a link or a folder"],
    ),
    "policy with the other ending": (
        lambda job: env(GITHUB_SHA=job.commit({".github/ci-agent.yaml": "version: 1"}))(job),
        [".github/ci-agent.yaml is not read", "rename it to .github/ci-agent.yml"],
    ),
    "policy that is not there": (env(CI_AGENT_POLICY=".github/ci-agnet.yml"), [".github/ci-agnet.yml is not in "]),
    "token with a line break inside": (env(GITHUB_TOKEN="ghs_a\nb"), ["GITHUB_TOKEN", "paste the secret again"]),
    "token outside ASCII": (env(ANTHROPIC_API_KEY="k\u00e9y"), ["ANTHROPIC_API_KEY", "paste the secret again"]),
    "port out of range": (env(ANTHROPIC_BASE_URL="http://x:99999999"), ["ANTHROPIC_BASE_URL", "Port out of range"]),
    "workspace missing": (env(GITHUB_WORKSPACE="/nonexistent/x"), ["GITHUB_WORKSPACE /nonexistent/x does not exist"]),
    "policy path leaves the repository": (env(CI_AGENT_POLICY="../x.yml"), ["'../x.yml' leaves the repository"]),
    "scripted without a script": (env(CI_AGENT_MODEL_PROVIDER="scripted"), ["CI_AGENT_SCRIPT is not set"]),
    "keyless without permission": (
        env(ANTHROPIC_API_KEY=None, CI_AGENT_FEDERATION_RULE_ID="f", CI_AGENT_ORGANIZATION_ID="o"),
        ["no identity token", "id-token: write"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_bad_input_gives_one_line_and_exit_2(job: Job, github: FakeGitHub, name: str) -> None:
    change, expected = TABLE[name]
    change(job)
    done = job.run()
    assert done.code == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("ci_agent: error: ")]
    assert len(errors) == 1
    for part in expected:
        assert part in errors[0]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert github.writes == []


def test_in_actions_the_line_is_an_annotation(job: Job) -> None:
    job.env |= {"GITHUB_ACTIONS": "true", "GITHUB_TOKEN": None}
    assert job.run().stderr.splitlines() == [
        "::error title=ci_agent::GITHUB_TOKEN is not set (pass the github-token input)"
    ]


def test_address_that_answers_html_is_a_wrong_address(job: Job, github: FakeGitHub) -> None:
    github.fault(
        path=".*", status=404, body="<html>nothing here</html>", headers={"Content-Type": "text/html"}, times=9
    )
    done = job.run()
    assert done.code == 2
    assert "does not answer like GitHub's API" in done.stderr


def test_passing_server_error_is_waited_out(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    github.fault(method="GET", path=".*/permission", status=502, times=1)
    api.queue(Reply([Text("Here.")]))
    done = job.run()
    assert done.code == 0, done.stderr
    assert len(github.writes) == 1


def test_passing_error_of_the_model_is_waited_out(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    api.queue(HttpError(529, "overloaded_error"), Reply([Text("Here.")]))
    done = job.run()
    assert done.code == 0, done.stderr
    assert len(github.writes) == 1


def test_policy_of_a_pull_requests_branch_is_not_read(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    # The checkout stands on the pull request's branch, whose policy would let everybody in.
    job.commit({".github/ci-agent.yml": "version: 1\ntasks: {mention: {outsider: answer}}\n"}, branch="pr")
    job.payload = mention("@agent hi", author="mallory")
    assert "mallory may not start this" in job.run().stdout
    assert github.writes == []


def test_fork_named_like_the_default_branch_is_not_trusted(job: Job, github: FakeGitHub) -> None:
    job.commit({".github/ci-agent.yml": "version: 1\ntasks: {mention: {outsider: answer}}\n"}, branch="other")
    job.git("branch", "--force", "main")
    job.git("update-ref", "refs/remotes/origin/main", "HEAD")
    job.git("remote", "add", "origin", "https://github.com/mallory/hello")
    job.env["GITHUB_SHA"] = None
    job.payload = mention("@agent hi", author="mallory")
    assert "mallory may not start this" in job.run().stdout
    assert any("/contents/" in request.path for request in github.requests)


def test_policy_of_the_trusted_commit_decides(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    policy("version: 1\ntrigger: '@helper'\ntasks: {mention: {writer: none}}\n")(job)
    assert "does not mention @helper" in job.run().stdout
    job.payload = mention("@helper hi")
    assert "alice may not start this: writer" in job.run().stdout
    assert github.writes == []


def test_listed_bot_is_answered_by_its_exact_login_only(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    policy('version: 1\nbots: ["good[bot]"]\n')(job)
    job.payload = mention("@agent hi", author="good[bot]", kind="Bot")
    api.queue(Reply([Text("Hi, bot.")]))
    assert job.run().code == 0
    assert len(github.writes) == 1
    job.payload = mention("@agent hi", author="Good[bot]", kind="Bot")
    assert "a bot that the policy does not list" in job.run().stdout


def test_without_a_checkout_the_policy_comes_from_the_default_branch_at_github(job: Job, github: FakeGitHub) -> None:
    github.repo("octo/hello").add_commit({".github/ci-agent.yml": BROKEN_POLICY}, message="policy", branch="main")
    job.env["GITHUB_WORKSPACE"] = str(job.folder / "empty")
    (job.folder / "empty").mkdir()
    done = job.run()
    assert done.code == 2
    assert '.github/ci-agent.yml:4: unknown key "triger"' in done.stderr


def test_replace_ref_does_not_change_what_the_trusted_commit_says(job: Job, github: FakeGitHub) -> None:
    trusted = job.env["GITHUB_SHA"]
    hostile = job.commit({".github/ci-agent.yml": "version: 1\ntasks: {mention: {outsider: answer}}\n"}, branch="pr")
    job.git("replace", str(trusted), hostile)
    job.payload = mention("@agent hi", author="mallory")
    assert "mallory may not start this" in job.run().stdout


def test_redirect_does_not_carry_the_token_elsewhere(job: Job, github: FakeGitHub) -> None:
    with FakeGitHub() as elsewhere:
        location = f"{elsewhere.url}/repos/octo/hello/collaborators/alice/permission"
        github.fault(method="GET", path=".*/permission", status=302, headers={"Location": location})
        done = job.run()
        assert (done.code, elsewhere.requests) == (1, [])
        assert "GitHub answers HTTP 302" in done.stderr


def test_instructions_come_from_the_trusted_commit_and_links_are_passed_over(job: Job, api: FakeMessages) -> None:
    (job.workspace / "CLAUDE.md").symlink_to("AGENTS.md")
    job.env["GITHUB_SHA"] = job.commit({"AGENTS.md": "Trusted words."})
    job.commit({"AGENTS.md": "Hostile words."}, branch="pr")
    api.queue(Reply([Text("Hi.")]))
    assert job.run().code == 0
    system = str(api.bodies[0]["system"])
    assert system.count("Trusted words.") == 1
    assert "Hostile words." not in system


def test_checkout_cannot_make_git_run_a_program(job: Job, github: FakeGitHub) -> None:
    program, proof = job.folder / "evil.sh", job.folder / "it-ran"
    program.write_text(f"#!/bin/sh\ntouch {proof}\n")
    program.chmod(0o755)
    for key, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{program}",
        "protocol.ext.allow": "always",
        "core.fsmonitor": str(program),
        "core.sshCommand": str(program),
    }.items():
        job.git("config", key, value)
    job.env["GITHUB_SHA"] = "0123456789012345678901234567890123456789"
    job.payload = mention("@agent hi", author="mallory")
    assert job.run().code == 0
    assert not proof.exists()


def test_remote_of_another_server_is_not_this_repository(job: Job, github: FakeGitHub) -> None:
    job.commit({".github/ci-agent.yml": "version: 1\ntasks: {mention: {outsider: answer}}\n"}, branch="other")
    job.git("update-ref", "refs/remotes/origin/main", "HEAD")
    job.git("remote", "add", "origin", "https://evil.example/octo/hello")
    job.env["GITHUB_SHA"] = None
    job.payload = mention("@agent hi", author="mallory")
    assert "mallory may not start this" in job.run().stdout


def test_remote_of_this_repository_is_trusted(job: Job, github: FakeGitHub) -> None:
    policy("version: 1\ntrigger: '@helper'\n")(job)
    job.git("update-ref", "refs/remotes/origin/main", "HEAD")
    for address in (
        "https://github.com/octo/hello",
        "https://x:y@github.com/Octo/Hello.git",
        "git@github.com:octo/hello.git",
    ):
        job.git("config", "remote.origin.url", address)
        job.env["GITHUB_SHA"] = None
        assert "does not mention @helper" in job.run().stdout


def test_pasted_line_break_at_the_end_of_a_secret_is_taken_off(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    job.env |= {"GITHUB_TOKEN": "ghs_test\n", "ANTHROPIC_API_KEY": "key \n"}
    api.queue(Reply([Text("Here.")]))
    assert job.run().code == 0
    assert len(github.writes) == 1


def test_runner_file_that_cannot_be_written_costs_a_warning(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    job.env |= {"GITHUB_OUTPUT": "/nonexistent/out", "GITHUB_STEP_SUMMARY": "/nonexistent/summary"}
    api.queue(Reply([Text("Here.")]))
    done = job.run()
    assert (done.code, len(github.writes)) == (0, 1)
    assert done.stderr.count("ci_agent: warning: /nonexistent/") == 2


@pytest.mark.parametrize("body", ["<html></html>", "[1, 2]", "{", '[{"id": "x"}]'])
def test_garbage_in_place_of_the_comments_is_one_line(job: Job, github: FakeGitHub, body: str) -> None:
    github.fault(method="GET", path=".*/comments", status=200, body=body, times=9)
    done = job.run()
    assert done.code == 2
    assert "Traceback" not in done.stderr
    assert "an answer that is not GitHub's" in done.stderr


@pytest.mark.parametrize("body", ["<html></html>", "null", "[1, 2]", "{}"])
def test_garbage_in_place_of_the_posted_comment_is_not_taken_for_success(
    job: Job, github: FakeGitHub, api: FakeMessages, body: str
) -> None:
    github.fault(method="POST", path=".*/comments", status=201, body=body, times=9)
    api.queue(Reply([Text("Here.")]))
    done = job.run()
    assert done.code == 1
    assert "the answer could not be posted" in done.stderr
    assert "Here." in done.summary


def test_secondary_limit_at_the_post_is_waited_out(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    github.secondary_limit(retry_after=1, times=1, method="POST", path=".*/comments")
    api.queue(Reply([Text("Here.")]))
    assert job.run().code == 0
    assert len(github.writes) == 1


def test_locale_without_utf_8_does_not_end_a_run(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    job.env |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    api.queue(Reply([Text("Gr\u00fcn \u2714")]))
    done = job.run()
    assert done.code == 0, done.stderr
    assert len(github.writes) == 1
