"""Where hooks may speak: before and after a tool, and when the model wants to stop. They tighten, never loosen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ci_agent.types.messages import ToolUseBlock
    from ci_agent.types.tools import ToolResult

__all__ = ["GO_ON", "HookAction", "HookAnswer", "Hooks", "NoHooks"]


class HookAction(Enum):
    """What a hook wants."""

    GO_ON = "go_on"
    BLOCK = "block"
    """Refuse the call; for a stop: do not stop yet."""
    END = "end"
    """End the whole run."""


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What a hook said."""

    action: HookAction
    reason: str = ""


GO_ON = HookAnswer(HookAction.GO_ON)


class Hooks(Protocol):
    """The hooks of a run."""

    async def before_tool(self, call: ToolUseBlock) -> HookAnswer:
        """Asked before the permission rules."""
        ...

    async def after_tool(self, call: ToolUseBlock, result: ToolResult) -> HookAnswer:
        """Asked when a call has its result; BLOCK adds its reason to the result as an error."""
        ...

    async def on_stop(self, text: str) -> HookAnswer:
        """Asked once whenever the model wants to stop."""
        ...


class NoHooks:
    """A run without hooks."""

    async def before_tool(self, call: ToolUseBlock) -> HookAnswer:
        """Nothing to say."""
        return GO_ON

    async def after_tool(self, call: ToolUseBlock, result: ToolResult) -> HookAnswer:
        """Nothing to say."""
        return GO_ON

    async def on_stop(self, text: str) -> HookAnswer:
        """Nothing to say."""
        return GO_ON
