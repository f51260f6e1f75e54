"""What every provider must do: a stream that ends with one Finished or Failed, and never raises."""

from collections.abc import AsyncIterator, Sequence

import pytest

from ci_agent.models.anthropic import AnthropicModel
from ci_agent.models.base import BlockDone, Failed, FailureKind, Finished, ModelEvent, Request, Started, TextDelta
from ci_agent.types.messages import (
    JsonObject,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolSpec,
    ToolUseBlock,
)
from tests.fakes.messages import (
    Answer,
    Drop,
    FakeMessages,
    HttpError,
    RedactedThinking,
    Reply,
    Text,
    Thinking,
    ToolUse,
    bad_gateway,
    prompt_too_long,
)

SCHEMA: JsonObject = {"type": "object", "properties": {}}


def request(*messages: Message) -> Request:
    return Request(
        model="claude-sonnet-5-5",
        system=("rules",),
        messages=messages or (Message("user", (TextBlock("hello"),)),),
        tools=(ToolSpec("Read", "Read a file.", SCHEMA),),
        max_tokens=1_000,
        effort="medium",
    )


@pytest.fixture
async def model(api: FakeMessages) -> AsyncIterator[AnthropicModel]:
    model = AnthropicModel(api_key="k", base_url=api.url)
    yield model
    await model.close()


async def play(model: AnthropicModel, *messages: Message) -> list[ModelEvent]:
    return [event async for event in model.stream(request(*messages))]


async def test_message_comes_block_by_block(api: FakeMessages, model: AnthropicModel) -> None:
    api.queue(Reply([Thinking("hm", signature="sig"), Text("grün"), ToolUse("Read", {"a": [1]}, id="t1")], chunk=1))
    events = await play(model)
    assert events[0] == Started("claude-sonnet-5-5")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "grün"
    assert [event.block for event in events if isinstance(event, BlockDone)] == [
        ThinkingBlock("hm", "sig"),
        TextBlock("grün"),
        ToolUseBlock("t1", "Read", {"a": [1]}),
    ]
    assert isinstance(events[-1], Finished)
    assert events[-1].stop_reason == "tool_use"
    assert events[-1].usage.output_tokens > 0


async def test_thinking_and_opaque_blocks_go_back_as_they_came(api: FakeMessages, model: AnthropicModel) -> None:
    api.queue(Reply([Thinking("hm"), RedactedThinking("b3BhcXVl"), ToolUse("Read", id="t1")]), Reply([Text("ok")]))
    blocks = tuple(event.block for event in await play(model) if isinstance(event, BlockDone))
    assert isinstance(blocks[1], OpaqueBlock)
    result = ToolResultBlock("t1", "content")
    events = await play(
        model, Message("user", (TextBlock("hello"),)), Message("assistant", blocks), Message("user", (result,))
    )
    assert isinstance(events[-1], Finished)


@pytest.mark.parametrize("raw", ['{"file_path": ', "[1]", '"x"', "nonsense"])
async def test_arguments_that_are_no_json_object_are_an_error_of_the_call(
    api: FakeMessages, model: AnthropicModel, raw: str
) -> None:
    api.queue(Reply([ToolUse("Read", raw=raw)]))
    block = next(event.block for event in await play(model) if isinstance(event, BlockDone))
    assert isinstance(block, ToolUseBlock)
    assert block.error
    assert block.input == {}


FAILURES: dict[str, tuple[Sequence[Answer], FailureKind]] = {
    "auth": ([HttpError(401, "authentication_error", "no")], FailureKind.AUTH),
    "forbidden": ([HttpError(403, "permission_error", "no")], FailureKind.AUTH),
    "too long": ([prompt_too_long(3, 2)], FailureKind.PROMPT_TOO_LONG),
    "too large": ([HttpError(413, "request_too_large", "big")], FailureKind.PROMPT_TOO_LONG),
    "invalid": ([HttpError(400, "invalid_request_error", "bad")], FailureKind.INVALID_REQUEST),
    "unknown model": ([HttpError(404, "not_found_error", "model: x")], FailureKind.INVALID_REQUEST),
    "limited": ([HttpError(429, "rate_limit_error", headers={"retry-after": "0"})] * 3, FailureKind.RATE_LIMIT),
    "overloaded": ([HttpError(529, "overloaded_error", headers={"retry-after": "0"})] * 3, FailureKind.OVERLOADED),
    "server": ([HttpError(500, "api_error", headers={"retry-after": "0"})] * 3, FailureKind.SERVER),
    "gateway": ([bad_gateway()] * 3, FailureKind.SERVER),
    "dropped": ([Drop()] * 3, FailureKind.INTERRUPTED),
    "cut": ([Reply([Text("half")], cut_after=3)], FailureKind.INTERRUPTED),
    "overloaded in the stream": ([Reply([Text("half")], error_after=3)], FailureKind.OVERLOADED),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_failure_is_an_event(api: FakeMessages, model: AnthropicModel, name: str) -> None:
    answers, kind = FAILURES[name]
    api.queue(*answers)
    last = (await play(model))[-1]
    assert isinstance(last, Failed)
    assert last.kind is kind


async def test_address_where_nothing_listens_is_unreachable() -> None:
    model = AnthropicModel(api_key="k", base_url="http://127.0.0.1:1")
    last = (await play(model))[-1]
    await model.close()
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNREACHABLE


async def test_empty_variable_of_an_unset_input_is_not_taken_for_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "")
    model = AnthropicModel(api_key="k")
    assert str(model._client.base_url).rstrip("/") == "https://api.anthropic.com"
    await model.close()
