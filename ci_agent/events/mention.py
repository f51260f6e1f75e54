"""Finds the trigger in a comment, where a person would mean it.

Text that is only shown does not count: code, quotes, and what GitHub does not render. Lines are sorted into blocks
first, as Markdown does, then each block is read once from left to right; both take time in proportion to the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass

__all__ = ["find_request"]

ITEM = re.compile(r" {0,3}(?P<mark>[-+*]|(?P<number>[0-9]{1,9})[.)])(?P<gap> +|$)")
FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
HEADING = re.compile(r"#{1,6}(?: |$)")
BREAK = re.compile(r" {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$")
UNDERLINE = re.compile(r"(?:=+|-+) *$")
RAW_ELEMENT = re.compile(r"<(pre|script|style|textarea)(?=[ >]|$)", re.IGNORECASE)
RAW_ENDS = {
    name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("pre", "script", "style", "textarea")
}  # fmt: skip
# What GitHub's HTML never shows, by how it starts.
HIDDEN = (
    (re.compile("<!--"), re.compile("-->")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile("<![A-Za-z]"), re.compile(">")),
)
TAG = re.compile(
    r"""<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*)
    (?:\s+[A-Za-z_:][A-Za-z0-9_.:-]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*\s*/?>""",
    re.VERBOSE,
)
LONGEST_TAG = 1_000
SHOWING_ELEMENTS = frozenset({"code", "pre", "blockquote", "kbd", "samp", "tt", "script", "style", "textarea"})
SPECIAL = re.compile(r"\\|`+|<")
# Deeper lists than anybody writes; what stands further in is taken as text.
DEEPEST_LIST = 32


def find_request(body: str, trigger: str) -> str | None:
    """The whole comment when it calls the agent; None when it only shows the trigger."""
    blocks = _Blocks()
    for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        blocks.feed(line.expandtabs(4).rstrip(" "))
    voice = _Voice()
    spoken = "\n".join(map(voice.read, blocks.finish()))
    # A login is ASCII, so a letter of another script next to the trigger is a word of its own.
    pattern = rf"(?<![A-Za-z0-9_@/`\\]){re.escape(trigger)}(?![A-Za-z0-9_-])"
    return body.strip() if re.search(pattern, spoken, re.IGNORECASE) else None


@dataclass(frozen=True, slots=True)
class _Block:
    """The text of a paragraph or heading; in raw HTML a comment may reach into the blocks after it."""

    text: str
    is_raw: bool


class _Blocks:
    """Sorts lines into blocks, and leaves out fences, indented code, quotes and raw elements."""

    def __init__(self) -> None:
        self._done: list[_Block] = []
        self._paragraph: list[str] = []
        # How far each open list item indents what belongs to it.
        self._items: list[int] = []
        # What ends the fence (its mark) or the raw HTML (a pattern) that is open.
        self._open: str | re.Pattern[str] | None = None

    def feed(self, line: str) -> None:
        """Take the next line, with tabs expanded and without spaces at its end."""
        if not line:
            self._flush()
            return
        position, kept = self._enter(line)
        if kept < len(self._items):
            if self._paragraph and self._goes_on(line[position:]):
                self._paragraph.append(line[position:])
                return
            # An item that ends takes its open fence with it.
            self._open = None
            self._flush()
            del self._items[kept:]
        if self._open is not None:
            self._look_for_end(line[position:])
            return
        self._sort(line[self._nest(line, position) :])

    def finish(self) -> list[_Block]:
        """Every block, in order."""
        self._flush()
        return self._done

    def _flush(self) -> None:
        if self._paragraph:
            is_raw = any(re.match("<[A-Za-z/]", line) for line in self._paragraph)
            self._done.append(_Block("\n".join(self._paragraph), is_raw))
            self._paragraph = []

    def _enter(self, line: str) -> tuple[int, int]:
        """Where the line's own text starts, and how many of the open list items it belongs to."""
        indent, position = len(line) - len(line.lstrip(" ")), 0
        for kept, width in enumerate(self._items):
            if indent - position < width:
                return position, kept
            position += width
        return position, len(self._items)

    def _goes_on(self, rest: str) -> bool:
        """Whether a line that is not indented still belongs to the paragraph of a list item."""
        text = rest.lstrip(" ")
        starts = (ITEM, BREAK, HEADING, FENCE, RAW_ELEMENT)
        return not (text.startswith(">") or any(start.match(text) for start in starts) or _hidden_end(text, 0))

    def _nest(self, line: str, position: int) -> int:
        """Open the list items that start here; gives where their text starts."""
        while len(self._items) < DEEPEST_LIST:
            marker = ITEM.match(line, position)
            if marker is None or BREAK.match(line, position):
                break
            if self._paragraph and (marker["number"] not in (None, "1") or not marker["gap"]):
                break
            self._flush()
            gap = len(marker["gap"])
            width = marker.end("mark") - position + (gap if 1 <= gap <= 4 else 1)
            self._items.append(width)
            position += width
        return position

    def _sort(self, rest: str) -> None:
        """Take a line without its list items."""
        text = rest.lstrip(" ")
        if len(rest) - len(text) >= 4:
            # Only after a paragraph's line is indented text not code.
            if self._paragraph:
                self._paragraph.append(text)
        elif fence := FENCE.match(text):
            self._flush()
            self._open = fence[1] or fence[2]
        elif end := _raw_end(text):
            self._flush()
            self._open = end
            self._look_for_end(text[2:])
        elif text.startswith(">") or BREAK.match(text) or (self._paragraph and UNDERLINE.match(text)):
            # A line without its own > below a quote is the reply of somebody who forgot the empty line: it counts.
            self._flush()
        elif HEADING.match(text):
            self._flush()
            self._paragraph.append(text)
            self._flush()
        elif text:
            self._paragraph.append(text)

    def _look_for_end(self, rest: str) -> None:
        if isinstance(self._open, str):
            text = rest.lstrip(" ")
            is_end = len(text) >= len(self._open) and not text.strip(self._open[0])
            if is_end and len(rest) - len(text) < 4:
                self._open = None
        elif self._open is not None and (end := self._open.search(rest)):
            self._open = None
            self._done.append(_Block(rest[end.end() :], is_raw=True))


class _Voice:
    """Reads blocks from left to right and keeps what is said. HTML elements may stay open from block to block."""

    def __init__(self) -> None:
        self._element = ""
        self._depth = 0
        self._awaited: re.Pattern[str] | None = None

    def read(self, block: _Block) -> str:
        """The block without code spans, tags and hidden text."""
        text, position, said = block.text, self._come_back(block.text), list[str]()
        runs, missing = _backtick_runs(text), set[re.Pattern[str]]()
        while special := SPECIAL.search(text, position):
            start, mark = special.start(), special[0]
            self._say(said, text[position:start])
            if mark == "\\":
                position = start + 2
            elif mark == "<":
                position = self._pass_html(block, start, missing)
            else:
                position = _pass_code(runs, start, len(mark))
            # What opens nothing is text.
            opened = mark != "\\" and position > start
            position = position if position > start else special.end()
            self._say(said, " " if opened else text[start:position])
        self._say(said, text[position:])
        return "".join(said)

    def _say(self, said: list[str], text: str) -> None:
        if not self._element:
            said.append(text)

    def _come_back(self, text: str) -> int:
        """Where a comment ends that an earlier block opened."""
        if self._awaited is None:
            return 0
        end = self._awaited.search(text)
        if end is None:
            return len(text)
        self._awaited = None
        return end.end()

    def _pass_html(self, block: _Block, start: int, missing: set[re.Pattern[str]]) -> int:
        """Where the tag or hidden text at `start` ends; `start` itself when it is none."""
        end = _hidden_end(block.text, start)
        if end is None:
            return self._pass_tag(block.text, start)
        # Looked for once per block: many starts without an end must not cost a search each.
        found = None if end in missing else end.search(block.text, start + 2)
        if found:
            return found.end()
        missing.add(end)
        if not block.is_raw:
            return start
        self._awaited = end
        return len(block.text)

    def _pass_tag(self, text: str, start: int) -> int:
        tag = TAG.match(text, start, min(len(text), start + LONGEST_TAG))
        if tag is None:
            return start
        name = tag["name"].lower()
        if self._element == name:
            self._depth += -1 if tag["close"] else 1
            self._element = name if self._depth else ""
        elif not self._element and not tag["close"] and name in SHOWING_ELEMENTS:
            self._element, self._depth = name, 1
        return tag.end()


def _raw_end(text: str) -> re.Pattern[str] | None:
    """What ends the raw HTML that a line starts with, if it does."""
    element = RAW_ELEMENT.match(text)
    return RAW_ENDS[element[1].lower()] if element else _hidden_end(text, 0)


def _hidden_end(text: str, position: int) -> re.Pattern[str] | None:
    return next((end for start, end in HIDDEN if start.match(text, position)), None)


def _backtick_runs(text: str) -> dict[int, list[int]]:
    """Where backticks stand, by how many stand together."""
    runs: dict[int, list[int]] = defaultdict(list)
    for run in re.finditer("`+", text):
        runs[len(run[0])].append(run.start())
    return runs


def _pass_code(runs: dict[int, list[int]], start: int, length: int) -> int:
    """Where the code span at `start` ends; `start` itself when no run of its length closes it."""
    starts = runs.get(length, [])
    index = bisect_right(starts, start)
    return starts[index] + length if index < len(starts) else start
