"""What every provider must do: a stream that ends with one Finished or Failed, and never raises."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from ci_agent.models.base import (
    BlockDone,
    Failed,
    FailureKind,
    Finished,
    Model,
    ModelEvent,
    ModelFacts,
    Started,
    TextDelta,
)
from ci_agent.types.messages import TextBlock, ThinkingBlock, ToolUseBlock
from tests.fakes.messages import FakeMessages, HttpError, Reply, Text, Thinking, ToolUse
from tests.models.providers import HTTP_PROVIDERS, connect, request, scripted

SCRIPT = """
turns:
  - {think: hm, say: grün, call: [{tool: Read, input: {a: [1]}}], usage: {input_tokens: 3, output_tokens: 2}}
  - {say: again, usage: {input_tokens: 3, output_tokens: 2}}
"""
ANSWERS = (
    Reply([Thinking("hm"), Text("grün"), ToolUse("Read", {"a": [1]})], chunk=1),
    Reply([Text("again")]),
)
Make = Callable[[], Model]


@pytest.fixture(params=[*HTTP_PROVIDERS, "scripted"])
async def model(
    request: pytest.FixtureRequest, api: FakeMessages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Model]:
    """Each provider, about to give the same two answers."""
    if request.param == "scripted":
        made = scripted(SCRIPT, tmp_path, monkeypatch)
    else:
        api.queue(*ANSWERS)
        made = connect(request.param, api, tmp_path, monkeypatch)
    yield made
    await made.close()


async def play(model: Model) -> list[ModelEvent]:
    return [event async for event in model.stream(request())]


async def test_message_comes_block_by_block_in_order(model: Model) -> None:
    events = await play(model)
    assert isinstance(events[0], Started)
    assert (events[0].model, bool(events[0].id)) == ("claude-sonnet-5-5", True)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "grün"
    thinking, text, call = [event.block for event in events if isinstance(event, BlockDone)]
    assert isinstance(thinking, ThinkingBlock)
    assert (thinking.thinking, bool(thinking.signature)) == ("hm", True)
    assert text == TextBlock("grün")
    assert isinstance(call, ToolUseBlock)
    assert (call.name, call.input, call.error, bool(call.id)) == ("Read", {"a": [1]}, "", True)


async def test_text_is_shown_before_its_block_is_done(model: Model) -> None:
    events = await play(model)
    shown = [at for at, event in enumerate(events) if isinstance(event, TextDelta)]
    done = next(at for at, event in enumerate(events) if event == BlockDone(TextBlock("grün")))
    assert max(shown) < done


async def test_exactly_one_last_event_with_its_usage(model: Model) -> None:
    events = await play(model)
    assert [event for event in events if isinstance(event, Finished | Failed)] == events[-1:]
    assert isinstance(events[-1], Finished)
    assert events[-1].stop_reason == "tool_use"
    assert events[-1].usage.input_tokens + events[-1].usage.cache_creation_input_tokens > 0
    assert events[-1].usage.output_tokens > 0


async def test_each_answer_has_an_id_of_its_own(model: Model) -> None:
    ids = {event.id for _ in range(2) for event in await play(model) if isinstance(event, Started)}
    assert len(ids) == 2


async def test_caller_that_leaves_early_leaves_no_task_behind(model: Model) -> None:
    await model.describe("claude-sonnet-5-5")
    before = asyncio.all_tasks()
    async with aclosing(model.stream(request())) as events:  # type: ignore[type-var]
        assert isinstance(await anext(events), Started)
    for _ in range(10):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert isinstance((await play(model))[-1], Finished)


async def test_model_is_described_without_fail(model: Model) -> None:
    for name in ("claude-sonnet-5-5", "claude-unheard-of", "../x y", ""):
        facts = await model.describe(name)
        assert isinstance(facts, ModelFacts)
        assert facts.context_tokens >= 1
        assert facts.max_output_tokens >= 1


@pytest.mark.parametrize("name", HTTP_PROVIDERS)
async def test_failure_is_the_last_event(
    api: FakeMessages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    model = connect(name, api, tmp_path, monkeypatch)
    api.queue(HttpError(529, "overloaded_error", headers={"retry-after": "2"}))
    assert await play(model) == [Failed(FailureKind.OVERLOADED, "HTTP 529 overloaded_error: Overloaded", 2.0)]
    api.queue(Reply([Text("half")], cut_after=3))
    events = await play(model)
    assert [event for event in events if isinstance(event, Finished | Failed)] == events[-1:]
    assert isinstance(events[-1], Failed)
    assert events[-1].kind is FailureKind.INTERRUPTED
    await model.close()


@pytest.mark.parametrize("kind", FailureKind)
async def test_every_failure_can_be_scripted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: FailureKind
) -> None:
    model = scripted(f"turns: [{{fail: {{kind: {kind.value}, message: m}}}}]", tmp_path, monkeypatch)
    assert await play(model) == [Failed(kind, "m")]
