"""The only door for text that strangers wrote: made visible, cut, and wrapped with its source."""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Wrapper", "make_visible"]

# Tags are how the wrapping speaks; a look-alike inside untrusted text must not close or open one.
TAG = re.compile(r"<(\s*+(?:/\s*+)?untrusted)", re.IGNORECASE)
HTML_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
UNUSUAL = re.compile(r"[^\x20-\x7e\n\t]")
# Normalising sorts the marks on one letter, in time that grows with their number squared.
MOST_MARKS = 30
# They only choose between a coloured and a plain picture, so they go without a trace.
EMOJI_SELECTORS = re.compile("[\ufe00-\ufe0f]")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Wraps untrusted text with a nonce that no author of such text can know. One per run."""

    nonce: str

    @classmethod
    def fresh(cls) -> Wrapper:
        """A wrapper with a new random nonce."""
        return cls(secrets.token_hex(8))

    def wrap(self, source: str, text: str, limit: int) -> str:
        """The text as data, with its source; what was cut is said."""
        visible = TAG.sub(r"&lt;\1", make_visible(text))
        cut = f"\n[cut: {len(visible) - limit} of {len(visible)} characters left out]" if len(visible) > limit else ""
        return f'<untrusted-{self.nonce} source="{_label(source)}">\n{visible[:limit]}{cut}\n</untrusted-{self.nonce}>'

    def mark(self, source: str, text: str) -> str:
        """A tool's result as data. Its characters stay as they are, but for those that hide: a model edits by them."""
        shown = TAG.sub(r"&lt;\1", UNUSUAL.sub(lambda match: _visible(match[0]), text.replace("\r\n", "\n")))
        return f'<untrusted-{self.nonce} source="{_label(source)}">\n{shown}\n</untrusted-{self.nonce}>'


def _label(source: str) -> str:
    return re.sub(r"[^\w .,:#@/-]", "_", make_visible(source))[:200]


def make_visible(text: str) -> str:
    """Normalised text in which nothing hides: no HTML comments, no invisible or direction-changing characters."""
    plain = EMOJI_SELECTORS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    normal = unicodedata.normalize("NFC", _part_marks(plain))
    shown = HTML_COMMENT.sub(lambda match: f"[hidden HTML comment: {match.group(1).strip()}]", normal)
    return UNUSUAL.sub(lambda match: _visible(match[0]), shown)


def _part_marks(text: str) -> str:
    """The text with a grapheme joiner, which is shown, wherever too many marks stand on one letter."""
    if text.isascii():
        return text
    parts, start, marks = list[str](), 0, 0
    for index, character in enumerate(text):
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > MOST_MARKS:
            parts.append(text[start:index])
            start, marks = index, 1
    return "\u034f".join([*parts, text[start:]])


@lru_cache(maxsize=4_096)
def _visible(character: str) -> str:
    return f"[U+{ord(character):04X}]" if _hides(character) else character


def _hides(character: str) -> bool:
    """Controls, format characters (bidirectional marks, zero width, tags), selectors and fillers."""
    return (
        unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Cn")
        or "\U000e0100" <= character <= "\U000e01ef"
        or character in "\u115f\u1160\u3164\uffa0\u2800\u034f"
    )
