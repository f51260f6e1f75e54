"""Finds the trusted version of policy and instruction files: never the one that a pull request brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ci_agent.errors import PolicyError
from ci_agent.github.repo import GitRepo
from ci_agent.policy.schema import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["TrustedSource", "find_source", "read_policy"]


@dataclass(frozen=True, slots=True)
class TrustedSource:
    """Where trusted files come from: a commit in the checkout, or the default branch at GitHub."""

    label: str
    read: Callable[[str], str | None]


def find_source(
    repo: GitRepo, repository: str, sha: str, branch: str, fallback: Callable[[str], str | None]
) -> TrustedSource:
    """The trusted commit of this checkout; `fallback` reads from GitHub where the checkout has none."""
    commit = next(filter(None, map(repo.commit_of, _names(repo, repository, sha, branch))), None)
    if commit is None:
        return TrustedSource(f"{branch} at GitHub", fallback)
    return TrustedSource(commit[:12], lambda path: repo.show(commit, path))


def _names(repo: GitRepo, repository: str, sha: str, branch: str) -> Iterator[str]:
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
    elif origin.removesuffix("/").removesuffix(".git").lower().endswith(f"/{repository.lower()}"):
        yield f"refs/remotes/origin/{branch}"


def read_policy(source: TrustedSource, path: str) -> Policy:
    """The repository's policy, or the built-in safe default where there is no file."""
    if path.startswith("/") or ".." in path.split("/"):
        raise PolicyError(f"policy path {path!r} leaves the repository", hint="correct CI_AGENT_POLICY")
    text = source.read(path)
    if text is None:
        return Policy(version=1)
    # The YAML parser is worth its import only where there is a file.
    from ci_agent.policy.load import load_policy

    return load_policy(text, path)
