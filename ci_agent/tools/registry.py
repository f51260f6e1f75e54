"""All tools, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ci_agent.tools.base import Tool
from ci_agent.tools.files import read
from ci_agent.tools.search import glob, grep
from ci_agent.tools.todo import todo_write
from ci_agent.types.messages import ToolSpec
from ci_agent.types.tasks import Grant

__all__ = ["TOOLS", "specs"]

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            read,
            glob,
            grep,
            todo_write,
        )
    }
)


def specs(grant: Grant) -> tuple[ToolSpec, ...]:
    """The granted tools, in an order that never changes."""
    return tuple(tool.spec() for name, tool in TOOLS.items() if name in grant.tools)
