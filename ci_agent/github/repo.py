"""Reads from git without running anything the repository could have configured."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ci_agent.errors import ConfigError, NotAFile

__all__ = ["GitRepo"]

TIMEOUT_SECONDS = 30
# Settings of a checkout that make git start programs; each is switched off for every call.
HARDENED = (
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "protocol.allow=never",
    "-c", "safe.directory=*",
    "-c", "submodule.recurse=false",
)  # fmt: skip
# Names of settings that hold programs which git runs on contents; `required` makes them a must.
FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    # No protocol at all, whatever the checkout's own configuration allows: nothing is fetched, and no helper started.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    # A replace ref would show another object's content under a trusted commit's name.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C.UTF-8",
}


class GitRepo:
    """A work tree and its object store."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def is_repository(self) -> bool:
        """Whether the folder itself is the top of a work tree."""
        return (self.root / ".git").exists()

    def commit_of(self, name: str) -> str | None:
        """The commit that a name means, where this checkout has it."""
        found = self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return found.stdout.decode().strip() if found.returncode == 0 else None

    def show(self, commit: str, path: str) -> str | None:
        """The text of a file at a commit; None where the commit has no such file."""
        listed = self.git("ls-tree", "-z", commit, "--", path)
        if listed.returncode != 0:
            raise _unreadable(path, commit, listed)
        entry = listed.stdout.decode("utf-8", "replace")
        if not entry:
            return None
        if not entry.startswith("100"):
            raise NotAFile(f"{path} at {commit[:12]} is a link or a folder, not a file", hint="commit the file itself")
        blob = entry.split()[2]
        content = self.git("cat-file", "blob", blob)
        if content.returncode != 0:
            raise _unreadable(path, commit, content)
        return content.stdout.decode("utf-8", "replace")

    def origin(self) -> str | None:
        """The address of the remote `origin`, where there is one."""
        found = self.git("config", "--local", "--no-includes", "--get", "remote.origin.url")
        return found.stdout.decode("utf-8", "replace").strip() or None

    def git(self, *arguments: str, seconds: float = TIMEOUT_SECONDS) -> subprocess.CompletedProcess[bytes]:
        """Run a git command that can start nothing else."""
        return self._run(arguments, {**ENVIRONMENT, **_as_environment(self._without_filters())}, seconds)

    def _without_filters(self) -> dict[str, str]:
        """Settings that switch off every program the checkout has configured for changing contents."""
        listed = self._run(("config", "--local", "--includes", "--null", "--name-only", "--get-regexp", FILTERS))
        names = listed.stdout.decode("utf-8", "surrogateescape").split("\0")
        return {name: "false" if name.endswith(".required") else "" for name in names if name}

    def _run(
        self, arguments: tuple[str, ...], environment: Mapping[str, str] = ENVIRONMENT, seconds: float = TIMEOUT_SECONDS
    ) -> subprocess.CompletedProcess[bytes]:
        program = shutil.which("git")
        if program is None:
            raise ConfigError("git is not installed", hint="install git on the runner")
        try:
            return subprocess.run(
                [program, *HARDENED, *arguments],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ConfigError(f"git {arguments[0]} did not answer within {seconds:g} s") from None


def _as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings by environment, where no name can be taken for something else."""
    pairs = list(settings.items())
    made = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for index, (name, value) in enumerate(pairs):
        made |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
    return made


def _unreadable(path: str, commit: str, failed: subprocess.CompletedProcess[bytes]) -> ConfigError:
    reason = " ".join(failed.stderr.decode("utf-8", "replace").split())
    return ConfigError(f"{path} cannot be read at {commit[:12]}: {reason}", hint="check out the commit with its files")
