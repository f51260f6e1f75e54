"""The only door for text that strangers wrote: made visible, cut, and wrapped with its source."""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass

__all__ = ["Wrapper", "make_visible"]

# Tags are how the wrapping speaks; a look-alike inside untrusted text must not close or open one.
TAG = re.compile(r"<(\s*/?\s*untrusted)", re.IGNORECASE)
HTML_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
KEPT_CONTROLS = frozenset("\n\t")
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
        label = re.sub(r"[^\w .,:#@/-]", "_", make_visible(source))[:200]
        return f'<untrusted-{self.nonce} source="{label}">\n{visible[:limit]}{cut}\n</untrusted-{self.nonce}>'


def make_visible(text: str) -> str:
    """Normalised text in which nothing hides: no HTML comments, no invisible or direction-changing characters."""
    normal = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    shown = HTML_COMMENT.sub(lambda match: f"[hidden HTML comment: {match.group(1).strip()}]", normal)
    shown = EMOJI_SELECTORS.sub("", shown)
    return "".join(_visible(character) for character in shown)


def _visible(character: str) -> str:
    if character in KEPT_CONTROLS or not _hides(character):
        return character
    return f"[U+{ord(character):04X}]"


def _hides(character: str) -> bool:
    """Controls, format characters (bidirectional marks, zero width, tags), selectors and fillers."""
    return (
        unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Cn")
        or "\U000e0100" <= character <= "\U000e01ef"
        or character in "\u115f\u1160\u3164\uffa0\u2800\u034f"
    )
