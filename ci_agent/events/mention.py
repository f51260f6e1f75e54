"""Finds the trigger in a comment, where a person would mean it."""

from __future__ import annotations

import re

__all__ = ["find_request"]

# Each of these shows text without saying it: code, quotes and what GitHub does not render.
FENCE = re.compile(
    r"^(?P<mark> {0,3}(?P<tick>`{3,}|~{3,}))[^\n]*\n.*?(?:^ {0,3}(?P=tick)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
CODE_ELEMENT = re.compile(r"<(code|pre)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
QUOTE = re.compile(r"^ {0,3}>.*(?:\n|\Z)", re.MULTILINE)
INDENTED = re.compile(r"(?:\A|(?<=\n\n))(?:(?: {4}|\t).*(?:\n|\Z))+")


def find_request(body: str, trigger: str) -> str | None:
    """The whole comment when it calls the agent; None when it only shows the trigger."""
    spoken = _spoken(body.replace("\r\n", "\n"))
    pattern = rf"(?<![\w@/.`-]){re.escape(trigger)}(?![\w-])"
    return body.strip() if re.search(pattern, spoken, re.IGNORECASE) else None


def _spoken(body: str) -> str:
    """The comment without code, quotes and hidden text."""
    for pattern in (FENCE, HTML_COMMENT, CODE_ELEMENT, CODE_SPAN, QUOTE, INDENTED):
        body = pattern.sub("\n", body) if pattern is not CODE_SPAN else pattern.sub(" ", body)
    return body
