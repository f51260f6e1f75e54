"""Results that are too long for the model: whole on disk, beginning and end in the conversation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ci_agent.tools.files import LONGEST_LINE
from ci_agent.types.messages import ToolResultBlock
from ci_agent.types.tools import LARGEST_RESULT

__all__ = ["LARGEST_MESSAGE", "Spill"]

LARGEST_MESSAGE = 120_000
# Characters of the beginning and of the end that are shown; the later ones for a message of many long results.
SIZES = ((8_000, 4_000), (2_000, 1_000), (500, 250), (0, 0))
# More than the sentence between beginning and end takes, its path not counted.
ROOM = 600
LONGEST_NAME = 64
MOST_NAMESAKES = 1_000
LONG_LINE = re.compile(rf"[^\r\n]{{{LONGEST_LINE}}}(?=[^\r\n])")
UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Kept:
    """A long result: what of it can be shown, and where the whole is. `path` is empty where it is lost."""

    name: str
    head: str
    tail: str
    characters: int
    lines: int
    path: str

    def excerpt(self, head_size: int, tail_size: int) -> str:
        """Beginning and end, with what was left out between them."""
        head, tail = _head(self.head, head_size), _tail(self.tail, tail_size)
        left_out = self.characters - len(head) - len(tail)
        note = (
            f"[{self.name or 'The call'} gave {self.characters:,} characters in {self.lines:,} lines, too many to show."
            f" Left out here: {left_out:,} characters"
            f"{' after the text above' if head else ''}{' and before the text below' if tail else ''}. "
        )
        if self.path:
            first = max(1, len(_folded(head).splitlines()) + head.endswith("\n"))
            note += f"The whole text is in {self.path}: Read with this path and offset {first} shows the rest.]"
        else:
            note += "The whole text could not be kept, so this part is lost; ask for less at once.]"
        return "\n".join(part for part in (head.removesuffix("\n"), note, tail) if part)


class Spill:
    """Shortens long results and keeps the whole of them in a folder of this run."""

    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        self._folder = folder.absolute()
        self._redact = redact
        self._room = ROOM + len(str(self._folder))
        # By their excerpts, so that the results of one message can be shortened once more.
        self._kept: dict[str, Kept] = {}

    @property
    def folder(self) -> Path:
        """Where whole results are."""
        return self._folder

    def fit(self, name: str, tool_use_id: str, content: str) -> str:
        """The content as it is, or an excerpt that says where the rest is."""
        return content if len(content) <= LARGEST_RESULT else self._shorten(name, tool_use_id, content, SIZES[0])

    def fit_all(self, results: Sequence[ToolResultBlock]) -> tuple[ToolResultBlock, ...]:
        """The results of one message, the longest shortened first until all of them together fit."""
        fitted = [replace(result, content=self.fit("", result.tool_use_id, result.content)) for result in results]
        excess = sum(len(result.content) for result in fitted) - LARGEST_MESSAGE
        for sizes in SIZES:
            for index in sorted(range(len(fitted)), key=lambda index: -len(fitted[index].content)):
                if excess <= 0:
                    break
                before = fitted[index]
                if len(before.content) > sum(sizes) + self._room:
                    shorter = self._shorten("", before.tool_use_id, before.content, sizes)
                    fitted[index] = replace(before, content=shorter)
                excess -= len(before.content) - len(fitted[index].content)
        self._kept.clear()
        if excess > 0:
            share = LARGEST_MESSAGE // len(fitted)
            fitted = [replace(result, content=result.content[:share]) for result in fitted]
        return tuple(fitted)

    def _shorten(self, name: str, tool_use_id: str, content: str, sizes: tuple[int, int]) -> str:
        """An excerpt of a content, or a smaller one of what is an excerpt already."""
        kept = self._kept.get(content)
        if kept is None:
            text = self._redact(content)
            if len(text) <= sum(sizes) + self._room:
                return text
            kept = self._keep(_safe(name), _safe(tool_use_id) or "call", text)
        excerpt = kept.excerpt(*sizes)
        self._kept[excerpt] = kept
        return excerpt

    def _keep(self, name: str, stem: str, text: str) -> Kept:
        head, tail = SIZES[0]
        on_disk = _folded(text)
        path = self._write(stem, on_disk)
        # One character more than the end, to see whether it starts a line.
        return Kept(name, text[:head], text[-tail - 1 :], len(text), len(on_disk.splitlines()), path)

    def _write(self, stem: str, text: str) -> str:
        """Where the text is now, or nothing where the folder cannot be written."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                return str(self._folder / _write_new(folder, stem, text.encode("utf-8", "replace")))
            finally:
                os.close(folder)
        except OSError:
            return ""


def _write_new(folder: int, stem: str, data: bytes) -> str:
    """Write a file that nobody else has; half of one is taken away again."""
    for number in range(1, MOST_NAMESAKES + 1):
        name = f"{stem}.txt" if number == 1 else f"{stem}-{number}.txt"
        try:
            # O_EXCL refuses whatever stands there, a link as well.
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        except FileExistsError:
            continue
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError:
            os.unlink(name, dir_fd=folder)
            raise
        return name
    raise FileExistsError(0, f"{MOST_NAMESAKES} files are named {stem}")


def _safe(name: str) -> str:
    """A name that a model chose, as part of a file's name or of a sentence."""
    return UNSAFE.sub("_", name[:LONGEST_NAME])


def _folded(text: str) -> str:
    """The text with its longest lines broken: Read cuts a line, and no page would show the rest of it."""
    return LONG_LINE.sub(r"\g<0>\n", text)


def _head(text: str, size: int) -> str:
    """The beginning, up to a line's end where one is near."""
    return text[: text.rfind("\n", size // 2, size) + 1 or size]


def _tail(text: str, size: int) -> str:
    """The end, from a line's start where one is near."""
    start = len(text) - size
    line = text.find("\n", max(start - 1, 0), start + size // 2)
    return text[line + 1 if line >= 0 else max(start, 0) :]
