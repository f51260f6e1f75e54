"""`demo`: the real run on a bundled repository and event. Only the model and GitHub are stand-ins."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from importlib import resources
from pathlib import Path

from ci_agent.app import guarded, handle_event
from ci_agent.demo.github import DemoGitHub
from ci_agent.errors import ConfigError
from ci_agent.github.runner import Console
from ci_agent.settings import Settings
from ci_agent.types.events import Ignore

__all__ = ["play"]

OURS = ("GITHUB_", "CI_AGENT_", "ANTHROPIC_", "ACTIONS_", "RUNNER_")


def play() -> int:
    """Run the demo, then show the posted comment and the files to open."""
    folder = _folder()
    with tempfile.TemporaryDirectory(prefix="ci-agent-demo-") as scratch, DemoGitHub() as github:
        _set_environment(Path(scratch), folder, github.url)
        return guarded(lambda settings: _show(settings, github))


def _show(settings: Settings, github: DemoGitHub) -> int:
    log, out = Console(sys.stderr), Console(sys.stdout)
    log.say('alice comments in example/stats: "@agent why does this crash, and what would a fix look like?"\n')
    result = handle_event(settings)
    if isinstance(result, Ignore):
        raise ConfigError(f"the demo's event was ignored: {result.reason}")
    out.say("\n--- the posted comment " + "-" * 57)
    out.say("\n".join(github.posted))
    out.say("-" * 80)
    out.say("Open these to see what it did:")
    for name, what in (
        ("transcript.jsonl", "every message and tool result"),
        ("ledger.jsonl", "every permission decision, two refusals among them"),
        ("outputs.json", "what it proposed to post"),
        ("usage.json", "tokens and cost"),
    ):
        out.say(f"  {result.folder / name}  ({what})")
    return result.exit_code


def _folder() -> Path:
    """`./.ci-agent/<session>`, or a temporary folder where the current one cannot be written."""
    session = str(uuid.uuid4())
    here = Path.cwd() / ".ci-agent" / session
    try:
        here.mkdir(parents=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="ci-agent-demo-files-")) / session
    return here


def _set_environment(scratch: Path, folder: Path, api_url: str) -> None:
    """What a GitHub job would have, and nothing of the job or shell that the demo happens to run in."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        del os.environ[name]
    workspace = scratch / "stats"
    with resources.as_file(resources.files("ci_agent.demo")) as bundle:
        shutil.copytree(bundle / "repo", workspace, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("event.json", "script.yml"):
            shutil.copy(bundle / name, scratch / name)
    os.environ |= {
        "GITHUB_EVENT_NAME": "issue_comment",
        "GITHUB_EVENT_PATH": str(scratch / "event.json"),
        "GITHUB_REPOSITORY": "example/stats",
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_SHA": _commit(workspace),
        "GITHUB_API_URL": api_url,
        "GITHUB_TOKEN": "demo-token",
        "RUNNER_TEMP": str(scratch),
        "CI_AGENT_MODEL_PROVIDER": "scripted",
        "CI_AGENT_SCRIPT": str(scratch / "script.yml"),
        "CI_AGENT_SESSION_ID": folder.name,
        "CI_AGENT_ARTIFACT_DIR": str(folder),
        # Both spellings, because libraries differ: the way to loopback is not through a proxy.
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


def _commit(workspace: Path) -> str:
    """Make the bundled files a repository with one commit, untouched by the user's own git settings."""
    identity = ["-c", "user.name=demo", "-c", "user.email=demo@example.com", "-c", "commit.gpgsign=false"]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    commands = (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "--message=First"])
    try:
        for command in commands:
            subprocess.run(
                ["git", *identity, *command], cwd=workspace, env=environment, check=True, capture_output=True
            )
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=workspace, env=environment, check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise ConfigError(f"the demo needs git: {error}", hint="install git 2.28 or newer") from None
    return head.stdout.decode().strip()
