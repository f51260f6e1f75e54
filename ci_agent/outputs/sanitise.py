"""Makes the model's Markdown safe to post: nothing loads, nobody is called, nothing hides.

Code is left as it is, because GitHub shows it as it is. What counts as code here is deliberately narrow: a fence that
starts at the margin, and a span within one line. Anything else is treated as text, which can only look plainer.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["Sanitiser"]

FENCE = re.compile(
    r"^(?P<mark>`{3,}|~{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=mark)[`~]*[ \t]*$\n?",
    re.MULTILINE | re.DOTALL,
)
# An escaped backtick opens nothing, and a span must not reach over a line's end.
CODE_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)[^\n]+?(?<!`)\1(?!`)")
TABLE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|", re.MULTILINE)
# GitHub draws these itself, with links and scripts of their own.
DRAWN = frozenset({"mermaid", "geojson", "topojson", "stl", "math"})

TAG = re.compile(r"<(?!/?(?:details|summary|br|sub|sup|kbd)\s*/?>)", re.IGNORECASE)
HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|nbsp);)(?=#|[A-Za-z])")
DESTINATION = re.compile(r"\]\(\s*(<[^>\n]*>|[^\s)]*)[^)\n]*\)?")
REFERENCE = re.compile(r"^([ \t>]*\[[^\]\n]+\]:)\s*(\S+).*$", re.MULTILINE)
BARE_ADDRESS = re.compile(r"(?:(?:https?|ftp)://|(?<![\w.])www\.)[^\s<>)\]\"'`]+", re.IGNORECASE)
MENTION = re.compile(r"(?<![\w`/@])@(?=[A-Za-z0-9])[A-Za-z0-9-]+(?:/[\w.-]+)?")
FOREIGN_ISSUE = re.compile(r"(?<![\w/`])[\w.-]+/[\w.-]+#\d+")
SLASH_COMMAND = re.compile(r"^([ \t>*-]*)(/[A-Za-z][\w-]*)", re.MULTILINE)
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Sanitiser:
    """Knows which hosts a link may lead to."""

    hosts: frozenset[str]

    def __call__(self, markdown: str) -> str:
        """Markdown that is safe to post."""
        text = unicodedata.normalize("NFC", markdown.replace("\r\n", "\n").replace("\r", "\n"))
        text = CONTROL.sub("", INVISIBLE.sub("", text))
        return _closed("".join(self._blocks(text)).strip())

    def _blocks(self, text: str) -> Iterator[str]:
        position = 0
        for fence in FENCE.finditer(text):
            yield self._prose(text[position : fence.start()])
            info = fence["info"].strip()
            language = "text" if info.split(" ")[0].lower() in DRAWN else re.sub(r"[^\w+#.-].*", "", info)
            # With an empty line around it, a fence at the margin is code whatever stands before it.
            yield f"\n\n{fence['mark']}{language}\n{fence['body']}{fence['mark']}\n\n"
            position = fence.end()
        yield self._prose(text[position:])

    def _prose(self, text: str) -> str:
        """Text without its fences. A comment could swallow a span, so comments go first."""
        text = HTML_COMMENT.sub("", text)
        in_table = bool(TABLE.search(text))
        parts, position = [], 0
        for span in CODE_SPAN.finditer(text):
            # A table cuts its cells before it looks for code, so a bar inside a span ends it there.
            if in_table and "|" in span.group():
                continue
            parts += [self._words(text[position : span.start()]), span.group()]
            position = span.end()
        parts.append(self._words(text[position:]))
        return re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip("\n")

    def _words(self, text: str) -> str:
        """Text that holds no code at all."""
        text = ENTITY.sub("&amp;", TAG.sub("&lt;", text))
        text = text.replace("![", "!\\[")
        text = DESTINATION.sub(self._destination, text)
        text = REFERENCE.sub(self._reference, text)
        text = BARE_ADDRESS.sub(self._address, text)
        text = MENTION.sub(lambda match: f"`{match.group()}`", text)
        text = FOREIGN_ISSUE.sub(lambda match: f"`{match.group()}`", text)
        return SLASH_COMMAND.sub(lambda match: f"{match.group(1)}`{match.group(2)}`", text)

    def _destination(self, match: re.Match[str]) -> str:
        refused = self._refused(match.group(1).strip("<>"))
        return f"] (link to {refused} removed)" if refused else match.group()

    def _reference(self, match: re.Match[str]) -> str:
        refused = self._refused(match.group(2).strip("<>"))
        return f"(link to {refused} removed)" if refused else match.group()

    def _address(self, match: re.Match[str]) -> str:
        address = match.group()
        refused = self._refused(address if "://" in address else f"https://{address}")
        return f"(link to {refused} removed)" if refused else address

    def _refused(self, destination: str) -> str:
        """Where a link leads when it may not; empty for one that may stay."""
        plain = html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", destination)).strip()
        try:
            parts = urlsplit(plain)
            host = (parts.hostname or "").lower()
        except ValueError:
            return "a malformed address"
        if not parts.scheme and not parts.netloc and not plain.startswith(("//", "\\")):
            return ""
        if parts.scheme in ("http", "https") and host in self.hosts and "@" not in parts.netloc:
            return ""
        # GitHub makes a link of every name that starts with www.
        return re.sub(r"[^a-z0-9.-]", "", host).removeprefix("www.") or "another place"


def _closed(text: str) -> str:
    """The text with its last fence closed, so that it cannot swallow what is posted after it."""
    mark = ""
    for line in text.splitlines():
        found = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if found and not mark:
            mark = found.group(1)
        elif found and found.group(1).startswith(mark) and not line.strip().strip(mark[0]):
            mark = ""
    return f"{text}\n{mark}" if mark else text
