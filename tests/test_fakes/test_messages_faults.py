"""Failures of the fake Messages API, met with the real SDK."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import Any

import anthropic
import httpx2
import pytest

from tests.fakes.messages import (
    Answer,
    Drop,
    FakeMessages,
    HttpError,
    Reply,
    Request,
    Text,
    bad_gateway,
    prompt_too_long,
    request_too_large,
)
from tests.fakes.messages.client import HELLO, MODEL, ask, connect, create

BODY: dict[str, Any] = {"model": MODEL, "max_tokens": 10, "messages": [HELLO]}


@pytest.mark.parametrize(
    ("error", "expected", "kind", "message"),
    [
        (
            HttpError(429, "rate_limit_error", "slow down"),
            anthropic.RateLimitError,
            "rate_limit_error",
            "slow down",
        ),
        (HttpError(529, "overloaded_error"), anthropic.OverloadedError, "overloaded_error", "Overloaded"),
        (HttpError(500, "api_error"), anthropic.InternalServerError, "api_error", "Internal server error"),
        (
            HttpError(401, "authentication_error", "invalid x-api-key"),
            anthropic.AuthenticationError,
            "authentication_error",
            "invalid x-api-key",
        ),
        (
            prompt_too_long(210_000, 200_000),
            anthropic.BadRequestError,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
        ),
        (
            request_too_large(),
            anthropic.RequestTooLargeError,
            "request_too_large",
            "Request exceeds the maximum size",
        ),
    ],
)
@pytest.mark.parametrize("call", [ask, create])
async def test_http_errors_become_the_exceptions_of_the_sdk(
    call: Any, error: HttpError, expected: type[anthropic.APIStatusError], kind: str, message: str
) -> None:
    with FakeMessages() as api:
        api.queue(error)
        with pytest.raises(expected) as caught:
            await call(api)
    assert (caught.value.type, caught.value.api_message) == (kind, message)
    assert caught.value.request_id is not None
    assert caught.value.body == {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": caught.value.request_id,
    }


async def test_headers_of_an_error_reach_the_caller() -> None:
    with FakeMessages() as api:
        api.queue(HttpError(429, "rate_limit_error", headers={"retry-after": "7"}))
        with pytest.raises(anthropic.RateLimitError) as caught:
            await ask(api)
    assert caught.value.response.headers["retry-after"] == "7"


async def test_a_proxy_may_answer_html() -> None:
    with FakeMessages() as api:
        api.queue(bad_gateway())
        with pytest.raises(anthropic.InternalServerError, match="502 Bad Gateway") as caught:
            await ask(api)
    assert caught.value.type is None
    assert caught.value.response.headers["content-type"] == "text/html"


async def test_the_sdk_retries_by_default_and_every_try_is_logged() -> None:
    soon = {"retry-after-ms": "1"}
    with FakeMessages() as api:
        api.queue(
            HttpError(429, "rate_limit_error", headers=soon),
            HttpError(529, "overloaded_error", headers=soon),
            Reply([Text("at last")]),
        )
        async with connect(api, max_retries=2) as client:
            message = await client.messages.create(**BODY)
    assert message.content[0].text == "at last"
    assert [request.headers["x-stainless-retry-count"] for request in api.requests] == ["0", "1", "2"]


async def test_a_drop_before_the_first_byte_is_a_connection_error() -> None:
    with FakeMessages() as api:
        api.queue(Drop())
        with pytest.raises(anthropic.APIConnectionError):
            await ask(api)


async def test_a_drop_is_retried_by_default() -> None:
    with FakeMessages() as api:
        api.queue(Drop(), Reply([Text("again")]))
        async with connect(api, max_retries=1) as client:
            message = await client.messages.create(**BODY)
    assert message.content[0].text == "again"
    assert len(api.requests) == 2


@pytest.mark.parametrize("sent", [0, 1, 3])
async def test_a_cut_stream_ends_without_a_last_chunk(sent: int) -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("a longer text than one delta")], cut_after=sent))
        seen, error = await _read(api)
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert "incomplete chunked read" in str(error)
    assert seen == ["message_start", "content_block_start", "content_block_delta"][:sent]


async def test_a_whole_message_can_be_cut_too() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("x")], cut_after=1))
        with pytest.raises(anthropic.APIConnectionError):
            await create(api)


async def test_an_error_may_come_in_the_middle_of_a_stream() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("abc")], error_after=2, error=("overloaded_error", "Overloaded")))
        seen, error = await _read(api)
    assert seen == ["message_start", "content_block_start"]
    assert isinstance(error, anthropic.APIStatusError)
    # The status line was sent long before: callers must look at the type.
    assert (error.status_code, error.type) == (200, "overloaded_error")


async def test_without_a_stream_the_same_error_is_a_status() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("abc")], error_after=2, error=("overloaded_error", "Overloaded")))
        with pytest.raises(anthropic.OverloadedError):
            await create(api)


async def test_a_stalled_stream_ends_when_the_caller_goes() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("abc")], stall_after=2))
        seen, error = await _read(api, timeout=0.2)
        await _until_left(api)
    assert seen == ["message_start", "content_block_start"]
    assert isinstance(error, httpx2.ReadTimeout)
    assert api.left == api.requests


async def test_a_whole_message_can_stall_too() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("abc")], stall_after=2))
        async with connect(api, timeout=0.2) as client:
            with pytest.raises(anthropic.APITimeoutError):
                await client.messages.create(**BODY)
        await _until_left(api)
    assert api.left == api.requests


async def test_a_stalled_stream_does_not_keep_the_server_from_stopping() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("abc")], stall_after=2))
        async with connect(api) as client:
            stream = await client.messages.create(stream=True, **BODY)
            await anext(stream)
            await anext(stream)
            started = time.monotonic()
            await asyncio.to_thread(api.stop)
            stopped = time.monotonic() - started
            with pytest.raises(httpx2.RemoteProtocolError):
                await anext(stream)
    assert stopped < 2
    assert api.left == []


async def test_an_idle_connection_ends_when_the_server_stops() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("x")]))
        async with connect(api) as client:
            await client.messages.create(**BODY)
            started = time.monotonic()
            await asyncio.to_thread(api.stop)
            assert time.monotonic() - started < 2


async def test_a_slow_stream_pauses_between_events() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("x")], pause=0.05))
        times = []
        async with connect(api) as client:
            async for _ in await client.messages.create(stream=True, **BODY):
                times.append(time.monotonic())  # noqa: PERF401
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert len(gaps) == 5
    assert sum(gaps) >= 0.2


async def test_a_caller_that_leaves_a_slow_stream_is_noticed() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("x" * 2000)], chunk=1, pause=0.005))
        async with connect(api) as client:
            stream = await client.messages.create(stream=True, **BODY)
            await anext(stream)
            await stream.close()
            await _until_left(api)
    assert len(api.left) == 1


async def test_a_window_refuses_the_prompt_that_does_not_fit() -> None:
    with FakeMessages(context_window=100) as api:
        api.queue(Reply([Text("fits")]))
        with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > 100 maximum"):
            await ask(api, {"role": "user", "content": "x" * 1000})
        assert (await ask(api)).stop_reason == "end_turn"


async def test_a_body_above_the_limit_is_refused() -> None:
    with FakeMessages(max_body=1000) as api, pytest.raises(anthropic.RequestTooLargeError) as caught:
        await ask(api, {"role": "user", "content": "x" * 1000})
    assert caught.value.api_message == "Request exceeds the maximum size"


async def test_a_call_without_a_script_fails_the_test_that_forgot_it() -> None:
    api = FakeMessages()
    with (
        pytest.raises(AssertionError, match="no reply is scripted for call 1 of the model"),
        api,
        pytest.raises(anthropic.InternalServerError, match="no reply is scripted"),
    ):
        await _call_with_retries(api)
    assert len(api.requests) == 1


async def test_a_script_that_raises_fails_the_test() -> None:
    def broken(_: Request) -> Answer:
        raise KeyError("a mistake in the script")

    api = FakeMessages()
    api.respond(broken)
    with (
        pytest.raises(AssertionError, match="a mistake in the script"),
        api,
        pytest.raises(anthropic.APIConnectionError),
    ):
        await ask(api)


async def test_the_error_of_a_failing_test_is_not_hidden() -> None:
    with pytest.raises(anthropic.InternalServerError, match="no reply is scripted"), FakeMessages() as api:
        await ask(api)


async def test_after_the_block_nobody_listens() -> None:
    with FakeMessages() as api:
        pass
    with pytest.raises(anthropic.APIConnectionError):
        await ask(api)


async def _call_with_retries(api: FakeMessages) -> None:
    async with connect(api, max_retries=2) as client:
        await client.messages.create(**BODY)


async def _read(api: FakeMessages, **options: Any) -> tuple[list[str], Exception]:
    """The events that arrived, and how the stream broke."""
    seen: list[str] = []
    async with connect(api, **options) as client:
        stream = await client.messages.create(stream=True, **BODY)
        try:
            async for event in stream:
                seen.append(event.type)  # noqa: PERF401
        except (anthropic.APIError, httpx2.TransportError) as error:
            return seen, error
    raise AssertionError("the stream came to its end")


async def _until_left(api: FakeMessages) -> None:
    """Wait until the server has noticed that its caller is gone."""
    async with asyncio.timeout(5):
        while not api.left:  # noqa: ASYNC110 - it happens in a thread of the server
            await asyncio.sleep(0.01)
