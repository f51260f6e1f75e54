"""The Messages API: what is sent, what comes back, and what becomes of a failure."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from ci_agent.models.anthropic import AnthropicModel
from ci_agent.models.base import (
    UNKNOWN_MODEL,
    BlockDone,
    CacheMiss,
    Failed,
    FailureKind,
    Finished,
    ModelEvent,
    ModelFacts,
    Request,
    Started,
    SystemPart,
)
from ci_agent.models.providers import anthropic_model
from ci_agent.types.messages import Message, OpaqueBlock, TextBlock, ToolResultBlock, ToolUseBlock
from tests.fakes.messages import (
    Abilities,
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
from tests.models.providers import request

MARK = {"cache_control": {"type": "ephemeral"}}


def make(api: FakeMessages, idle_seconds: float = 30.0) -> AnthropicModel:
    return anthropic_model(api_key="k", base_url=api.url, idle_seconds=idle_seconds)


@pytest.fixture
async def model(api: FakeMessages) -> AsyncIterator[AnthropicModel]:
    model = make(api)
    yield model
    await model.close()


async def play(model: AnthropicModel, *messages: Message, **more: Any) -> list[ModelEvent]:
    return await run(model, request(*messages, **more))


async def run(model: AnthropicModel, request: Request) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def ask_once(api: FakeMessages, idle_seconds: float = 30.0) -> list[ModelEvent]:
    model = make(api, idle_seconds)
    try:
        return await play(model)
    finally:
        await model.close()


def user(*texts: str) -> Message:
    return Message("user", tuple(TextBlock(text) for text in texts))


async def test_thinking_and_opaque_blocks_go_back_as_they_came(api: FakeMessages, model: AnthropicModel) -> None:
    api.queue(Reply([Thinking("hm"), RedactedThinking("b3BhcXVl"), ToolUse("Read", id="t1")]), Reply([Text("ok")]))
    blocks = tuple(event.block for event in await play(model) if isinstance(event, BlockDone))
    assert isinstance(blocks[1], OpaqueBlock)
    result = ToolResultBlock("t1", "content")
    events = await play(model, user("hello"), Message("assistant", blocks), Message("user", (result,)))
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


FAILURES: dict[str, tuple[Answer, FailureKind]] = {
    "auth": (HttpError(401, "authentication_error", "no"), FailureKind.AUTH),
    "forbidden": (HttpError(403, "permission_error", "no"), FailureKind.AUTH),
    "too long": (prompt_too_long(3, 2), FailureKind.PROMPT_TOO_LONG),
    "too long with the answer": (
        HttpError(
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000",
        ),
        FailureKind.PROMPT_TOO_LONG,
    ),
    "too long in Bedrock's words": (
        HttpError(400, body='{"message": "Input is too long for requested model."}'),
        FailureKind.PROMPT_TOO_LONG,
    ),
    "too large": (HttpError(413, "request_too_large", "big"), FailureKind.PROMPT_TOO_LONG),
    "too large for a proxy": (HttpError(413, body="no"), FailureKind.PROMPT_TOO_LONG),
    "broken image": (HttpError(400, "invalid_request_error", "Could not process image"), FailureKind.IMAGE),
    "heavy image": (
        HttpError(400, "invalid_request_error", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"),
        FailureKind.IMAGE,
    ),
    "large image": (
        HttpError(400, "invalid_request_error", "At least one of the image dimensions exceed max allowed size"),
        FailureKind.IMAGE,
    ),
    "invalid": (HttpError(400, "invalid_request_error", "bad"), FailureKind.INVALID_REQUEST),
    "unknown model": (HttpError(404, "not_found_error", "model: x"), FailureKind.INVALID_REQUEST),
    "slow request": (HttpError(408, "invalid_request_error"), FailureKind.SERVER),
    "conflict": (HttpError(409, "invalid_request_error"), FailureKind.SERVER),
    "limited": (HttpError(429, "rate_limit_error"), FailureKind.RATE_LIMIT),
    "overloaded": (HttpError(529, "overloaded_error"), FailureKind.OVERLOADED),
    "overloaded with another status": (HttpError(503, "overloaded_error"), FailureKind.OVERLOADED),
    "server": (HttpError(500, "api_error"), FailureKind.SERVER),
    "timeout": (HttpError(504, "timeout_error"), FailureKind.SERVER),
    "timeout with another status": (HttpError(400, "timeout_error"), FailureKind.SERVER),
    "gateway": (bad_gateway(), FailureKind.SERVER),
    "no strings": (HttpError(400, body='{"error": {"type": ["x"], "message": 5}}'), FailureKind.INVALID_REQUEST),
    "dropped": (Drop(), FailureKind.INTERRUPTED),
    "cut": (Reply([Text("half")], cut_after=3), FailureKind.INTERRUPTED),
    "overloaded in the stream": (Reply([Text("half")], error_after=3), FailureKind.OVERLOADED),
    "timeout in the stream": (
        Reply([Text("half")], error_after=3, error=("timeout_error", "late")),
        FailureKind.SERVER,
    ),
    "refused in the stream": (
        Reply([Text("half")], error_after=1, error=("invalid_request_error", "no")),
        FailureKind.INVALID_REQUEST,
    ),
    "unheard of in the stream": (Reply([Text("half")], error_after=1, error=("odd_error", "no")), FailureKind.SERVER),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_failure_is_an_event_after_one_try(api: FakeMessages, model: AnthropicModel, name: str) -> None:
    answer, kind = FAILURES[name]
    api.queue(answer)
    last = (await play(model))[-1]
    assert isinstance(last, Failed)
    assert last.kind is kind
    assert len(api.bodies) == 1


async def test_address_where_nothing_listens_is_unreachable() -> None:
    model = anthropic_model(api_key="k", base_url="http://127.0.0.1:1", idle_seconds=30)
    last = (await play(model))[-1]
    await model.close()
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNREACHABLE


async def test_empty_variable_of_an_unset_input_is_not_taken_for_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "")
    model = anthropic_model(api_key="k", idle_seconds=30)
    assert str(model._client.base_url).rstrip("/") == "https://api.anthropic.com"
    await model.close()


STALLS: dict[str, tuple[Reply, str]] = {
    "silence": (Reply([Text("half")], stall_after=3), ""),
    "pings": (Reply([Text("half")], stall_after=3, stall_ping=0.02), "nothing new came for 0.3 s"),
    # What the model thinks is not always shown, so that only pings come for long.
    "pings while it thinks": (
        Reply([Thinking("hm")], stall_after=2, stall_ping=0.02),
        "nothing new came for 1.2 s",
    ),
}


@pytest.mark.parametrize("name", STALLS)
async def test_stream_that_stalls_is_given_up(api: FakeMessages, name: str) -> None:
    reply, text = STALLS[name]
    api.queue(reply)
    async with asyncio.timeout(20):
        last = (await ask_once(api, idle_seconds=0.3))[-1]
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INTERRUPTED
    assert text in last.message
    assert last.usage.prompt_tokens > 0


async def test_server_that_never_begins_to_answer_is_given_up() -> None:
    ended = asyncio.Semaphore(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET "):
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        else:
            await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.release()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    model = anthropic_model(api_key="k", base_url=f"http://127.0.0.1:{port}", idle_seconds=0.3)
    async with server, asyncio.timeout(20):
        events = await play(model)
        await model.close()
        for _ in ("describe", "stream"):
            await ended.acquire()
    assert events == [Failed(FailureKind.INTERRUPTED, "the connection went silent")]


async def test_slow_stream_that_goes_on_is_not_given_up(api: FakeMessages) -> None:
    api.queue(Reply([Text("a"), Text("b"), Text("c")], block_pause=0.4))
    assert isinstance((await ask_once(api, idle_seconds=0.8))[-1], Finished)


async def test_model_is_described_from_the_api_once(api: FakeMessages, model: AnthropicModel) -> None:
    facts = await asyncio.gather(*(model.describe("claude-sonnet-5-5") for _ in range(3)))
    levels = frozenset({"low", "medium", "high", "xhigh", "max"})
    assert facts == [ModelFacts(1_000_000, 128_000, levels, adaptive_thinking=True)] * 3
    assert [request.path for request in api.requests] == ["/v1/models/claude-sonnet-5-5"]


async def test_model_that_the_api_does_not_describe_is_unknown() -> None:
    with FakeMessages(describes_models=False) as api:
        model = make(api)
        api.queue(Reply([Text("ok")]))
        assert await model.describe("claude-sonnet-5-5") == UNKNOWN_MODEL
        await play(model, effort="high")
        await model.close()
        assert not {"thinking", "output_config"} & set(api.bodies[0])


SMALL = Abilities(max_tokens=500, efforts=("medium", "high"), adaptive=False)


@pytest.mark.parametrize(("wanted", "sent"), [("low", "medium"), ("high", "high"), ("max", "high"), ("odd", "medium")])
async def test_request_asks_for_no_more_than_the_model_can(wanted: str, sent: str) -> None:
    with FakeMessages(abilities=SMALL) as api:
        model = make(api)
        api.queue(Reply([Text("ok")]))
        assert isinstance((await play(model, effort=wanted))[-1], Finished)
        await model.close()
        assert api.bodies[0]["output_config"] == {"effort": sent}
        assert api.bodies[0]["max_tokens"] == 500
        assert "thinking" not in api.bodies[0]


async def test_model_without_levels_of_effort_is_sent_none() -> None:
    with FakeMessages(abilities=Abilities(efforts=())) as api:
        api.queue(Reply([Text("ok")]))
        await ask_once(api)
        assert "output_config" not in api.bodies[0]
        assert api.bodies[0]["thinking"] == {"type": "adaptive"}


def marked(blocks: Sequence[Any]) -> list[int]:
    return [at for at, block in enumerate(blocks) if "cache_control" in block]


SYSTEMS: dict[str, tuple[tuple[bool, ...], list[int]]] = {
    "none ends": ((False, False), [1]),
    "one ends": ((True, False), [0]),
    "two end": ((True, False, True), [0, 2]),
    "three end": ((True, True, True, False), [1, 2]),
    "no system": ((), []),
}


@pytest.mark.parametrize("name", SYSTEMS)
async def test_ends_of_the_system_prompt_are_marked(api: FakeMessages, model: AnthropicModel, name: str) -> None:
    ends, expected = SYSTEMS[name]
    api.queue(Reply([Text("ok")]))
    parts = tuple(SystemPart(f"part {at}", end) for at, end in enumerate(ends))
    base = request()
    await run(model, Request(base.model, parts, base.messages, base.tools, base.max_tokens, base.effort))
    assert marked(api.bodies[0]["system"]) == expected


async def test_last_two_user_messages_are_marked_at_their_ends(api: FakeMessages, model: AnthropicModel) -> None:
    api.queue(Reply([Text("ok")]))
    said = Message("assistant", (TextBlock("a"),))
    await play(model, user("1", "2"), said, user("3", "4"), said, user("5"))
    assert [marked(message["content"]) for message in api.bodies[0]["messages"]] == [[], [], [1], [], [0]]


async def test_turn_with_more_blocks_than_the_look_back_is_read_from_the_cache(
    api: FakeMessages, model: AnthropicModel
) -> None:
    api.queue(Reply([ToolUse("Read", id=f"t{at}") for at in range(25)]), Reply([Text("ok")]))
    first = await play(model, user("hello " * 50))
    blocks = tuple(event.block for event in first if isinstance(event, BlockDone))
    results = tuple(ToolResultBlock(f"t{at}", "content") for at in range(25))
    events = await play(model, user("hello " * 50), Message("assistant", blocks), Message("user", results))
    assert isinstance(first[-1], Finished)
    assert isinstance(events[-1], Finished)
    assert events[-1].usage.cache_read_input_tokens == first[-1].usage.prompt_tokens


async def test_lost_prompt_cache_is_explained(api: FakeMessages, model: AnthropicModel) -> None:
    api.queue(*[Reply([Text("ok")])] * 4)
    started = (await play(model, user("a long question")))[0]
    assert isinstance(started, Started)
    assert started.cache_miss is None
    same = (await play(model, user("a long question"), previous_id=started.id))[0]
    other = (await play(model, user("another question"), previous_id=started.id))[0]
    lost = (await play(model, user("a long question"), previous_id="msg_gone"))[0]
    assert isinstance(same, Started)
    assert isinstance(other, Started)
    assert isinstance(lost, Started)
    assert same.cache_miss is None
    assert other.cache_miss is not None
    assert other.cache_miss.reason == "messages_changed"
    assert other.cache_miss.tokens > 0
    assert lost.cache_miss == CacheMiss("previous_message_not_found", 0)
    assert [body["diagnostics"]["previous_message_id"] for body in api.bodies] == [
        None, started.id, started.id, "msg_gone",
    ]  # fmt: skip


async def test_proxy_that_knows_no_diagnostics_is_asked_without_them_from_then_on() -> None:
    with FakeMessages(knows_diagnostics=False) as api:
        api.queue(Reply([Text("one")]), Reply([Text("two")]))
        model = make(api)
        for _ in range(2):
            assert isinstance((await play(model))[-1], Finished)
        await model.close()
        assert ["diagnostics" in body for body in api.bodies] == [True, False, False]


async def test_other_refusal_is_not_tried_again(api: FakeMessages, model: AnthropicModel) -> None:
    api.queue(HttpError(400, "invalid_request_error", "bad"))
    await play(model)
    assert len(api.bodies) == 1


async def test_break_after_the_last_event_breaks_nothing(api: FakeMessages, model: AnthropicModel) -> None:
    events = 6  # message_start, the block's three, message_delta, message_stop
    api.queue(Reply([Text("whole")], cut_after=events))
    last = await play(model)
    assert isinstance(last[-1], Finished)
    assert not any(isinstance(event, Failed) for event in last)
