"""One path policy for every tool that touches files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ci_agent.policy.rules import FILE_TOOLS, matches_path, parse_rule

__all__ = ["PathPolicy", "PathRefused"]


class PathRefused(Exception):
    """A path that no tool may touch, with the reason to tell the model."""


class PathPolicy:
    """The workspace, with symlinks resolved, without `.git` and without what the policy denies."""

    def __init__(self, root: Path, deny: Sequence[str] = (), also_readable: Path | None = None) -> None:
        self._root = root.resolve()
        self._also_readable = also_readable.resolve() if also_readable else None
        rules = [parse_rule(text) for text in deny]
        self._denied = [rule.pattern for rule in rules if rule.pattern and any(rule.names(tool) for tool in FILE_TOOLS)]

    @property
    def root(self) -> Path:
        """The workspace's real path."""
        return self._root

    def resolve(self, path: str) -> Path:
        """The real path of an existing or missing file inside the workspace."""
        real = self._real(path)
        if reason := self._refusal(real):
            raise PathRefused(f"{path} {reason}")
        return real

    def resolve_readable(self, path: str) -> Path:
        """As `resolve`, but by its absolute path a file of the folder beside the workspace is fine too."""
        real = self._real(path)
        return real if Path(path).is_absolute() and self._is_beside(real) else self.resolve(path)

    def may_read(self, path: Path) -> bool:
        """Whether a path that a walk found may be shown; a symlink counts as what it points to."""
        return not self._refusal(Path(os.path.realpath(path)))

    def show(self, path: Path) -> str:
        """The path relative to the workspace; of a file beside it, the absolute path."""
        return path.as_posix() if self._is_beside(path) else path.relative_to(self._root).as_posix()

    def _real(self, path: str) -> Path:
        if "\0" in path:
            raise PathRefused("a path cannot hold a NUL character")
        try:
            return Path(os.path.realpath(self._root / path))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it holds characters that no path can hold"
            raise PathRefused(f"the path cannot be resolved: {reason}") from None

    def _is_beside(self, real: Path) -> bool:
        """Whether a real path is in the folder that may be read too. What is in the workspace is under its rules."""
        beside = self._also_readable is not None and real.is_relative_to(self._also_readable)
        return beside and not real.is_relative_to(self._root)

    def _refusal(self, real: Path) -> str:
        if not real.is_relative_to(self._root):
            return "is outside the workspace"
        relative = real.relative_to(self._root)
        # `.git` holds credentials of the checkout; on case-blind file systems `.GIT` is the same folder.
        if any(part.lower() == ".git" for part in relative.parts):
            return "is inside .git, which is out of reach"
        denied = next((pattern for pattern in self._denied if matches_path(pattern, relative.as_posix())), None)
        return f"is denied by the policy rule for {denied}" if denied else ""
