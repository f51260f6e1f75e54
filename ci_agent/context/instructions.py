"""The repository's own instructions to agents, from the trusted source only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ci_agent.errors import NotAFile

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FILES", "read_instructions"]

FILES = ("AGENTS.md", "CLAUDE.md")


def read_instructions(read: Callable[[str], str | None]) -> list[tuple[str, str]]:
    """The instruction files that exist, each text once."""
    found: dict[str, str] = {}
    for name in FILES:
        try:
            text = (read(name) or "").strip()
        except NotAFile:
            # One of them is often a link to the other.
            continue
        # Many repositories keep one file and point the other at it, or copy it.
        if text and text not in found.values() and text != "@AGENTS.md":
            found[name] = text
    return list(found.items())
