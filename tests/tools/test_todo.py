"""The model's own list of steps, through the executor."""

from pathlib import Path

import pytest

from ci_agent.policy.grant import Limits, make_grant
from ci_agent.policy.paths import PathPolicy
from ci_agent.policy.schema import Policy
from ci_agent.tools.executor import Executor
from ci_agent.tools.todo import todo_write
from ci_agent.types.messages import JsonValue, ToolResultBlock, ToolUseBlock
from ci_agent.types.todos import Todo, TodoStatus
from ci_agent.types.tools import Effect, ToolContext
from tests.tools.calls import run_calls


def todo(content: str, status: str = "pending") -> dict[str, JsonValue]:
    return {"content": content, "status": status, "activeForm": f"{content}ing"}


async def write(ctx: ToolContext, *todos: JsonValue) -> ToolResultBlock:
    executor = Executor(make_grant(Policy(version=1), "answer", Limits()), ctx, str)
    use = ToolUseBlock("t", "TodoWrite", {"todos": list(todos)})
    return (await run_calls(executor, use))[0]


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    return ToolContext(PathPolicy(tmp_path))


async def test_list_is_replaced_and_shown_in_its_order(ctx: ToolContext) -> None:
    await write(ctx, todo("forgotten"))
    result = await write(ctx, todo("b", "completed"), todo("a\n[x] c", "in_progress"), todo("c"))
    assert result == ToolResultBlock("t", "1 of 3 done:\n[x] b\n[>] a [x] c\n[ ] c")
    assert ctx.todos.items == (
        Todo("b", TodoStatus.COMPLETED, "bing"),
        Todo("a\n[x] c", TodoStatus.IN_PROGRESS, "a\n[x] cing"),
        Todo("c", TodoStatus.PENDING, "cing"),
    )
    assert ctx.todos.open == ctx.todos.items[1:]


async def test_empty_list_is_a_list(ctx: ToolContext) -> None:
    await write(ctx, todo("a"))
    assert (await write(ctx)).content == "The list is empty."
    assert ctx.todos.items == ()


async def test_fifty_items_of_five_hundred_characters_are_taken(ctx: ToolContext) -> None:
    item: JsonValue = {"content": "x" * 500, "status": "pending", "activeForm": "y" * 500}
    assert not (await write(ctx, *[item] * 50)).is_error


@pytest.mark.parametrize(
    ("todos", "message"),
    [
        ([todo("a", "in_progress"), todo("b", "in_progress")], "2 items are in_progress, mark one at the most"),
        ([todo("a")] * 51, "at most 50 items"),
        ([{**todo("a"), "content": "x" * 501}], "todos.0.content: String should have at most 500 characters"),
        ([{**todo("a"), "activeForm": "x" * 501}], "todos.0.activeForm: String should have at most 500 characters"),
        ([{**todo("a"), "content": ""}], "todos.0.content: String should have at least 1 character"),
        ([todo("a", "done")], "'pending', 'in_progress' or 'completed'"),
        ([{"content": "a", "status": "pending"}], "todos.0.activeForm: Field required"),
        ([{**todo("a"), "priority": 1}], "todos.0.priority: Extra inputs are not permitted"),
    ],
)
async def test_mistake_is_told_and_changes_nothing(ctx: ToolContext, todos: list[JsonValue], message: str) -> None:
    await write(ctx, todo("kept"))
    result = await write(ctx, *todos)
    assert result.is_error
    assert message in result.content
    assert [item.content for item in ctx.todos.items] == ["kept"]


def test_it_touches_nothing_and_waits_its_turn() -> None:
    assert (todo_write.effect, todo_write.parallel, todo_write.seconds) == (Effect.READ, False, 120.0)


def test_each_run_has_a_list_of_its_own(tmp_path: Path) -> None:
    first, second = ToolContext(PathPolicy(tmp_path)), ToolContext(PathPolicy(tmp_path))
    assert first.todos is not second.todos
    first.progress("said to nobody")


def test_schema_has_the_names_that_models_know() -> None:
    schema = todo_write.spec().input_schema
    assert schema["$defs"] == {
        "TodoItem": {
            "additionalProperties": False,
            "properties": {
                "content": {
                    "description": "What to do, such as: Run the tests.",
                    "maxLength": 500,
                    "minLength": 1,
                    "type": "string",
                },
                "status": {"$ref": "#/$defs/TodoStatus", "description": "At most one item is in_progress."},
                "activeForm": {
                    "description": "The same while it is being done, such as: Running the tests.",
                    "maxLength": 500,
                    "minLength": 1,
                    "type": "string",
                },
            },
            "required": ["content", "status", "activeForm"],
            "type": "object",
        },
        "TodoStatus": {"enum": ["pending", "in_progress", "completed"], "type": "string"},
    }
