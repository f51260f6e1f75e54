"""Tells code from prose in Markdown, so that what is taken for code is code wherever it is shown.

Nothing here follows a renderer's rules for what the model meant. A fence is written anew at the margin with an empty
line around it, and every backtick that is not part of a span is escaped: what comes out has one reading.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Fence", "Piece", "join", "split_blocks", "split_line"]

FENCE_LINE = re.compile(r"(?P<indent>[ \t]*+)(?P<mark>`{3,}+|~{3,}+)(?P<info>.*+)")
LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+#._-]{0,30}")
# GitHub draws these itself, with links and scripts of their own.
DRAWN = frozenset({"mermaid", "geojson", "topojson", "stl", "math"})
TICKS = re.compile(r"\\[!-/:-@\[-`{-~]|`++")


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of code."""

    character: str
    language: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        """The fence at the margin, with a mark that nothing inside can close."""
        runs = re.findall(f"{self.character}++", "\n".join(self.lines))
        mark = self.character * max(3, 1 + max(map(len, runs), default=0))
        return "\n".join((mark + self.language, *self.lines, mark))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one line: a code span with its backticks, or prose without any that could open one."""

    text: str
    is_code: bool = False


def split_blocks(text: str) -> Iterator[Fence | list[str]]:
    """The fences of a text, and the lines of prose between them; an open fence reaches to the end."""
    prose: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        opener = FENCE_LINE.fullmatch(line)
        if not opener or (opener["mark"][0] == "`" and "`" in opener["info"]):
            prose.append(line)
            continue
        yield prose
        prose = []
        yield _read_fence(opener, lines)
    yield prose


def _read_fence(opener: re.Match[str], lines: Iterator[str]) -> Fence:
    indent = len(opener["indent"].expandtabs(4))
    body: list[str] = []
    for line in lines:
        if _closes(line, opener["mark"], indent):
            break
        margin = len(line) - len(line.lstrip(" "))
        body.append(line[min(margin, indent) :])
    word = LANGUAGE.match(opener["info"].strip())
    language = word.group() if word else ""
    return Fence(opener["mark"][0], "text" if language.lower() in DRAWN else language, tuple(body))


def _closes(line: str, mark: str, indent: int) -> bool:
    found = FENCE_LINE.fullmatch(line)
    # Deeper than that, it is shown as part of the code.
    return (
        found is not None
        and found["mark"].startswith(mark)
        and not found["info"].strip()
        and len(found["indent"].expandtabs(4)) < indent + 4
    )


def split_line(line: str, *, in_table: bool) -> Iterator[Piece]:
    """The code spans of one line and the prose between them, whose own backticks come out escaped."""
    runs: dict[int, list[int]] = {1: [], 2: []}
    for run in re.finditer("`++", line):
        runs.setdefault(len(run.group()), []).append(run.start())
    prose: list[str] = []
    position = 0
    while found := TICKS.search(line, position):
        prose.append(line[position : found.start()])
        position = found.end()
        size = len(found.group())
        end = _span_end(line, position, size, runs, in_table=in_table) if found.group() in {"`", "``"} else 0
        if end:
            yield Piece("".join(prose))
            yield Piece(line[found.start() : end], is_code=True)
            prose, position = [], end
        else:
            prose.append(found.group() if found.group()[0] == "\\" else "\\`" * size)
    yield Piece("".join([*prose, line[position:]]))


def _span_end(line: str, start: int, size: int, runs: dict[int, list[int]], *, in_table: bool) -> int:
    """Where the span ends that is opened before `start`; 0 when it is not certainly one."""
    closers = runs[size]
    index = bisect_left(closers, start)
    if index == len(closers):
        return 0
    # A table cuts its cells before it looks for code, so a bar inside a span ends it there.
    if in_table and line.find("|", start, closers[index]) >= 0:
        return 0
    return closers[index] + size


def join(parts: list[str]) -> str:
    """Parts of a line in one string; two spans side by side would read as another span."""
    joined: list[str] = []
    for part in filter(None, parts):
        if joined and joined[-1][-1] == part[0] == "`":
            joined.append(" ")
        joined.append(part)
    return "".join(joined)
