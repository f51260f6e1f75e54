"""The scripted model: order, conditions, variables, failures."""

import pytest

from ci_agent.errors import ConfigError
from ci_agent.models.base import (
    UNKNOWN_MODEL,
    BlockDone,
    Failed,
    FailureKind,
    Finished,
    ModelEvent,
    ModelFacts,
    Request,
    Started,
    TextDelta,
)
from ci_agent.models.scripted import Script, ScriptedModel
from ci_agent.types.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock, Usage


def model(text: str) -> ScriptedModel:
    return ScriptedModel(Script.parse(text, "s.yml"))


async def ask(model: ScriptedModel, *results: ToolResultBlock) -> list[ModelEvent]:
    message = Message("user", results or (TextBlock("go"),))
    request = Request(model="scripted", system=(), messages=(message,), tools=(), max_tokens=10, effort="low")
    return [event async for event in model.stream(request)]


async def test_turn_gives_the_events_of_a_provider() -> None:
    events = await ask(
        model("turns: [{say: hi, call: [{tool: Read, input: {file_path: a}}], usage: {input_tokens: 3}}]")
    )
    assert events == [
        Started("scripted", "msg_scripted_1"),
        TextDelta("hi"),
        BlockDone(TextBlock("hi")),
        BlockDone(ToolUseBlock("toolu_scripted_1", "Read", {"file_path": "a"})),
        Finished("tool_use", Usage(input_tokens=3)),
    ]


async def test_turns_whose_condition_fails_are_passed_over_and_groups_become_variables() -> None:
    script = r"""
turns:
  - call: [{tool: Grep, input: {pattern: x}}]
  - {when: {error: true}, say: refused}
  - {when: {contains: nothing}, say: none}
  - {when: {matches: '^(?P<file>\S+):(?P<line>\d+)'}, say: "in ${file} at ${line}, ${unknown}"}
"""
    playing = model(script)
    await ask(playing)
    events = await ask(playing, ToolResultBlock("1", "first\na.py:12:x"))
    assert BlockDone(TextBlock("in a.py at 12, ${unknown}")) in events


async def test_named_turn_can_be_played_again() -> None:
    playing = model("turns: [{name: again, say: one, go_to: again}]")
    first, second = await ask(playing), await ask(playing)
    assert first[1:] == second[1:]
    assert (first[0], second[0]) == (Started("scripted", "msg_scripted_1"), Started("scripted", "msg_scripted_2"))


async def test_script_that_runs_out_fails_and_says_so() -> None:
    playing = model("turns: [{say: once}]")
    await ask(playing)
    assert await ask(playing) == [
        Failed(FailureKind.INVALID_REQUEST, "the script has no turn left whose condition holds")
    ]


async def test_failure_can_be_scripted() -> None:
    events = await ask(model("turns: [{fail: {kind: overloaded, message: busy}}]"))
    assert events == [Failed(FailureKind.OVERLOADED, "busy")]


async def test_size_of_the_model_can_be_scripted() -> None:
    playing = model("{turns: [{say: x}], facts: {context_tokens: 8000, max_output_tokens: 100}}")
    assert await playing.describe("any") == ModelFacts(8000, 100)
    assert await model("turns: [{say: x}]").describe("any") == UNKNOWN_MODEL


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("turns: [", "script s.yml is not YAML"),
        ("turns: []", "script s.yml is wrong at turns: Tuple should have at least 1 item"),
        ("turns: [{sya: x}]", "script s.yml is wrong at turns.0.sya: Extra inputs are not permitted"),
        (
            "turns: [{when: {matches: '('}}]",
            "script s.yml is wrong at turns.0.when.matches: Value error, not a regular",
        ),
    ],
)
def test_wrong_script_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match="script s") as caught:
        model(text)
    assert str(caught.value).startswith(message)
