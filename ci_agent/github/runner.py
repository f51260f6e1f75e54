"""The runner's side of the world: step outputs, the step summary, and lines in the log."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

__all__ = ["Console", "annotation", "append_summary", "write_outputs"]

SUMMARY_LIMIT_BYTES = 1024 * 1024
# The runner obeys lines that start with `::` (or hold `##[`); text of strangers must never make one. What ends a line
# is the runner's to say, so everything that ends one anywhere counts.
COMMAND = re.compile("(^|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])([^\\S\n\r]*)::|##\\[")


def write_outputs(path: Path | None, values: Mapping[str, str]) -> None:
    """Append step outputs, each behind a delimiter that its value cannot know."""
    if path is None:
        return
    lines = []
    for name, value in values.items():
        delimiter = f"ci_agent_{secrets.token_hex(16)}"
        lines.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(lines))


def append_summary(path: Path | None, markdown: str) -> None:
    """Append to the step summary, within the runner's limit."""
    if path is None:
        return
    room = SUMMARY_LIMIT_BYTES - (path.stat().st_size if path.exists() else 0)
    data = (markdown.rstrip() + "\n").encode()
    if len(data) > room:
        notice = b"\n\n_The summary is cut here: it reached the runner's limit. The artifact has all of it._\n"
        data = data[: max(0, room - len(notice))].decode("utf-8", "ignore").encode() + notice
    with path.open("ab") as file:
        file.write(data[: max(0, room)])


class Console:
    """The log of the job. What it prints can never be a workflow command."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def say(self, text: str) -> None:
        """Print text with anything that looks like a workflow command made harmless."""
        print(COMMAND.sub(_disarmed, text), file=self._stream, flush=True)


def _disarmed(match: re.Match[str]) -> str:
    return "# #[" if match.group(0).endswith("[") else f"{match.group(1)}{match.group(2)}: :"


def annotation(level: str, text: str, *, in_actions: bool) -> str:
    """One line for the log that Actions also shows on the job's page."""
    line = " ".join(text.split())
    if not in_actions:
        return f"ci_agent: {level}: {line}"
    return f"::{level} title=ci_agent::{line.replace('%', '%25')}"
