"""Which files the model has seen, and which of them changed since."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SeenFiles"]

LARGEST_HASHED_BYTES = 20 * 1024 * 1024
# File systems keep time in coarse steps: a younger file can change once more without another time stamp.
SETTLED_NANOSECONDS = 2_000_000_000

# Time of change, size and inode.
Mark = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Sight:
    """What stood at a path. Without a mark the next look reads the file again."""

    what: str
    mark: Mark | None = None


class SeenFiles:
    """Remembers each file as the model last saw it."""

    def __init__(self) -> None:
        self._known: dict[Path, Sight] = {}

    def record(self, path: Path, data: bytes) -> None:
        """The model saw this file with this content."""
        try:
            status = path.lstat()
        except OSError:
            status = None
        if len(data) > LARGEST_HASHED_BYTES:
            self._known[path] = _by_stat(status) if status else Sight("gone")
        else:
            same = status is not None and stat.S_ISREG(status.st_mode) and status.st_size == len(data)
            self._known[path] = Sight(_digest(data), _settled(status) if status and same else None)

    def changed(self) -> tuple[Path, ...]:
        """The seen files that are different or gone, each once per change."""
        found: list[Path] = []
        for path, before in list(self._known.items()):
            now = self._known[path] = _look(path, before)
            if now.what != before.what:
                found.append(path)
        return tuple(found)


def _look(path: Path, before: Sight) -> Sight:
    """What stands at a path now; read only where its stat is not the known one."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return Sight("not a regular file")
        if before.mark == _mark(status):
            return before
        return _read(path)
    except FileNotFoundError:
        return Sight("gone")
    except OSError:
        return Sight("out of reach")


def _read(path: Path) -> Sight:
    """A file by its content. What took its place since the stat is neither followed nor waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Sight("not a regular file")
        if status.st_size > LARGEST_HASHED_BYTES:
            return _by_stat(status)
        return Sight(_digest(file.read(LARGEST_HASHED_BYTES)), _settled(status))


def _by_stat(status: os.stat_result) -> Sight:
    """A file too large to be read for this."""
    mark = _mark(status)
    return Sight(f"large {mark}", mark)


def _settled(status: os.stat_result) -> Mark | None:
    """The mark of a file whose time stamp is old enough to tell of the next change."""
    return _mark(status) if time.time_ns() - status.st_mtime_ns > SETTLED_NANOSECONDS else None


def _mark(status: os.stat_result) -> Mark:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
