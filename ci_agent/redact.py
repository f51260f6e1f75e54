"""Takes secrets out of any text: exact values, their usual encodings, and known token shapes."""

from __future__ import annotations

import base64
import re
import urllib.parse
from collections.abc import Iterable, Iterator

__all__ = ["Redactor"]

MARK = "[redacted]"
# A shorter value would tear holes into ordinary words.
SHORTEST_SECRET = 6

TOKEN_SHAPES = re.compile(
    r"""
      gh[pousr]_[A-Za-z0-9]{16,}                            # GitHub tokens
    | github_pat_[A-Za-z0-9_]{20,}
    | sk-ant-[A-Za-z0-9_-]{8,}                              # Anthropic keys and access tokens
    | (?:AKIA|ASIA)[A-Z0-9]{16}                             # AWS access keys
    | xox[abeoprs]-[A-Za-z0-9-]{10,}                        # Slack
    | npm_[A-Za-z0-9]{30,}
    | pypi-[A-Za-z0-9_-]{30,}
    | glpat-[A-Za-z0-9_-]{20,}
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.VERBOSE,
)
# A web token is looked for part by part: one expression for all of it would try again at each of many `eyJ`.
DOTTED = re.compile(r"[A-Za-z0-9_.-]++")
SHORTEST_PART = 10


class Redactor:
    """Knows a run's secrets and replaces them wherever they appear."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        # Longest first, so that a secret which contains another leaves no rest behind.
        ordered = sorted(forms, key=len, reverse=True)
        self._exact = re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE) if ordered else None

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if self._exact is not None:
            text = self._exact.sub(MARK, text)
        return DOTTED.sub(lambda match: _without_web_tokens(match[0]), TOKEN_SHAPES.sub(MARK, text))


def _without_web_tokens(text: str) -> str:
    """Dotted words without JSON web tokens: two parts that start as JSON objects do, and a signature."""
    if ".eyJ" not in text:
        return text
    parts, kept, index = text.split("."), list[str](), 0
    while index < len(parts):
        head, found, rest = parts[index].partition("eyJ")
        body, signature = (*parts[index + 1 : index + 3], "", "")[:2]
        is_token = found and len(rest) >= SHORTEST_PART and body.startswith("eyJ")
        if is_token and len(body) >= SHORTEST_PART + 3 and len(signature) >= SHORTEST_PART:
            kept.append(head + MARK)
            index += 3
        else:
            kept.append(parts[index])
            index += 1
    return ".".join(kept)


def _forms(secret: str) -> Iterator[str]:
    """The value and the encodings a log or a model most often gives it."""
    value = secret.strip()
    if len(value) < SHORTEST_SECRET:
        return
    raw = value.encode("utf-8", "surrogatepass")
    yield value
    yield value[::-1]
    yield urllib.parse.quote(raw, safe="")
    yield raw.hex()
    yield base64.b32encode(raw).decode().rstrip("=")
    yield from _base64_cores(raw)


def _base64_cores(raw: bytes) -> Iterator[str]:
    """The part of each base64 text that stays the same wherever the value starts in the encoded bytes."""
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
        # The first characters mix in what stands before the value, the last what stands after it.
        core = encoded[(0, 2, 3)[shift] : len(encoded) - (1 if (len(raw) + shift) % 3 else 0)]
        if len(core) >= SHORTEST_SECRET:
            yield core
            yield core.replace("+", "-").replace("/", "_")
