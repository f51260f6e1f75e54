"""One-line calls of the fake: with the real SDK, or without it to send what the SDK would not."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anthropic.types import Message

    from tests.fakes.messages.server import FakeMessages

MODEL = "claude-sonnet-5-5"
HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
READ: dict[str, Any] = {
    "name": "Read",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}},
}
HEADERS = {"x-api-key": "sk-test", "anthropic-version": "2023-06-01"}


def connect(api: FakeMessages, *, max_retries: int = 0, **options: Any) -> AsyncAnthropic:
    """An SDK client of the fake; without retries, so that each failure is seen."""
    if "credentials" not in options:
        options.setdefault("api_key", "sk-test")
    options.setdefault("timeout", 10.0)
    # Loopback is plain HTTP: to load the machine's certificates for each client would only cost time.
    options.setdefault("http_client", DefaultAsyncHttpxClient(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)))
    return AsyncAnthropic(base_url=api.url, max_retries=max_retries, **options)


async def ask(api: FakeMessages, *messages: Any, **body: Any) -> Message:
    """One streamed call, read to its end."""
    async with connect(api) as client, client.messages.stream(**_body(messages, body)) as stream:
        return await stream.get_final_message()


async def create(api: FakeMessages, *messages: Any, **body: Any) -> Message:
    """One call without streaming."""
    async with connect(api) as client:
        message: Message = await client.messages.create(**_body(messages, body))
        return message


async def events(api: FakeMessages, *messages: Any, **body: Any) -> list[Any]:
    """One streamed call as the raw events of the wire."""
    async with connect(api) as client:
        stream = await client.messages.create(stream=True, **_body(messages, body))
        return [event async for event in stream]


def post(
    api: FakeMessages, body: Any, path: str = "/v1/messages", headers: Mapping[str, str] = HEADERS
) -> tuple[int, Any]:
    """One plain POST; `body` is sent as JSON unless it is bytes. Gives status and parsed answer."""
    connection = http.client.HTTPConnection(urlsplit(api.url).netloc, timeout=10)
    try:
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body), dict(headers))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def _body(messages: tuple[Any, ...], body: dict[str, Any]) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 4096, "messages": list(messages) or [HELLO], **body}
