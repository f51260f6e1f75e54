"""The model's own list of steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Todo", "TodoList", "TodoStatus"]


class TodoStatus(Enum):
    """How far a step is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Todo:
    """One step, and how it reads while it is being done."""

    content: str
    status: TodoStatus
    active_form: str


@dataclass(slots=True)
class TodoList:
    """The steps of one run; the model replaces them as a whole."""

    items: tuple[Todo, ...] = ()

    @property
    def open(self) -> tuple[Todo, ...]:
        """The steps that are not done."""
        return tuple(item for item in self.items if item.status is not TodoStatus.COMPLETED)
