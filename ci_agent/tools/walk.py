"""Finds and searches files in a process of its own.

It runs as a script with an empty environment, gets its job as JSON on stdin, and can be killed: a regular
expression that never ends costs its caller a timeout and nothing else. Only the standard library is imported.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any

SKIPPED_FOLDERS = {".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".ruff_cache"}
LARGEST_FILE_BYTES = 4 * 1024 * 1024
LONGEST_LINE = 500


def find(root: str, start: str, pattern: str) -> Iterator[str]:
    """Regular files below `start`, in order, whose path matches; links are not followed."""
    expression = re.compile(pattern) if pattern else None
    for path in walk(start):
        relative = os.path.relpath(path, root).replace(os.sep, "/")
        seen_from_start = os.path.relpath(path, start).replace(os.sep, "/")
        if expression is None or expression.fullmatch(seen_from_start) or expression.fullmatch(relative):
            yield relative


def walk(start: str) -> Iterator[str]:
    """Regular files, a folder's own before those of its folders; what vanishes or cannot be read is passed over.

    `os.walk` calls itself for each level and fails on a tree a thousand folders deep.
    """
    waiting = [start]
    while waiting:
        folder = waiting.pop()
        folders = []
        for name in list_names(folder):
            path = os.path.join(folder, name)  # noqa: PTH118 - this script avoids what it does not need
            mode = mode_of(path)
            if stat.S_ISREG(mode):
                yield path
            elif stat.S_ISDIR(mode) and name.lower() not in SKIPPED_FOLDERS:
                folders.append(path)
        waiting += reversed(folders)


def list_names(folder: str) -> list[str]:
    """The names in a folder, in order; none when it cannot be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - as above
    except OSError:
        return []


def mode_of(path: str) -> int:
    """What stands at a path, links not followed; 0 when it vanished."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def printable(name: str) -> str:
    """A name in which each byte that is not UTF-8 is one replacement character, so that globs see its length."""
    return re.sub("[\ud800-\udfff]", "\ufffd", name)


def search(path: str, expression: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file that match."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            data = file.read(LARGEST_FILE_BYTES)
    except OSError:
        # A file that vanished or cannot be opened has no match; the walk goes on.
        return
    if b"\0" in data[:8_192]:
        return
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if expression.search(line):
            yield number, line[:LONGEST_LINE]


def main() -> None:
    """Read a job, print each find as a JSON line."""
    job: dict[str, Any] = json.load(sys.stdin)
    root, start = job["root"], job["start"]
    paths = [os.path.relpath(start, root)] if os.path.isfile(start) else find(root, start, job["glob"])  # noqa: PTH113
    expression = re.compile(job["regex"], re.IGNORECASE if job["ignore_case"] else 0) if job["regex"] else None
    for relative in paths:
        if expression is None:
            print(json.dumps([printable(relative)]), flush=True)  # noqa: T201 - stdout is how a worker answers
            continue
        for number, line in search(os.path.join(root, relative), expression):  # noqa: PTH118
            print(json.dumps([printable(relative), number, line]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
