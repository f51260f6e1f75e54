"""The list of steps that the model keeps for itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from ci_agent.tools.base import tool
from ci_agent.types.todos import Todo, TodoStatus
from ci_agent.types.tools import Effect, ToolContext, ToolResult

__all__ = ["todo_write"]

MOST_ITEMS = 50
LONGEST_TEXT = 500
MARKS = {TodoStatus.PENDING: "[ ]", TodoStatus.IN_PROGRESS: "[>]", TodoStatus.COMPLETED: "[x]"}

Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]


class TodoItem(BaseModel, extra="forbid"):
    """One step."""

    content: Text = Field(description="What to do, such as: Run the tests.")
    status: TodoStatus = Field(description="At most one item is in_progress.")
    activeForm: Text = Field(description="The same while it is being done, such as: Running the tests.")  # noqa: N815


class WriteTodos(BaseModel, extra="forbid"):
    """The whole list."""

    todos: list[TodoItem] = Field(max_length=MOST_ITEMS, description="All items, in order; they replace the list.")


@tool("TodoWrite", effect=Effect.READ, parallel=False, own_words=True)
async def todo_write(args: WriteTodos, ctx: ToolContext) -> ToolResult:
    """Keep a list of the steps of a longer task. Give the whole list each time; mark a step as soon as it is done."""
    items = tuple(Todo(item.content, item.status, item.activeForm) for item in args.todos)
    running = sum(item.status is TodoStatus.IN_PROGRESS for item in items)
    if running > 1:
        return ToolResult.error(f"{running} items are in_progress, mark one at the most; the list was not changed.")
    ctx.todos.items = items
    if not items:
        return ToolResult("The list is empty.")
    done = len(items) - len(ctx.todos.open)
    lines = [f"{MARKS[item.status]} {' '.join(item.content.split())}" for item in items]
    return ToolResult("\n".join([f"{done} of {len(items)} done:", *lines]))
