"""Runs an example workflow with the shipped action through `act`, offline and away from the user's home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
STAND_INS = ROOT / "tests" / "e2e" / "actions"
# All that a checkout of the action must hold for it to work.
SHIPPED = ("action.yml", "entrypoint.sh", "requirements.lock", "ci_agent")
SHOW_OUTPUTS = """\
        id: agent
      - if: always()
        run: printf '%s' "$OUTPUTS" >"$TEST_UPLOADS/step-outputs.json"
        env:
          OUTPUTS: ${{ toJSON(steps.agent.outputs) }}
"""


def find_act() -> str | None:
    """The `act` of this environment, else of PATH."""
    return shutil.which("act", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def environment_cache() -> Path:
    """The cache folder that entrypoint.sh uses here, so that runs share the environment with the user's."""
    if chosen := os.environ.get("CI_AGENT_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ci-agent"


@dataclass(frozen=True)
class Ended:
    """What is left of a workflow run."""

    code: int
    log: str
    uploads: Path

    @cached_property
    def outputs(self) -> dict[str, str]:
        """The outputs of the agent's step."""
        outputs: dict[str, str] = json.loads((self.uploads / "step-outputs.json").read_text())
        return outputs

    @property
    def artifacts(self) -> dict[str, set[str]]:
        """The uploaded artifacts and their files."""
        folders = (folder for folder in self.uploads.iterdir() if folder.is_dir())
        return {folder.name: {path.name for path in folder.rglob("*")} for folder in folders}

    def everything(self) -> str:
        """Every byte that a reader of the run could see."""
        files = (path.read_text(errors="replace") for path in self.uploads.rglob("*") if path.is_file())
        return "\n".join((self.log, *files))


@dataclass(frozen=True, slots=True)
class Workflow:
    """A repository with one of the example workflows, ready to be woken by events."""

    base: Path
    name: str
    repository: str
    branch: str

    @classmethod
    def create(cls, base: Path, name: str, repository: str, branch: str) -> Workflow:
        """Lay out the repository and the action as a runner would fetch it."""
        workflow = cls(base, name, repository, branch)
        for folder in ("repository/.github/workflows", "action", "home", "uploads"):
            (base / folder).mkdir(parents=True)
        for shipped in SHIPPED:
            copy = shutil.copytree if (ROOT / shipped).is_dir() else shutil.copy2
            copy(ROOT / shipped, base / "action" / shipped)
        example = (ROOT / ".github" / "examples" / name).read_text()
        (workflow.source / ".github" / "workflows" / name).write_text(example + SHOW_OUTPUTS)
        (workflow.source / "README.md").write_text("# Hello\n\nThe answer is 42.\n")
        author = ("-c", "user.name=Author", "-c", "user.email=author@example.com")
        workflow.git("init", "--quiet", "--initial-branch", branch)
        workflow.git("remote", "add", "origin", f"https://github.com/{repository}.git")
        workflow.git("add", ".")
        workflow.git(*author, "commit", "--quiet", "--message", "Start")
        return workflow

    @property
    def source(self) -> Path:
        """The repository."""
        return self.base / "repository"

    def git(self, *args: str) -> None:
        """Run git in the repository."""
        subprocess.run(["git", *args], cwd=self.source, check=True, env=self._env())

    def wake(self, event: str, payload: Any, *, secrets: dict[str, str], env: dict[str, str]) -> Ended:
        """Let an event start the workflow, and wait for its end."""
        event_file = self.base / "event.json"
        event_file.write_text(json.dumps(payload))
        env = env | {
            "CI_AGENT_CACHE": str(environment_cache()),
            "TEST_CHECKOUT_SOURCE": str(self.source),
            "TEST_UPLOADS": str(self.base / "uploads"),
        }
        options = [f"--env={name}={value}" for name, value in env.items()]
        options += [f"--secret={name}={value}" for name, value in secrets.items()]
        options += [f"--local-repository={used}={folder}" for used, folder in self._actions()]
        ended = subprocess.run(
            [
                *(
                    find_act() or "act",
                    event,
                    f"--eventpath={event_file}",
                    f"--actor={payload['sender']['login']}",
                ),
                *("--platform=ubuntu-24.04=-self-hosted", f"--workflows=.github/workflows/{self.name}"),
                # Without act's own masking: what a secret's value reaches, the test must see.
                *("--action-offline-mode", "--pull=false", "--no-cache-server", "--insecure-secrets"),
                *options,
            ],
            cwd=self.source,
            env=self._env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, self.base / "uploads")

    def _actions(self) -> list[tuple[str, Path]]:
        """Every action in use, and the folder that stands for it."""
        workflow = yaml.safe_load((self.source / ".github" / "workflows" / self.name).read_text())
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        steps = [step for job in workflow["jobs"].values() for step in job["steps"]] + action["runs"]["steps"]
        used = (step["uses"] for step in steps if "uses" in step)
        folders = {"OWNER/ci_agent": self.base / "action"}
        folders |= {f"actions/{folder.name}": folder for folder in STAND_INS.iterdir()}
        return [(name, folders[name.partition("@")[0]]) for name in used]

    def _env(self) -> dict[str, str]:
        """An environment of its own, in which a look outside this machine fails at once."""
        nowhere = "http://127.0.0.1:9"
        home = str(self.base / "home")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
        }
        return env | {"HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "NO_PROXY": "127.0.0.1"}
