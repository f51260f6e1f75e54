"""Thinking blocks that go back to the fake Messages API."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.fakes.messages import FakeMessages, RedactedThinking, Reply, Text, Thinking, ToolUse
from tests.fakes.messages.client import HELLO, MODEL, READ, ask

DONE = Reply([Text("done")])
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}


async def _first(api: FakeMessages, *blocks: Any) -> list[dict[str, Any]]:
    """Let the server say these blocks and one call; give them as a caller would keep them."""
    api.queue(Reply([*blocks, ToolUse("Read", id="t1")]), DONE)
    message = await ask(api, tools=[READ])
    return [block.model_dump(exclude_none=True, exclude={"parsed_output"}) for block in message.content]


async def _second(api: FakeMessages, blocks: list[dict[str, Any]], **body: Any) -> anthropic.types.Message:
    return await ask(api, HELLO, {"role": "assistant", "content": blocks}, RESULT, tools=[READ], **body)


async def test_thinking_that_comes_back_unchanged_is_accepted() -> None:
    with FakeMessages() as api:
        blocks = await _first(api, Thinking("hm", signature="sig"), RedactedThinking("b3BhcXVl"), Text("So."))
        assert (await _second(api, blocks)).stop_reason == "end_turn"


async def test_a_signature_is_made_where_the_script_gives_none() -> None:
    with FakeMessages() as api:
        blocks = await _first(api, Thinking("hm"))
        assert blocks[0]["signature"]
        assert (await _second(api, blocks)).stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("index", "change", "message"),
    [
        (0, {"signature": "other"}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (0, {"thinking": "hmm"}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (1, {"data": "other"}, "messages.1.content.1: Invalid `data` in `redacted_thinking` block"),
    ],
)
async def test_changed_thinking_is_refused(index: int, change: dict[str, str], message: str) -> None:
    with FakeMessages(allow_invalid=True) as api:
        blocks = await _first(api, Thinking("hm", signature="sig"), RedactedThinking("b3BhcXVl"))
        blocks[index] |= change
        with pytest.raises(anthropic.BadRequestError) as caught:
            await _second(api, blocks)
    assert caught.value.api_message == message


async def test_thinking_of_another_model_is_refused() -> None:
    with FakeMessages(allow_invalid=True) as api:
        blocks = await _first(api, Thinking("hm", signature="sig"))
        with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`"):
            await _second(api, blocks, model="claude-opus-5-5")


async def test_another_model_goes_on_when_the_thinking_is_left_out() -> None:
    with FakeMessages() as api:
        blocks = await _first(api, Thinking("hm", signature="sig"))
        assert (await _second(api, blocks[1:], model="claude-opus-5-5")).model == "claude-opus-5-5"


@pytest.mark.parametrize("kept", [(1, 2, 3), (0, 2, 3), (1, 0, 2, 3)])
async def test_thinking_before_the_latest_calls_must_stay_in_its_place(kept: tuple[int, ...]) -> None:
    with FakeMessages(allow_invalid=True) as api:
        blocks = await _first(api, Thinking("a", signature="s1"), Thinking("b", signature="s2"), Text("So."))
        with pytest.raises(anthropic.BadRequestError, match="latest assistant message cannot be modified"):
            await _second(api, [blocks[index] for index in kept])


async def test_thinking_may_be_left_out_once_it_is_disabled() -> None:
    with FakeMessages() as api:
        blocks = await _first(api, Thinking("hm", signature="sig"))
        message = await _second(api, blocks[1:], thinking={"type": "disabled"})
    assert message.stop_reason == "end_turn"


async def test_thinking_of_earlier_turns_may_be_left_out() -> None:
    with FakeMessages() as api:
        blocks = await _first(api, Thinking("hm", signature="sig"))
        earlier = [HELLO, {"role": "assistant", "content": blocks[1:]}, RESULT]
        later = [{"role": "assistant", "content": "done"}, HELLO]
        assert (await ask(api, *earlier, *later, tools=[READ])).stop_reason == "end_turn"


async def test_a_message_cannot_end_with_thinking() -> None:
    with FakeMessages(allow_invalid=True) as api:
        api.queue(Reply([Thinking("hm", signature="sig")], stop_reason="max_tokens"))
        message = await ask(api)
        with pytest.raises(anthropic.BadRequestError, match="final block in an assistant message cannot be"):
            await ask(api, HELLO, message.to_param(), HELLO)


async def test_a_stored_conversation_can_be_made_known() -> None:
    stored = Reply([Thinking("hm", signature="old"), ToolUse("Read", id="t1")])
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": "old"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {}},
    ]
    with FakeMessages() as api:
        api.remember(stored, MODEL)
        api.queue(DONE)
        assert (await _second(api, blocks)).stop_reason == "end_turn"
