"""What a tool is, takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from ci_agent.types.messages import JsonObject

__all__ = ["KNOWN_TOOLS", "Effect", "PathGate", "ToolCall", "ToolContext", "ToolResult"]

# Every name a policy may use. A name that is not in this list is a typing error, not a tool to come.
KNOWN_TOOLS = (
    "Read", "Glob", "Grep", "LS", "Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "BashOutput",
    "KillShell", "TodoWrite", "Revert", "Task", "Skill", "ToolSearch",
)  # fmt: skip


class Effect(Enum):
    """What a tool does to the world; the permission pipeline reads it."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    PROPOSE = "propose"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call, as the model made it."""

    id: str
    name: str
    input: JsonObject


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave. An error is something the model can act on."""

    content: str
    is_error: bool = False

    @classmethod
    def error(cls, content: str) -> ToolResult:
        """Something went wrong that the model can mend."""
        return cls(content, is_error=True)


class PathGate(Protocol):
    """Which files a tool may touch; `policy/paths.py` is the real one."""

    @property
    def root(self) -> Path: ...

    def resolve(self, path: str) -> Path:
        """The real path, or `PathRefused`."""
        ...

    def may_read(self, path: Path) -> bool:
        """Whether a path found by a walk may be shown."""
        ...

    def show(self, path: Path) -> str:
        """The path as the model should see it: relative to the workspace."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool is given besides its arguments."""

    paths: PathGate
