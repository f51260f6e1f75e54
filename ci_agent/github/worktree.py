"""A place to edit in: a git worktree of one frozen commit, gone when the run is."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ci_agent.errors import ConfigError

if TYPE_CHECKING:
    from ci_agent.github.repo import GitRepo

__all__ = ["Worktree", "Worktrees"]

# The process that made a worktree is part of its name, so that the next run knows which ones were left behind.
NAME = re.compile(r"tree-(\d+)-(\d+)")
CHECKOUT_SECONDS = 300
MOST_NAMESAKES = 1_000


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checked out commit. `notes` are what its user should know about it."""

    root: Path
    commit: str
    notes: tuple[str, ...] = ()


class Worktrees:
    """Worktrees of a repository, all in one folder beside it."""

    def __init__(self, repo: GitRepo, folder: Path) -> None:
        self._repo = repo
        self._folder = folder.resolve()

    @contextmanager
    def at(self, name: str) -> Iterator[Worktree]:
        """A worktree of a commit; nothing of it stays, whatever happens inside."""
        commit = self._repo.commit_of(name)
        if commit is None:
            raise ConfigError(
                f"{name} is not a commit of this checkout", hint="check it out with actions/checkout and its ref input"
            )
        self.prune()
        root = self._new_path()
        try:
            self._add(root, commit)
            yield Worktree(root, commit, self._notes())
        finally:
            self._remove(root)

    def prune(self) -> list[Path]:
        """Take away what runs left that were killed; those of live processes stay."""
        stale = [path for path in self._list() if (owner := _owner(path)) and not _is_alive(owner)]
        for path in stale:
            self._remove(path)
        # Entries whose folder somebody else removed.
        self._repo.git("worktree", "prune", "--expire", "now")
        return stale

    def free_branch(self, wanted: str) -> str:
        """The wanted branch name, or the next one with a number that nobody has, here or on the remote."""
        if "\0" in wanted or self._repo.git("check-ref-format", "--branch", wanted).returncode != 0:
            raise ConfigError(f'"{wanted}" cannot be a branch name', hint="choose another one")
        listed = self._repo.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes")
        refs = listed.stdout.decode("utf-8", "replace").split()
        taken = {ref.removeprefix("refs/heads/") for ref in refs}
        taken |= {
            ref.removeprefix("refs/remotes/").partition("/")[2] for ref in refs if ref.startswith("refs/remotes/")
        }
        # A branch `a` and a branch `a/b` cannot both be.
        stem = wanted.replace("/", "-") if any(wanted.startswith(f"{other}/") for other in taken) else wanted
        for number in range(1, MOST_NAMESAKES):
            name = stem if number == 1 else f"{stem}-{number}"
            if not any(name == other or other.startswith(f"{name}/") for other in taken):
                return name
        raise ConfigError(f"{MOST_NAMESAKES} branches are named {wanted}", hint="delete some of them")

    def _new_path(self) -> Path:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(MOST_NAMESAKES):
            path = self._folder / f"tree-{os.getpid()}-{number}"
            try:
                # Made here and not by git: nobody else can have put a link in its place.
                path.mkdir(mode=0o700)
            except FileExistsError:
                continue
            return path
        raise ConfigError(f"{self._folder} is full of worktrees", hint="remove the folder")

    def _add(self, root: Path, commit: str) -> None:
        # Detached: a branch could be checked out elsewhere, and its name taken.
        made = self._repo.git(
            "worktree", "add", "--quiet", "--detach", "--force", "--", str(root), commit, seconds=CHECKOUT_SECONDS
        )
        if made.returncode != 0:
            reason = " ".join(made.stderr.decode("utf-8", "replace").split())
            raise ConfigError(
                f"no worktree of {commit[:12]} could be made: {reason}", hint="check out the commit with its files"
            )

    def _remove(self, root: Path) -> None:
        # Twice forced: changes inside are the run's own, and a lock is a dead run's.
        self._repo.git("worktree", "remove", "--force", "--force", "--", str(root), seconds=CHECKOUT_SECONDS)
        if root.is_relative_to(self._folder) and root != self._folder:
            # What git would not remove, files that a tool made unreadable for example.
            shutil.rmtree(root, onerror=_make_removable)
        self._repo.git("worktree", "prune", "--expire", "now")

    def _list(self) -> list[Path]:
        """Our worktrees, known to git or only left as folders."""
        listed = self._repo.git("worktree", "list", "--porcelain", "-z").stdout.decode("utf-8", "surrogateescape")
        known = [Path(entry.removeprefix("worktree ")) for entry in listed.split("\0") if entry.startswith("worktree ")]
        left = list(self._folder.iterdir()) if self._folder.is_dir() else []
        return [path for path in {*known, *left} if path.parent == self._folder and NAME.fullmatch(path.name)]

    def _notes(self) -> tuple[str, ...]:
        notes: list[str] = []
        status = self._repo.git("status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames")
        if changed := [entry for entry in status.stdout.split(b"\0") if entry]:
            count = f"{len(changed)} change{'' if len(changed) == 1 else 's'}"
            notes.append(f"{count} in the checkout that {'is' if len(changed) == 1 else 'are'} not committed stay out")
        shallow = self._repo.git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        if shallow:
            notes.append("the clone is shallow: history beyond it is not there")
        return tuple(notes)


def _owner(path: Path) -> int:
    named = NAME.fullmatch(path.name)
    return int(named[1]) if named else 0


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _make_removable(function: object, path: str, problem: object) -> None:
    """A folder without rights is given them once more; what cannot be removed then is left to the next prune."""
    parent = Path(path).parent
    try:
        parent.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            Path(path).chmod(0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink(missing_ok=True)
    except OSError:
        return
