"""The commands besides `run`, as a newcomer types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ci_agent.init import PLACEHOLDER, TARGETS
from tests.fakes.messages import FakeMessages, Reply, Text, ToolUse
from tests.job import ROOT


def ci_agent(*arguments: str, cwd: Path, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", **env}
    return subprocess.run(
        [sys.executable, "-m", "ci_agent", *arguments],
        cwd=cwd, env=environment, input=stdin, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip


def test_demo_answers_from_the_real_tool_results_and_names_files_that_exist(tmp_path: Path) -> None:
    # A job's own environment must not leak into the demo, nor the demo into the job.
    output = tmp_path / "output"
    done = ci_agent("demo", cwd=tmp_path, GITHUB_OUTPUT=str(output), GITHUB_TOKEN="ghs_real", CI_AGENT_MODE="stage")
    assert done.returncode == 0, done.stderr
    assert "`stats.py:4` divides by `len(values)` on\nline 5" in done.stdout
    assert "is refused Bash" in done.stderr
    assert "/proc/self/environ is outside the workspace" in done.stderr
    files = [Path(line.split("  (")[0].strip()) for line in done.stdout.splitlines() if line.startswith("  /")]
    assert len(files) == 4
    assert all(path.is_file() and path.is_relative_to(tmp_path / ".ci-agent") for path in files)
    ledger = [json.loads(line) for line in files[1].read_text().splitlines()]
    assert [line["decision"] for line in ledger] == ["allow"] * 4 + ["deny"] * 2
    assert not output.exists()


def test_demo_works_where_nothing_can_be_written(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.joinpath(".ci-agent").write_text("a file in the way")
    done = ci_agent("demo", cwd=closed)
    assert done.returncode == 0, done.stderr
    assert "transcript.jsonl" in done.stdout


def test_exec_answers_about_the_current_directory(tmp_path: Path, api: FakeMessages) -> None:
    (tmp_path / "notes.txt").write_text("the answer is 42\n")
    (tmp_path / "AGENTS.md").write_text("Be brief.")
    api.queue(Reply([ToolUse("Grep", {"pattern": "answer"})]), Reply([Text("42")]))
    done = ci_agent("exec", cwd=tmp_path, stdin="what is it?", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=api.url)
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "notes.txt:1:the answer is 42" in json.dumps(api.bodies[1])
    assert "Be brief." in json.dumps(api.bodies[0]["system"])
    assert len(list((tmp_path / ".ci-agent").glob("*/transcript.jsonl"))) == 1


def test_exec_takes_its_prompt_from_the_argument_and_prints_json(tmp_path: Path, api: FakeMessages) -> None:
    api.queue(Reply([Text("hi")]))
    done = ci_agent(
        "exec", "hello", "--output-format", "json", cwd=tmp_path, ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=api.url
    )
    assert json.loads(done.stdout)["result"] == "hi"
    assert api.bodies[0]["messages"][0]["content"][0]["text"] == "hello"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    return tmp_path


def test_init_writes_every_file_from_anywhere_in_the_repository(repository: Path) -> None:
    done = ci_agent("init", "--action", f"me/agent@{'a' * 40}", cwd=repository / "sub")
    assert done.returncode == 0, done.stderr
    for target in TARGETS.values():
        assert yaml.safe_load((repository / target).read_text())
        assert f"wrote    {target}" in done.stdout
    assert f"uses: me/agent@{'a' * 40}" in (repository / TARGETS["mention"]).read_text()
    assert ci_agent("policy", "check", cwd=repository).stdout == ".github/ci-agent.yml: ok\n"


def test_init_never_overwrites(repository: Path) -> None:
    mine = repository / TARGETS["policy"]
    mine.parent.mkdir()
    mine.write_text("version: 1 # mine\n")
    done = ci_agent("init", "policy", "mention", cwd=repository)
    assert "kept     .github/ci-agent.yml (it exists and differs)" in done.stdout
    assert mine.read_text() == "version: 1 # mine\n"
    again = ci_agent("init", "mention", cwd=repository)
    assert "(already the same)" in again.stdout


def test_init_shows_and_writes_nothing_in_a_dry_run(repository: Path) -> None:
    done = ci_agent("init", "schedule", "--dry-run", cwd=repository)
    assert "would write .github/workflows/ci-agent-schedule.yml:" in done.stdout
    assert "Nothing was written" in done.stdout
    assert not (repository / ".github").exists()


def test_init_says_when_the_action_must_be_filled_in(repository: Path) -> None:
    text = repository / TARGETS["mention"]
    done = ci_agent("init", "mention", cwd=repository)
    assert (PLACEHOLDER in text.read_text()) == ("Replace OWNER/ci_agent@" in done.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("init", "mentoin"), 'there is no template "mentoin" (did you mean "mention"?)'),
        (("init", "--action", "x@v1"), "--action x@v1 is not OWNER/REPOSITORY@COMMIT"),
        (("policy", "check", "gone.yml"), "gone.yml cannot be read"),
        (("exec", " "), "the prompt is empty (give it as an argument or on stdin)"),
        (("exec",), "the prompt is empty (give it as an argument or on stdin)"),
    ],
)
def test_wrong_use_gives_one_line_and_exit_2(repository: Path, arguments: tuple[str, ...], message: str) -> None:
    done = ci_agent(*arguments, cwd=repository)
    assert done.returncode == 2
    assert done.stderr.startswith(f"ci_agent: error: {message}")
    assert len(done.stderr.splitlines()) == 1


def test_init_outside_a_repository_is_refused(tmp_path: Path) -> None:
    done = ci_agent("init", cwd=tmp_path)
    assert done.returncode == 2
    assert "not inside a git repository" in done.stderr


def test_policy_schema_is_a_json_schema_that_forbids_unknown_keys(tmp_path: Path) -> None:
    schema = json.loads(ci_agent("policy", "schema", cwd=tmp_path).stdout)
    assert schema["additionalProperties"] is False
    assert "tasks" in schema["properties"]


def test_unknown_command_lists_the_known_ones(tmp_path: Path) -> None:
    done = ci_agent("rnu", cwd=tmp_path)
    assert done.returncode == 2
    assert "invalid choice: 'rnu'" in done.stderr
