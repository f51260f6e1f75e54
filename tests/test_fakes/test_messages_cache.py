"""The prompt cache of the fake Messages API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.messages import FakeMessages, PrefixChange, Reply, Text
from tests.fakes.messages.client import HELLO, MODEL, READ, ask, connect
from tests.fakes.messages.client import create as call

LONG = "Rules of the house. " * 20


def mark(text: str, **more: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral", **more}}


def said(role: str, *texts: str, marked: bool = False) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    if marked:
        blocks[-1] = mark(texts[-1])
    return {"role": role, "content": blocks}


class Talk:
    """Calls of one fake, as (fresh, read, written) tokens."""

    def __init__(self, api: FakeMessages) -> None:
        self._api = api
        api.respond(lambda _: Reply([Text("ok")]))

    async def tokens(self, *messages: Any, **body: Any) -> tuple[int, int, int]:
        usage = (await call(self._api, *messages, **body)).usage
        return (
            usage.input_tokens,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
        )


async def test_without_marks_nothing_is_cached() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        first = await talk.tokens(system=LONG)
        assert first[0] > 100
        assert first[1:] == (0, 0)
        assert await talk.tokens(system=LONG) == first


async def test_the_first_call_writes_and_the_second_reads() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        fresh, read, written = await talk.tokens(system=[mark(LONG)])
        assert read == 0
        assert written > 100
        assert await talk.tokens(system=[mark(LONG)]) == (fresh, written, 0)


@pytest.mark.parametrize("how", [ask, call])
async def test_the_sum_is_the_whole_prompt_however_it_is_called(how: Any) -> None:
    with FakeMessages() as api:
        Talk(api)
        plain = (await how(api, system=[{"type": "text", "text": LONG}])).usage
        marked = (await how(api, system=[mark(LONG)])).usage
    assert plain.input_tokens == marked.input_tokens + marked.cache_creation_input_tokens


async def test_a_growing_conversation_reads_what_it_wrote() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        _, _, first = await talk.tokens(said("user", LONG, marked=True))
        grown = [said("user", LONG), said("assistant", "ok"), said("user", "more", marked=True)]
        fresh, read, written = await talk.tokens(*grown)
    assert (fresh, read) == (0, first)
    assert written > 0


@pytest.mark.parametrize(
    "change",
    [
        {"system": [mark(LONG + ".")]},
        {"model": "claude-haiku-5-5"},
        {"tools": [{**READ, "description": "Read any file."}]},
    ],
)
async def test_one_changed_byte_loses_the_cache(change: dict[str, Any]) -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        await talk.tokens(system=[mark(LONG)], tools=[READ])
        _, read, written = await talk.tokens(**{"system": [mark(LONG)], "tools": [READ], **change})
    assert read == 0
    assert written > 0


async def test_a_change_behind_the_mark_keeps_the_cache() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        _, _, written = await talk.tokens(system=[mark(LONG)])
        _, read, _ = await talk.tokens(said("user", "Something else"), system=[mark(LONG)])
    assert read == written


async def test_other_thinking_keeps_the_system_and_loses_the_messages() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        question = said("user", LONG, marked=True)
        _, _, alone = await talk.tokens(system=[mark(LONG)])
        await talk.tokens(question, system=[mark(LONG)])
        _, read, _ = await talk.tokens(question, system=[mark(LONG)], thinking={"type": "adaptive"})
    assert read == alone


async def test_a_mark_finds_what_lies_up_to_twenty_blocks_back() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        _, _, written = await talk.tokens(said("user", LONG, marked=True))
        more = [f"block {number}" for number in range(20)]
        _, near, _ = await talk.tokens(said("user", LONG, *more[:19], marked=True))
        api.forget_cache()
        await talk.tokens(said("user", LONG, marked=True))
        _, far, _ = await talk.tokens(said("user", LONG, *more, marked=True))
    assert (near, far) == (written, 0)


async def test_the_automatic_mark_stands_on_the_last_block() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        fresh, _, written = await talk.tokens(cache_control={"type": "ephemeral"})
        assert fresh == 0
        assert await talk.tokens(cache_control={"type": "ephemeral"}) == (0, written, 0)


async def test_a_mark_inside_a_result_counts_for_the_result() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"cache_control": "not a mark"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [mark(LONG)]}
    messages = [HELLO, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    with FakeMessages() as api:
        talk = Talk(api)
        fresh, _, written = await talk.tokens(*messages, tools=[READ])
        assert (fresh, await talk.tokens(*messages, tools=[READ])) == (0, (0, written, 0))


async def test_a_prefix_below_the_minimum_is_not_cached() -> None:
    with FakeMessages(cache_minimum=1024) as api:
        talk = Talk(api)
        small = await talk.tokens(system=[mark(LONG)])
        large = await talk.tokens(system=[mark(LONG * 20)])
    assert small[1:] == (0, 0)
    assert large[2] > 1024


async def test_the_cache_expires_on_demand() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        first = await talk.tokens(system=[mark(LONG)])
        api.forget_cache()
        assert await talk.tokens(system=[mark(LONG)]) == first


async def test_long_and_short_lived_writes_are_told_apart() -> None:
    with FakeMessages() as api:
        Talk(api)
        system = [mark(LONG, ttl="1h"), mark(LONG)]
        usage = (await call(api, system=system)).usage
    assert usage.cache_creation is not None
    assert usage.cache_creation.ephemeral_1h_input_tokens > 100
    assert usage.cache_creation.ephemeral_5m_input_tokens > 100
    total = usage.cache_creation.ephemeral_1h_input_tokens + usage.cache_creation.ephemeral_5m_input_tokens
    assert usage.cache_creation_input_tokens == total


async def test_a_conversation_that_only_grows_has_no_prefix_changes() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        await talk.tokens(said("user", "one", marked=True), system=LONG)
        # The mark moves on and a string becomes a block: neither is a change of the prompt.
        await talk.tokens(
            {"role": "user", "content": "one"},
            said("assistant", "ok"),
            said("user", "two"),
            system=[mark(LONG)],
        )
        await talk.tokens({"role": "user", "content": "one"}, said("assistant", "ok"), said("user", "two"), system=LONG)
    assert api.prefix_changes == []


async def test_a_second_conversation_is_no_change_of_the_first() -> None:
    main = [said("user", "main"), said("assistant", "ok"), said("user", "go on")]
    with FakeMessages() as api:
        talk = Talk(api)
        await talk.tokens(main[0], system="main")
        await talk.tokens(said("user", "sub"), system="sub")
        await talk.tokens(said("user", "sub"), said("assistant", "ok"), said("user", "x"), system="sub")
        await talk.tokens(*main, system="main")
    assert api.prefix_changes == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"system": "Other"}, "system.0"),
        ({"tools": [{**READ, "description": "Other"}]}, "tools.0"),
        ({"model": "claude-haiku-5-5"}, "model"),
        ({"thinking": {"type": "adaptive"}}, "thinking"),
    ],
)
async def test_a_change_of_the_frame_is_named(change: dict[str, Any], where: str) -> None:
    frame = {"system": LONG, "tools": [READ], "thinking": {"type": "disabled"}}
    with FakeMessages() as api:
        talk = Talk(api)
        await talk.tokens(HELLO, **frame)
        await talk.tokens(HELLO, said("assistant", "ok"), HELLO, **{**frame, **change})
    assert [(found.call, found.previous, found.where) for found in api.prefix_changes] == [(1, 0, where)]


async def test_a_change_of_an_earlier_message_is_shown_with_its_bytes() -> None:
    with FakeMessages() as api:
        talk = Talk(api)
        await talk.tokens(said("user", "one"), said("assistant", "ok"), said("user", "two"))
        await talk.tokens(said("user", "one"), said("assistant", "snip"), said("user", "two"), HELLO)
    old, new = (f'{{"role":"assistant","block":{{"type":"text","text":"{text}"}}}}'.encode() for text in ("ok", "snip"))
    assert api.prefix_changes == [PrefixChange(1, 0, "messages.1.content.0", old, new)]


async def test_counting_tokens_is_one_for_four_bytes() -> None:
    with FakeMessages() as api:
        async with connect(api) as client:
            small = await client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "x"}])
            large = await client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "x" * 401}])
    assert large.input_tokens - small.input_tokens == 100
