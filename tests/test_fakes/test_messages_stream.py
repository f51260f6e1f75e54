"""Replies of the fake Messages API, read with the real SDK."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

from tests.fakes.messages import (
    FakeMessages,
    RawBlock,
    RedactedThinking,
    Reply,
    ServerToolUse,
    Text,
    Thinking,
    ToolUse,
)
from tests.fakes.messages.client import HELLO, MODEL, READ, ask, connect, create, events, post

EVERYTHING = Reply(
    [
        Thinking("Let me see.", signature="sig"),
        RedactedThinking("b3BhcXVl"),
        Text("I will look."),
        ServerToolUse("web_search", {"query": "fakes"}, id="srvtoolu_1"),
        RawBlock({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
        ToolUse("Read", {"file_path": "a.py"}, id="toolu_1"),
        ToolUse("Read", {"file_path": "b.py"}, id="toolu_2"),
    ],
    chunk=1000,
)


def _kinds(stream: list[Any]) -> list[str]:
    return [f"delta {event.delta.type}" if event.type == "content_block_delta" else event.type for event in stream]


async def _raw(api: FakeMessages, *, stream: bool) -> httpx2.Response:
    """The same call without the SDK, to see the bytes."""
    body = {"model": MODEL, "max_tokens": 4096, "messages": [HELLO], "stream": stream}
    headers = {"x-api-key": "sk-test", "anthropic-version": "2023-06-01"}
    async with httpx2.AsyncClient() as client:
        return await client.post(f"{api.url}/v1/messages", json=body, headers=headers)


def _sse(text: str) -> list[tuple[str, Any]]:
    found = []
    for part in text.strip().split("\n\n"):
        name, data = part.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


async def test_a_stream_has_the_events_of_the_real_api_in_their_order() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Thinking("hm", signature="sig"), Text("I will look."), ToolUse("Read", {"a": 1})]))
        stream = await events(api, tools=[READ])
    assert _kinds(stream) == [
        "message_start",
        "content_block_start",
        "delta thinking_delta",
        "delta signature_delta",
        "content_block_stop",
        "content_block_start",
        "delta text_delta",
        "content_block_stop",
        "content_block_start",
        "delta input_json_delta",
        "delta input_json_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


@pytest.mark.parametrize("call", [ask, create])
async def test_streamed_and_whole_messages_carry_the_same_content(call: Any) -> None:
    with FakeMessages() as api:
        api.queue(EVERYTHING)
        message = await call(api, tools=[READ])
    assert [block.model_dump(exclude_none=True, exclude={"parsed_output"}) for block in message.content] == [
        {"type": "thinking", "thinking": "Let me see.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "I will look."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "fakes"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "a.py"}},
        {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {"file_path": "b.py"}},
    ]
    assert (message.stop_reason, message.model, message.role) == ("tool_use", MODEL, "assistant")


async def test_what_is_sent_matches_the_types_of_the_sdk() -> None:
    with FakeMessages() as api:
        api.queue(EVERYTHING, EVERYTHING)
        whole = await _raw(api, stream=False)
        streamed = await _raw(api, stream=True)
    assert Message.model_validate(whole.json()).id.startswith("msg_")
    event_type: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    for name, data in _sse(streamed.text):
        if name != "ping":
            assert event_type.validate_python(data).type == name


async def test_thinking_arrives_before_its_signature_and_opens_empty() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Thinking("abcdef", signature="sig"), Text("x")], chunk=4))
        stream = await events(api)
    assert stream[1].content_block.model_dump() == {"type": "thinking", "thinking": "", "signature": ""}
    assert [event.delta.model_dump() for event in stream[2:5]] == [
        {"type": "thinking_delta", "thinking": "abcd"},
        {"type": "thinking_delta", "thinking": "ef"},
        {"type": "signature_delta", "signature": "sig"},
    ]


async def test_one_ping_follows_the_first_block_and_more_come_on_demand() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("x")]), Reply([Text("x")], ping_every=1))
        usual = await _raw(api, stream=True)
        many = await _raw(api, stream=True)
    assert [name for name, _ in _sse(usual.text)][:3] == ["message_start", "content_block_start", "ping"]
    assert [name for name, _ in _sse(usual.text)].count("ping") == 1
    assert [name for name, _ in _sse(many.text)].count("ping") == 5


@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_deltas_and_writes_of_any_size_give_the_same_message(size: int) -> None:
    arguments = {"file_path": 'ä/"q"\\n.py', "emoji": "👩‍👩‍👧 ok"}
    with FakeMessages() as api:
        api.queue(Reply([Text("Grüße 👋🏽!"), ToolUse("Read", arguments)], chunk=size, write=size))
        message = await ask(api, tools=[READ])
    text, call = message.content
    assert text.type == "text"
    assert text.text == "Grüße 👋🏽!"
    assert call.type == "tool_use"
    assert call.input == arguments


async def test_one_byte_writes_cut_characters_in_the_middle() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("é")], write=1))
        body = {"model": MODEL, "max_tokens": 10, "messages": [HELLO], "stream": True}
        headers = {"x-api-key": "sk-test", "anthropic-version": "2023-06-01"}
        async with (
            httpx2.AsyncClient() as client,
            client.stream("POST", f"{api.url}/v1/messages", json=body, headers=headers) as response,
        ):
            pieces = [piece async for piece in response.aiter_raw()]
    assert max(map(len, pieces)) == 1
    assert "é" in b"".join(pieces).decode()


async def test_chunk_decides_the_pieces_of_text_and_input() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("abcde"), ToolUse("Read", raw='{"a": "\\u00e9"}')], chunk=4))
        stream = await events(api, tools=[READ])
    deltas = [event.delta for event in stream if event.type == "content_block_delta"]
    assert [delta.text for delta in deltas if delta.type == "text_delta"] == ["abcd", "e"]
    pieces = [delta.partial_json for delta in deltas if delta.type == "input_json_delta"]
    assert pieces == ["", '{"a"', ': "\\', "u00e", '9"}']


async def test_a_call_without_arguments_streams_one_empty_piece() -> None:
    with FakeMessages() as api:
        api.queue(Reply([ToolUse("Read")]))
        stream = await events(api, tools=[READ])
    pieces = [event.delta.partial_json for event in stream if event.type == "content_block_delta"]
    assert pieces == [""]


async def test_a_call_opens_without_its_arguments() -> None:
    with FakeMessages() as api:
        api.queue(Reply([ToolUse("Read", {"file_path": "a.py"}, id="t1")]))
        stream = await events(api, tools=[READ])
    opened = stream[1].content_block.model_dump(exclude_none=True)
    assert opened == {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}


async def test_an_input_that_is_no_json_reaches_the_caller_as_it_is() -> None:
    with FakeMessages() as api:
        api.queue(Reply([ToolUse("Read", raw='{"file_path": ')], stop_reason="max_tokens"))
        stream = await events(api, tools=[READ])
    text = "".join(event.delta.partial_json for event in stream if event.type == "content_block_delta")
    assert text == '{"file_path": '
    assert stream[-2].delta.stop_reason == "max_tokens"


async def test_the_sdk_raises_on_an_input_that_can_never_become_json() -> None:
    with FakeMessages() as api:
        api.queue(Reply([ToolUse("Read", raw="{'a'")]))
        with pytest.raises(ValueError, match="Unable to parse tool parameter JSON"):
            await ask(api, tools=[READ])


@pytest.mark.parametrize("reason", ["max_tokens", "pause_turn", "model_context_window_exceeded", "end_turn"])
@pytest.mark.parametrize("call", [ask, create])
async def test_every_stop_reason_can_be_scripted(call: Any, reason: str) -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("so far")], stop_reason=reason))
        message = await call(api)
    assert message.stop_reason == reason


@pytest.mark.parametrize("call", [ask, create])
async def test_a_stop_sequence_is_named(call: Any) -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("so far")], stop_reason="stop_sequence", stop_sequence="END"))
        message = await call(api, stop_sequences=["END"])
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "END")


@pytest.mark.parametrize("call", [ask, create])
async def test_a_refusal_carries_its_details(call: Any) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "No."}
    with FakeMessages() as api:
        api.queue(Reply([], stop_reason="refusal", stop_details=details))
        message = await call(api)
    assert (message.stop_reason, message.content) == ("refusal", [])
    assert message.stop_details.model_dump() == details


@pytest.mark.parametrize("call", [ask, create])
async def test_scripted_usage_reaches_the_caller(call: Any) -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 7,
        "cache_creation_input_tokens": 3,
    }
    with FakeMessages() as api:
        api.queue(Reply([Text("done")], usage=usage))
        message = await call(api)
    assert message.usage.model_dump(include=set(usage)) == usage
    assert message.usage.cache_creation.ephemeral_5m_input_tokens == 3


async def test_usage_starts_with_the_input_and_ends_with_the_totals() -> None:
    usage = {"input_tokens": 10, "output_tokens": 50}
    with FakeMessages() as api:
        api.queue(Reply([Text("done")], usage=usage))
        stream = await events(api)
    first, last = stream[0].message.usage, stream[-2].usage
    assert (first.input_tokens, first.output_tokens) == (10, 1)
    assert (last.input_tokens, last.output_tokens) == (10, 50)


async def test_ids_are_new_for_each_reply_and_calls_keep_theirs() -> None:
    with FakeMessages() as api:
        api.respond(lambda _: Reply([ToolUse("Read"), ToolUse("Read")]))
        one, two = await ask(api, tools=[READ]), await ask(api, tools=[READ])
    ids = [block.id for block in (*one.content, *two.content) if block.type == "tool_use"]
    assert len({one.id, two.id, *ids}) == 6


async def test_every_answer_has_a_request_id() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("x")]), Reply([Text("x")]))
        async with connect(api) as client:
            whole = await client.messages.create(
                model=MODEL, max_tokens=10, messages=[{"role": "user", "content": "x"}]
            )
            async with client.messages.stream(
                model=MODEL, max_tokens=10, messages=[{"role": "user", "content": "x"}]
            ) as stream:
                await stream.until_done()
    assert whole._request_id is not None
    assert stream.request_id is not None
    assert whole._request_id != stream.request_id


async def test_a_script_may_look_at_the_request() -> None:
    with FakeMessages() as api:
        api.respond(lambda request: Reply([Text(request.body["messages"][0]["content"].upper())]))
        message = await ask(api)
    assert message.content[0].model_dump(include={"text"}) == {"text": "HELLO"}


async def test_the_queue_goes_before_the_responder() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("queued")]))
        api.respond(lambda _: Reply([Text("made")]))
        texts = [(await ask(api)).content[0].model_dump()["text"] for _ in range(2)]
        assert api.pending == 0
    assert texts == ["queued", "made"]


async def test_the_log_keeps_what_was_sent() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("x")]))
        post(api, {"model": MODEL, "messages": [HELLO]}, "/v1/messages/count_tokens")
        await ask(api, system="Be brief.")
    counted, request = api.requests
    assert counted.path == "/v1/messages/count_tokens"
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.headers["authorization"] == "Bearer sk-test"
    assert request.body["system"] == "Be brief."
    assert api.bodies == [request.body]
    assert request.time > 0


def test_a_reply_cannot_end_in_two_ways() -> None:
    with pytest.raises(ValueError, match="only one of"):
        Reply([Text("x")], cut_after=1, stall_after=2)


@pytest.mark.parametrize("size", [{"chunk": 0}, {"write": 0}])
def test_a_reply_cannot_travel_in_empty_pieces(size: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Reply([Text("x")], **size)  # type: ignore[arg-type]
