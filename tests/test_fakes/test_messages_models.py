"""What the fake says of its models and of the prompt cache, and the calls that reach it by another way."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest
from anthropic.types import Message, ModelInfo

from tests.fakes.messages import Abilities, FakeMessages, Reply, Text
from tests.fakes.messages.client import HELLO, MODEL, READ, connect, create, events, post

POOR = Abilities(max_tokens=5000, efforts=("low", "high"), adaptive=False)
VERTEX = "/v1/projects/p/locations/r/publishers/anthropic/models/claude-sonnet-5-5"
BEARER = {"authorization": "Bearer t"}


async def retrieve(api: FakeMessages, name: str = MODEL) -> ModelInfo:
    async with connect(api) as client:
        return await client.models.retrieve(name)


async def test_model_is_described_in_the_shape_of_the_sdk() -> None:
    with FakeMessages() as api:
        info = await retrieve(api)
    ModelInfo.model_validate(info.to_dict())
    assert (info.max_input_tokens, info.max_tokens) == (1_000_000, 128_000)
    assert info.capabilities is not None
    assert info.capabilities.effort.xhigh is not None
    assert info.capabilities.effort.xhigh.supported
    assert info.capabilities.thinking.types.adaptive.supported


async def test_window_and_abilities_can_be_chosen() -> None:
    with FakeMessages(context_window=9000, abilities=POOR) as api:
        info = await retrieve(api)
    assert (info.max_input_tokens, info.max_tokens) == (9000, 5000)
    assert info.capabilities is not None
    effort = info.capabilities.effort
    assert [effort.low.supported, effort.medium.supported, effort.high.supported] == [True, False, True]
    assert not info.capabilities.thinking.types.adaptive.supported


async def test_models_endpoint_can_be_missing() -> None:
    with FakeMessages(describes_models=False) as api:
        with pytest.raises(anthropic.NotFoundError):
            await retrieve(api)
        async with connect(api) as client:
            with pytest.raises(anthropic.NotFoundError):
                await client.models.list()


TOO_MUCH: dict[str, tuple[Abilities, dict[str, Any], str]] = {
    "a level that is not offered": (POOR, {"output_config": {"effort": "max"}}, "effort level 'max'"),
    "effort at all": (Abilities(efforts=()), {"output_config": {"effort": "low"}}, "does not support the effort"),
    "adaptive thinking": (POOR, {"thinking": {"type": "adaptive"}}, "adaptive thinking is not supported"),
    "a long answer": (POOR, {"max_tokens": 5001}, "max_tokens: 5001 > 5000"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
async def test_model_refuses_what_it_cannot_do(name: str) -> None:
    abilities, more, message = TOO_MUCH[name]
    with (
        FakeMessages(abilities=abilities, allow_invalid=True) as api,
        pytest.raises(anthropic.BadRequestError, match=message),
    ):
        await create(api, **more)


async def ask(api: FakeMessages, previous: str | None, **more: Any) -> Message:
    api.queue(Reply([Text("ok")]))
    return await create(api, **more, diagnostics={"previous_message_id": previous})


BASE: dict[str, Any] = {"system": "rules", "tools": [READ]}
CHANGES: dict[str, tuple[dict[str, Any], str | None]] = {
    "nothing": ({}, None),
    "a message more": ({"messages": [HELLO, {"role": "assistant", "content": "a"}, HELLO]}, None),
    "the model": ({"model": "claude-haiku-5-5"}, "model_changed"),
    "the system": ({"system": "other"}, "system_changed"),
    "the tools": ({"tools": []}, "tools_changed"),
    "a message": ({"messages": [{"role": "user", "content": "Other"}]}, "messages_changed"),
    "the thinking": ({"thinking": {"type": "adaptive"}}, "unavailable"),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_change_of_the_prompt_is_diagnosed(name: str) -> None:
    change, expected = CHANGES[name]
    with FakeMessages() as api:
        first = await ask(api, None, **BASE)
        second = await ask(api, first.id, **{**BASE, **change})
    assert first.diagnostics is None
    reason = second.diagnostics.cache_miss_reason if second.diagnostics else None
    assert (reason.type if reason else None) == expected
    if expected not in (None, "unavailable"):
        assert getattr(reason, "cache_missed_input_tokens", 0) > 0


async def test_unknown_message_is_not_found_and_streams_are_diagnosed_too() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("ok")]))
        stream = await events(api, diagnostics={"previous_message_id": "msg_gone"})
    assert stream[0].message.diagnostics.cache_miss_reason.type == "previous_message_not_found"


async def test_nothing_is_diagnosed_unasked() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("ok")]))
        assert (await create(api)).diagnostics is None


async def test_proxy_may_not_know_diagnostics() -> None:
    with FakeMessages(knows_diagnostics=False) as api:
        with pytest.raises(anthropic.BadRequestError, match="diagnostics: Extra inputs are not permitted"):
            await ask(api, None)
        assert isinstance(await create(api), Message)


async def test_blocks_may_arrive_apart() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("a"), Text("b")], block_pause=60))
        async with connect(api) as client:
            messages: Any = [HELLO]
            stream = await client.messages.create(model=MODEL, max_tokens=9, messages=messages, stream=True)
            seen = []
            async for event in stream:
                seen.append(event.type)
                if event.type == "content_block_stop":
                    break
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.3)
            await stream.close()
    assert seen == ["message_start", "content_block_start", "content_block_delta", "content_block_stop"]


def test_call_through_vertex_is_the_same_call() -> None:
    body = {"anthropic_version": "2026-10-21", "max_tokens": 9, "messages": [HELLO]}
    with FakeMessages(allow_invalid=True) as api:
        api.queue(Reply([Text("ok")]))
        status, answer = post(api, body, f"{VERTEX}:rawPredict", BEARER)
        assert (status, answer["model"]) == (200, MODEL)
        assert api.bodies == [{"model": MODEL, "max_tokens": 9, "messages": [HELLO]}]
        assert api.requests[0].sent_to == f"{VERTEX}:rawPredict"
        assert post(api, body, f"{VERTEX}:streamRawPredict", BEARER)[0] == 400
        assert post(api, {**body, "model": MODEL}, f"{VERTEX}:rawPredict", BEARER)[0] == 400
        del body["anthropic_version"]
        assert post(api, body, f"{VERTEX}:rawPredict", BEARER)[0] == 400


def test_signature_of_aws_is_a_credential() -> None:
    headers = {"authorization": "AWS4-HMAC-SHA256 Credential=x", "anthropic-version": "2026-10-21"}
    with FakeMessages() as api:
        api.queue(Reply([Text("ok")]))
        assert post(api, {"model": MODEL, "max_tokens": 9, "messages": [HELLO]}, headers=headers)[0] == 200


def test_google_exchanges_a_form_for_a_token() -> None:
    form = b"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=a.b.c"
    with FakeMessages() as api:
        assert post(api, form, "/sts/v1/token", {})[1]["token_type"] == "Bearer"
        assert post(api, b"grant_type=x", "/sts/v1/token", {})[0] == 400
