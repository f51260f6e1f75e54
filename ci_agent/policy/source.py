"""Finds the trusted version of policy and instruction files: never the one that a pull request brings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ci_agent.errors import PolicyError
from ci_agent.github.repo import GitRepo
from ci_agent.policy.schema import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["TrustedSource", "find_source", "read_policy"]

DEFAULT_PATH = ".github/ci-agent.yml"


@dataclass(frozen=True, slots=True)
class TrustedSource:
    """Where trusted files come from: a commit in the checkout, or the default branch at GitHub."""

    label: str
    read: Callable[[str], str | None]
    commit: str | None = None


def find_source(
    repo: GitRepo, server: str, repository: str, sha: str, branch: str, fallback: Callable[[str], str | None]
) -> TrustedSource:
    """The trusted commit of this checkout; `fallback` reads from GitHub where the checkout has none."""
    commit = next(filter(None, map(repo.commit_of, _names(repo, server, repository, sha, branch))), None)
    if commit is None:
        return TrustedSource(f"{branch} at GitHub", fallback)
    return TrustedSource(commit[:12], lambda path: repo.show(commit, path), commit)


def _is_ours(origin: str, server: str, repository: str) -> bool:
    """Whether a remote's address is this repository at this server, in any of the forms git takes."""
    host = re.escape(server.split("://", 1)[-1])
    address = rf"(?:(?:https?|ssh)://)?(?:[^@/]+@)?{host}(?::\d+)?[:/]{re.escape(repository)}(?:\.git)?/?"
    return re.fullmatch(address, origin, re.IGNORECASE) is not None


def _names(repo: GitRepo, server: str, repository: str, sha: str, branch: str) -> Iterator[str]:
    """Names that only somebody with push access can move, the surest first.

    GitHub sets `sha` to the default branch for the events handled here. A remote that is not this repository
    may be a fork, whose branches anybody moves.
    """
    if not repo.is_repository():
        return
    if sha:
        yield sha
    origin = repo.origin()
    if origin is None:
        yield f"refs/heads/{branch}"
    elif _is_ours(origin, server, repository):
        yield f"refs/remotes/origin/{branch}"


def _refuse_look_alike(source: TrustedSource, path: str) -> None:
    """No file means the built-in default, but only where nobody meant to write one."""
    if path != DEFAULT_PATH:
        raise PolicyError(f"{path} is not in {source.label}", hint="correct the policy input, or commit the file")
    twin = DEFAULT_PATH.removesuffix(".yml") + ".yaml"
    if source.read(twin) is not None:
        raise PolicyError(f"{twin} is not read", hint=f"rename it to {DEFAULT_PATH}")


def read_policy(source: TrustedSource, path: str) -> Policy:
    """The repository's policy, or the built-in safe default where there is no file."""
    if path.startswith("/") or ".." in path.split("/"):
        raise PolicyError(f"policy path {path!r} leaves the repository", hint="correct CI_AGENT_POLICY")
    text = source.read(path)
    if text is None:
        _refuse_look_alike(source, path)
        return Policy(version=1)
    # The YAML parser is worth its import only where there is a file.
    from ci_agent.policy.load import load_policy

    return load_policy(text, path)
