"""Makes the model's Markdown safe to post: nothing loads, nobody is called, nothing hides.

Code is left as it is, because GitHub shows it as it is. Everything else loses what could be HTML, an image, a reference
definition, a mention or a command, and keeps only the links that are certainly allowed.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ci_agent.outputs.links import Links
from ci_agent.outputs.markdown import Fence, join, split_blocks, split_line

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Sanitiser"]

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MOST_MARKS = 8

ESCAPE = re.compile(r"\\(.?)")
# Escaping these changes nothing on the page, but would keep an address or a mention from being seen here.
NEEDLESS = frozenset("@/.:,;=?\"'%^{}$<&")
# A line of these alone may make a table of the lines around it.
DELIMITERS = frozenset("-:| \t>*+.)0123456789[]xX\\")
COMMAND = re.compile(r"((?:[\s>*_~#|+-]|\d{1,9}[.)])*+)(/\w[\w./-]*+)")
TOKEN = re.compile(
    r"""
      (?P<escape>\\.)
    | (?P<tilde>~(?=~~)|(?<=~~)~|(?<=~)~(?=~))
    | (?P<image>!\[)
    | (?P<definition>\]:)
    | (?P<link>\]\((?P<target>[^\s()<>\[\]`\\"|]{0,1000}+)(?:[ ]"[^"<>\[\]`\\|]{0,200}+")?\))
    | (?P<open>\]\()
    | (?P<tag><)
    | (?P<entity>&(?!(?:lt|gt|amp|quot|nbsp);)(?=\#|[A-Za-z]))
    | (?P<address>(?:(?:https?|ftp)://|www\.)(?:(?![<>()\[\]"'`|\\*!~])[!-~])*+)
    | (?P<mention>(?:(?<![\w.+/@:-])[\w.+/:-]++)?@[\w.+/@:-]*+)
    | (?P<issue>(?:(?<![\w./-])[\w./-]++)?\\?\#\d++)
    | (?P<dollar>\$(?!\d))
    """,
    re.VERBOSE | re.IGNORECASE,
)
REWRITTEN = {
    "tilde": "\\~",
    "image": "!\\[",
    "definition": "]\\:",
    "open": "]\\(",
    "tag": "&lt;",
    "entity": "&amp;",
}
# What may follow an address without becoming a part of it.
TAIL = re.compile(r"[).,:!?*_'\"]{0,20}+(?:\s|\Z)")

LINK_TAIL = re.compile(r"[^\s`@#<>&\\/\[(]{0,200}+(?:\s|\Z)")


@dataclass(frozen=True, slots=True)
class Sanitiser:
    """Knows which hosts a link may lead to, and which repository (owner/name) is our own."""

    hosts: frozenset[str]
    repository: str = ""

    def __call__(self, markdown: str) -> str:
        """Markdown that is safe to post as a block of its own."""
        blocks = [
            str(block) if isinstance(block, Fence) else self._prose(block) for block in split_blocks(_visible(markdown))
        ]
        return "\n\n".join(filter(None, blocks)).strip()

    def line(self, markdown: str) -> str:
        """One line that is safe to post after other words."""
        return self._prose([" ".join(_visible(markdown).split())])

    def _prose(self, lines: list[str]) -> str:
        in_table = any("-" in line and DELIMITERS.issuperset(line) for line in lines)
        prose = _Prose(Links(self.hosts, self.repository), sum(line.count("$") for line in lines) > 1)
        text = "\n".join(prose.line(line, in_table=in_table) if line.strip() else "" for line in lines)
        return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


@dataclass(frozen=True, slots=True)
class _Prose:
    """Rewrites lines that stand outside of fences."""

    links: Links
    has_formulas: bool

    def line(self, line: str, *, in_table: bool) -> str:
        parts: list[str] = []
        pieces = list(split_line(line, in_table=in_table))
        for index, piece in enumerate(pieces):
            if piece.is_code:
                parts.append(piece.text)
                continue
            text = ESCAPE.sub(_plain_escape, piece.text)
            command = COMMAND.match(text) if index == 0 else None
            if command:
                parts += [*self._words(command[1], "", is_last=False), f"`{command[2]}`"]
                text = text[command.end() :]
            parts += self._words(text, "`" if command else "", is_last=index == len(pieces) - 1)
        return join(parts)

    def _words(self, text: str, before: str, *, is_last: bool) -> Iterator[str]:
        """Prose without any code, part by part."""
        position = 0
        for found in TOKEN.finditer(text):
            between = text[position : found.start()]
            yield between
            before = (between or before)[-1:]
            part = self._token(found, before, is_last=is_last)
            yield part
            before, position = part[-1:] or before, found.end()
        yield text[position:]

    def _token(self, found: re.Match[str], before: str, *, is_last: bool) -> str:
        token = found.group()
        match found.lastgroup:
            case "link":
                part = self._link(found, is_last=is_last)
            case "address":
                part = self._address(found, before, is_last=is_last)
            case "mention":
                part = _mention(token, found.string[found.end() : found.end() + 1])
            case "issue":
                part = self._issue(token, before)
            case "dollar":
                part = "\uff04" if self.has_formulas else token
            case kind:
                part = REWRITTEN.get(kind or "", token)
        return part

    def _link(self, found: re.Match[str], *, is_last: bool) -> str:
        target = found["target"].replace("&amp;", "&")
        if refused := self.links.refused(target):
            return f"] (link to {refused} removed)"
        # Without its opening bracket this is no link but a bare address, which reaches as far as it can.
        tail = LINK_TAIL if "/" in target.partition("://")[2] else TAIL
        is_ended = "://" not in target or _ends(tail, found.string, found.end(), is_last=is_last)
        return f"]({target.replace('&', '&amp;')})" + ("" if is_ended else " ")

    def _address(self, found: re.Match[str], before: str, *, is_last: bool) -> str:
        whole = found.group().replace("&amp;", "&")
        address = whole.rstrip(".,:;?_")
        if refused := self.links.refused(address if "://" in address else f"https://{address}"):
            return f"{' ' if before == ']' else ''}(link to {refused} removed)"
        rest = whole[len(address) :]
        is_ended = _ends(TAIL, found.string, found.end() - len(rest), is_last=is_last)
        return address.replace("&", "&amp;") + ("" if is_ended else " ") + rest

    def _issue(self, token: str, before: str) -> str:
        name, _, number = token.replace("\\", "").partition("#")
        is_foreign = name.lower() != self.links.repository.lower() if name else bool(re.match(r"[\w./\\`-]", before))
        return f"`{name}#{number}`" if is_foreign else token


def _ends(tail: re.Pattern[str], text: str, position: int, *, is_last: bool) -> bool:
    """Whether an address ends here by itself: what follows without a space is read as part of it, a span's mark too."""
    found = tail.match(text, position)
    return found is not None and (is_last or found.group()[-1:].isspace())


def _visible(text: str) -> str:
    """The text without what cannot be seen."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", " ").replace("\u2029", " ")
    text = CONTROL.sub("", INVISIBLE.sub("", unicodedata.normalize("NFC", _thinned(text))))
    return unicodedata.normalize("NFC", _thinned(text))


def _thinned(text: str) -> str:
    """The text with few marks on each letter: sorting many takes the square of their number."""
    if text.isascii():
        return text
    kept, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def _plain_escape(found: re.Match[str]) -> str:
    """A backslash only where it means something, and two for one that is shown."""
    character = found[1]
    if character == "&":
        return "&amp;"
    if character in NEEDLESS:
        return character
    return found.group() if re.fullmatch(r"[!-/:-@\[-`{-~]", character) else f"\\\\{character}"


def _mention(token: str, following: str) -> str:
    """A name that calls nobody; an @ alone is left."""
    if not any(map(str.isalnum, token)) and following in {"", " ", "\t", ",", ";", ")", "!", "?", '"', "'"}:
        return token
    name = token.rstrip(".:/+-")
    return f"`{name}`{token[len(name) :]}"
