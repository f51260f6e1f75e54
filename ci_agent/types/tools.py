"""What a tool is, takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from ci_agent.types.todos import TodoList

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ci_agent.types.messages import JsonObject, ToolResultBlock

__all__ = [
    "KNOWN_TOOLS",
    "LARGEST_RESULT",
    "Effect",
    "Jobs",
    "NoJobs",
    "PathGate",
    "ResultShelf",
    "SeenLog",
    "SeenNothing",
    "ToolCall",
    "ToolContext",
    "ToolResult",
    "WholeResults",
]

# Every name a policy may use. A name that is not in this list is a typing error, not a tool to come.
KNOWN_TOOLS = (
    "Read", "Glob", "Grep", "LS", "Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "BashOutput",
    "KillShell", "TodoWrite", "Revert", "Task", "Skill", "ToolSearch",
)  # fmt: skip

# Characters of one result that go to the model; more is shortened.
LARGEST_RESULT = 30_000


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
        """The real path inside the workspace, or `PathRefused`. The only way to a path that is written."""
        ...

    def resolve_readable(self, path: str) -> Path:
        """The real path of something that may be read, in the workspace or beside it, or `PathRefused`."""
        ...

    def may_read(self, path: Path) -> bool:
        """Whether a path found by a walk may be shown."""
        ...

    def show(self, path: Path) -> str:
        """The path as the model should see it: relative to the workspace, absolute beside it."""
        ...


class SeenLog(Protocol):
    """Remembers what the model saw of files; `tools/seen.py` is the real one."""

    def record(self, path: Path, data: bytes) -> None:
        """The model saw this file with this content."""
        ...

    def changed(self) -> tuple[Path, ...]:
        """The seen files that are different or gone, each once per change."""
        ...


class SeenNothing:
    """A log that forgets at once."""

    def record(self, path: Path, data: bytes) -> None:
        """Nothing is kept."""

    def changed(self) -> tuple[Path, ...]:
        """Nothing is known, so nothing changed."""
        return ()


class ResultShelf(Protocol):
    """Keeps what is too long for the model; `session/spill.py` is the real one."""

    def fit(self, name: str, tool_use_id: str, content: str) -> str:
        """The content of one result, shortened where it is too long."""
        ...

    def fit_all(self, results: Sequence[ToolResultBlock]) -> tuple[ToolResultBlock, ...]:
        """The results of one message, shortened until all of them together fit."""
        ...


class WholeResults:
    """A shelf that keeps nothing, because nothing is too long."""

    def fit(self, name: str, tool_use_id: str, content: str) -> str:
        """The content as it is."""
        return content

    def fit_all(self, results: Sequence[ToolResultBlock]) -> tuple[ToolResultBlock, ...]:
        """The results as they are."""
        return tuple(results)


class Jobs(Protocol):
    """Background jobs of a run."""

    def finished(self) -> tuple[str, ...]:
        """One line for each job that ended since this was last asked."""
        ...


class NoJobs:
    """A run without background jobs."""

    def finished(self) -> tuple[str, ...]:
        """None ever ends."""
        return ()


def _silent(_: str) -> None:
    """Progress that nobody follows."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool is given besides its arguments."""

    paths: PathGate
    todos: TodoList = field(default_factory=TodoList)
    seen: SeenLog = field(default_factory=SeenNothing)
    progress: Callable[[str], None] = _silent
    jobs: Jobs = field(default_factory=NoJobs)
