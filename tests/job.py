"""One GitHub Actions job, as the agent meets it: an environment, a checkout, an event, the runner's files."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAYLOAD = Path(__file__).parent / "data" / "payloads" / "issue_comment.created.json"
TOKEN = "ghs_test"
API_KEY = "sk-canary-7d1f0c"
TRIGGERED_AT = "2026-03-01T12:00:00Z"


@dataclass(frozen=True, slots=True)
class Done:
    """What a finished job left."""

    code: int
    stdout: str
    stderr: str
    folder: Path
    outputs: dict[str, str]
    summary: str

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The records of a JSONL artifact."""
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def json(self, name: str) -> Any:
        """A JSON artifact."""
        return json.loads((self.folder / name).read_text())

    @property
    def everything(self) -> str:
        """All that anybody could read afterwards."""
        files = [path.read_text() for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return "\n".join([self.stdout, self.stderr, self.summary, *self.outputs.values(), *files])


@dataclass(slots=True)
class Job:
    """A job to be run."""

    folder: Path
    api_url: str
    model_url: str = "http://127.0.0.1:1"
    event_name: str = "issue_comment"
    payload: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str | None] = field(default_factory=dict)
    user: int | None = None
    python: str = sys.executable

    def __post_init__(self) -> None:
        self.workspace.mkdir(parents=True, exist_ok=True)
        (self.folder / "temp").mkdir(exist_ok=True)
        self.payload = self.payload or mention("@agent what does add do?")

    @property
    def workspace(self) -> Path:
        """The checkout."""
        return self.folder / "workspace"

    def commit(self, files: dict[str, str], branch: str = "main") -> str:
        """Commit files on a branch and give the commit."""
        if not (self.workspace / ".git").exists():
            self.git("init", "--quiet", "--initial-branch=main")
        elif branch != self.git("rev-parse", "--abbrev-ref", "HEAD"):
            self.git("switch", "--quiet", "--create", branch)
        for name, text in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--message", "files", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        """Run git in the checkout, without the developer's own settings."""
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.workspace, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def environment(self) -> dict[str, str]:
        """What the runner would set, and nothing of the machine's own."""
        event = self.folder / "event.json"
        event.write_text(json.dumps(self.payload))
        temp = self.folder / "temp"
        values: dict[str, str | None] = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTHONSAFEPATH": "1",
            "HOME": str(self.folder),
            "GITHUB_EVENT_NAME": self.event_name,
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "octo/hello",
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_API_URL": self.api_url,
            "GITHUB_RUN_ID": "4242",
            "GITHUB_OUTPUT": str(temp / "output"),
            "GITHUB_STEP_SUMMARY": str(temp / "summary"),
            "RUNNER_TEMP": str(temp),
            "GITHUB_TOKEN": TOKEN,
            "ANTHROPIC_API_KEY": API_KEY,
            "ANTHROPIC_BASE_URL": self.model_url,
            **self.env,
        }
        return {name: value for name, value in values.items() if value is not None}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `python -m ci_agent`; without arguments, `run`."""
        return subprocess.Popen(
            [self.python, "-m", "ci_agent", *(arguments or ("run",))],
            cwd=self.workspace, env=self.environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            user=self.user, group=self.user, extra_groups=None if self.user is None else [],
        )  # fmt: skip

    def finish(self, process: subprocess.Popen[str]) -> Done:
        """Wait for the end and collect what is there."""
        stdout, stderr = process.communicate(timeout=90)
        temp = self.folder / "temp"
        output, summary = temp / "output", temp / "summary"
        return Done(
            code=process.returncode,
            stdout=stdout,
            stderr=stderr,
            folder=temp / "ci-agent",
            outputs=parse_outputs(output.read_text()) if output.exists() else {},
            summary=summary.read_text() if summary.exists() else "",
        )

    def run(self, *arguments: str) -> Done:
        """Start and finish."""
        return self.finish(self.start(*arguments))


def mention(
    body: str, *, author: str = "alice", kind: str = "User", action: str = "created", number: int = 1
) -> dict[str, Any]:
    """A real `issue_comment` payload, with our repository, people and text."""
    payload: dict[str, Any] = copy.deepcopy(json.loads(PAYLOAD.read_text()))
    person = payload["sender"] | {"login": author, "type": kind}
    payload["action"] = action
    payload["sender"] = person
    payload["comment"] |= {"body": body, "user": person, "created_at": TRIGGERED_AT, "updated_at": TRIGGERED_AT}
    payload["issue"] |= {"number": number, "title": "Adding", "body": "How does adding work?"}
    payload["repository"] |= {"full_name": "octo/hello", "default_branch": "main"}
    return payload


def parse_outputs(text: str) -> dict[str, str]:
    """The runner's own reading of GITHUB_OUTPUT: a name, a delimiter, lines until that delimiter."""
    values: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if match := re.fullmatch(r"([^=<]+)<<(.+)", line):
            name, delimiter = match.groups()
            body = []
            for inner in lines:
                if inner == delimiter:
                    break
                body.append(inner)
            values[name] = "\n".join(body)
        elif "=" in line:
            name, value = line.split("=", 1)
            values[name] = value
        else:
            raise AssertionError(f"the runner refuses this line: {line!r}")
    return values
