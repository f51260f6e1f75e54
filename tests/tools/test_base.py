"""How long a tool may take is its own affair."""

from pydantic import BaseModel

from ci_agent.tools.base import tool
from ci_agent.tools.files import read
from ci_agent.types.tools import Effect, ToolContext, ToolResult


class Nothing(BaseModel, extra="forbid"):
    """No arguments."""


@tool("Slow", effect=Effect.READ, parallel=True, seconds=600)
async def slow(args: Nothing, ctx: ToolContext) -> ToolResult:
    """Take long."""
    return ToolResult("")


def test_tool_says_how_long_it_may_take() -> None:
    assert (slow.seconds, read.seconds) == (600, 120.0)
