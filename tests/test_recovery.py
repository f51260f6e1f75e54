"""`run` on a bad day of the model API: through the front door, with what a person finds afterwards."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.fakes.github import FakeGitHub
from tests.fakes.messages import Answer, Drop, FakeMessages, HttpError, Reply, Text, Thinking, ToolUse
from tests.job import Done, Job

POLICY = """\
version: 1
model: {main: claude-sonnet-5-5, fallback: claude-opus-5-5}
"""


def posted(github: FakeGitHub) -> list[str]:
    return [write.body["body"] for write in github.writes if write.method in ("POST", "PATCH") and "body" in write.body]


def transitions(done: Done) -> list[str]:
    notices = [record for record in done.lines("transcript.jsonl") if record.get("subtype") == "transition"]
    return [str(record["transition"]) for record in notices]


def read(path: str = "calc.py") -> ToolUse:
    return ToolUse("Read", {"file_path": path})


def test_faults_on_the_way_are_survived_and_told_in_the_transcript(
    job: Job, github: FakeGitHub, api: FakeMessages
) -> None:
    api.queue(
        Reply([Text("I will"), read()], cut_after=6),
        HttpError(429, "rate_limit_error", headers={"retry-after": "0"}),
        Reply([Thinking("hm"), Text("I will look."), read()]),
        Drop(),
        Reply([Text("It adds.")]),
    )
    done = job.run()
    assert done.code == 0, done.stderr
    assert "It adds." in posted(github)[0]
    assert transitions(done) == ["stream_retry", "rate_limit_wait", "next_turn", "stream_retry"]
    assert done.outputs["turns"] == "2"
    assert "goes on" in done.stderr
    usage = done.json("usage.json")
    assert usage["by_purpose"]["lost"]["calls"] == 3
    assert usage["by_purpose"]["turn"]["calls"] == 2


def test_overloaded_model_is_replaced_by_the_policys_fallback(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    job.env["GITHUB_SHA"] = job.commit({".github/ci-agent.yml": POLICY})

    def respond(request: object) -> Answer:
        overloaded = request.body["model"] == "claude-sonnet-5-5"  # type: ignore[attr-defined]
        return HttpError(529, "overloaded_error") if overloaded else Reply([Text("It adds.")])

    api.respond(respond)
    done = job.run()
    assert done.code == 0, done.stderr
    assert transitions(done)[-1] == "model_fallback"
    assert set(done.json("usage.json")["by_model"]) == {"claude-sonnet-5-5", "claude-opus-5-5"}
    assert float(done.outputs["cost-usd"]) > 0


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ({"CI_AGENT_MAX_TURNS": "2"}, "the limit of 2 turns is reached"),
        ({"CI_AGENT_BUDGET_USD": "0.001"}, "the budget of $0.00 is used up"),
        ({"CI_AGENT_BUDGET_TOKENS": "1000"}, "the budget of 1,000 tokens is used up"),
    ],
    ids=["turns", "money", "tokens"],
)
def test_used_up_budget_posts_what_is_known_and_exits_4(
    job: Job, github: FakeGitHub, api: FakeMessages, env: dict[str, str], reason: str
) -> None:
    job.env |= env
    api.respond(lambda request: Reply([Text("So far: it adds."), read()]))
    done = job.run()
    assert (done.code, done.outputs["conclusion"]) == (4, "partial")
    assert reason in posted(github)[0]
    assert "So far: it adds." in posted(github)[0]


def test_prompt_cache_is_accounted_for(job: Job, api: FakeMessages) -> None:
    api.queue(*[Reply([Text("Looking."), read()])] * 4, Reply([Text("It adds.")]))
    done = job.run()
    cache = done.json("usage.json")["cache"]
    assert cache["read_tokens"] > cache["written_tokens"] > 0
    assert 0.5 < cache["read_share"] < 1
    assert 0.3 < cache["saved_share"] < 1
    assert not [record for record in done.lines("transcript.jsonl") if record.get("subtype") == "cache_miss"]


def test_job_cancelled_while_a_tool_runs_posts_and_leaves_no_process(
    job: Job, github: FakeGitHub, api: FakeMessages
) -> None:
    job.commit({"slow.txt": ("a" * 40 + "\n") * 5})
    slow = ToolUse("Grep", {"pattern": "(a+)+b", "path": "slow.txt"})
    api.queue(Reply([Text("Searching for it."), slow]))
    process = job.start()
    deadline = time.monotonic() + 60
    while not (workers := _searches(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    done = job.finish(process)
    assert done.code == 130, done.stderr
    assert "the job was cancelled" in posted(github)[0]
    assert "Searching for it." in posted(github)[0]
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    answers = [record for record in done.lines("transcript.jsonl") if record["type"] == "user"]
    assert "did not finish: the job was cancelled" in str(answers[-1])
    terminal = next(record for record in done.lines("transcript.jsonl") if record.get("subtype") == "terminal")
    assert terminal["reason"] == "cancelled_tools"


def _searches(pid: int) -> list[str]:
    """Processes below this one that run a search."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            parent = command.with_name("stat").read_text().rsplit(")", 1)[1].split()[1]
            if parent == str(pid) and b"walk.py" in command.read_bytes():
                found.append(command.parent.name)
        except OSError:
            continue  # it ended while we looked
    return found


def test_model_that_repeats_a_refused_call_is_stopped(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    api.respond(lambda request: Reply([Text("Let me see."), read("/etc/passwd")]))
    done = job.run()
    assert done.code == 1
    assert "Read failed 6 times in a row" in posted(github)[0]
    assert len(api.bodies) == 6


def test_stalled_model_is_given_up_within_the_idle_time(job: Job, github: FakeGitHub, api: FakeMessages) -> None:
    job.env["CI_AGENT_IDLE_SECONDS"] = "0.5"
    api.queue(Reply([Text("never to be finished")], stall_after=3), Reply([Text("It adds.")]))
    done = job.run()
    assert done.code == 0, done.stderr
    assert transitions(done) == ["stream_retry"]


def test_long_work_stays_in_a_small_window_and_says_where_it_was_cut(job: Job, github: FakeGitHub) -> None:
    job.env["GITHUB_SHA"] = job.commit({"long.txt": "a line of the long file\n" * 800})
    with FakeMessages(context_window=30_000) as api:
        job.env["ANTHROPIC_BASE_URL"] = api.url
        api.queue(*[Reply([Text(f"Page {n}."), read("long.txt")]) for n in range(12)], Reply([Text("It repeats.")]))
        done = job.run()
        assert done.code == 0, done.stderr
        assert "It repeats." in posted(github)[0]
        assert len(api.bodies) == 13
        assert all("what does add do?" in str(body["messages"][0]) for body in api.bodies)
    boundaries = [record for record in done.lines("transcript.jsonl") if record.get("subtype") == "compact_boundary"]
    assert boundaries
    assert all(record["after_tokens"] < record["before_tokens"] for record in boundaries)
    misses = [record for record in done.lines("transcript.jsonl") if record.get("subtype") == "cache_miss"]
    assert {(record["reason"], record["expected"]) for record in misses} == {("messages_changed", True)}


def test_large_result_is_kept_whole_and_can_be_read_on(job: Job, github: FakeGitHub) -> None:
    lines = "".join(f"{number:5} needle and some more text to make it long\n" for number in range(2_000))
    job.env["GITHUB_SHA"] = job.commit({"many.txt": lines})
    with FakeMessages() as api:
        job.env["ANTHROPIC_BASE_URL"] = api.url
        kept = job.folder / "temp" / "ci-agent" / "results" / "toolu_grep.txt"
        api.queue(
            Reply([ToolUse("Grep", {"pattern": "needle", "head_limit": 1000}, id="toolu_grep")]),
            Reply([ToolUse("Read", {"file_path": str(kept), "offset": 900, "limit": 2})]),
            Reply([Text("Many.")]),
        )
        done = job.run()
        assert done.code == 0, done.stderr
        first = api.bodies[1]["messages"][-1]["content"][0]["content"]
        second = api.bodies[2]["messages"][-1]["content"][0]
    assert str(kept) in first
    assert len(first) < 20_000
    assert "needle" in second["content"]
    assert not second["is_error"]
