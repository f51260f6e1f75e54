"""The Messages API through the official SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, assert_never, cast

import anthropic
import httpx2

from ci_agent.models.accumulate import Accumulator
from ci_agent.models.base import Failed, FailureKind, ModelEvent, Request
from ci_agent.models.identity import NoIdentityToken
from ci_agent.types.messages import (
    Block,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolSpec,
    ToolUseBlock,
)

if TYPE_CHECKING:
    from anthropic.types import MessageParam, OutputConfigParam, TextBlockParam, ToolParam

    from ci_agent.models.identity import IdentityTokenSource

__all__ = ["AnthropicModel"]

# The stream sends pings, so silence this long means that the connection is dead.
TIMEOUT = httpx2.Timeout(connect=10.0, read=120.0, write=60.0, pool=10.0)
MAX_RETRIES = 2
PUBLIC_API = "https://api.anthropic.com"
CACHED: Any = {"type": "ephemeral"}


class AnthropicModel:
    """Streams from the Messages API, with an API key or with keyless sign-in."""

    def __init__(self, *, api_key: str = "", identity: IdentityTokenSource | None = None, base_url: str = "") -> None:
        # Always given: an action's unset input is an empty variable, which the SDK would take for an address.
        options: dict[str, Any] = {"timeout": TIMEOUT, "max_retries": MAX_RETRIES, "base_url": base_url or PUBLIC_API}
        if identity is not None:
            options["credentials"] = anthropic.WorkloadIdentityCredentials(
                identity_token_provider=identity.fetch,
                federation_rule_id=identity.federation_rule_id,
                organization_id=identity.organization_id,
                service_account_id=identity.service_account_id or None,
                workspace_id=identity.workspace_id or None,
            )
        else:
            options["api_key"] = api_key
        self._client = anthropic.AsyncAnthropic(**options)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """One call; every failure of the API or the network becomes a `Failed`."""
        accumulator = Accumulator()
        try:
            stream = await self._client.messages.create(
                model=request.model,
                max_tokens=request.max_tokens,
                system=_system(request.system),
                messages=_messages(request.messages),
                tools=[_tool(tool) for tool in request.tools],
                output_config=_effort(request.effort),
                stream=True,
            )
            async with stream:
                async for event in stream:
                    for out in accumulator.feed(event):
                        yield out
        except (anthropic.AnthropicError, httpx2.HTTPError, NoIdentityToken) as error:
            yield _failure(error, accumulator)
            return
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # The SDK and the accumulator trust events to have the API's shape; a broken proxy's do not.
            text = f"the API sent something that is not a message: {type(error).__name__} {error}"
            yield Failed(FailureKind.INTERRUPTED, text, usage=accumulator.usage)
            return
        if not accumulator.finished:
            yield Failed(FailureKind.INTERRUPTED, "the stream ended before the message did", usage=accumulator.usage)


def _system(sections: tuple[str, ...]) -> list[TextBlockParam]:
    """The system prompt, cached whole: tools and system are the same bytes in every call of a run."""
    blocks: list[TextBlockParam] = [{"type": "text", "text": text} for text in sections]
    if blocks:
        blocks[-1]["cache_control"] = CACHED
    return blocks


def _messages(messages: tuple[Message, ...]) -> list[MessageParam]:
    """The conversation; the newest message is marked so that the next call reads all of it from the cache."""
    converted: list[Any] = [
        {"role": message.role, "content": [_block(block) for block in message.content]} for message in messages
    ]
    if converted and converted[-1]["content"]:
        converted[-1]["content"][-1]["cache_control"] = CACHED
    return converted


def _effort(effort: str) -> OutputConfigParam:
    return cast("OutputConfigParam", {"effort": effort})


def _tool(tool: ToolSpec) -> ToolParam:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)}


def _block(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ThinkingBlock(thinking, signature):
            return {"type": "thinking", "thinking": thinking, "signature": signature}
        case OpaqueBlock(raw):
            return dict(raw)
        case ToolUseBlock(id_, name, input_):
            return {"type": "tool_use", "id": id_, "name": name, "input": input_}
        case ToolResultBlock(tool_use_id, content, is_error):
            return {
                "type": "tool_result",
                "tool_use_id": tool_use_id,
                "content": content,
                "is_error": is_error,
            }
        case _:
            assert_never(block)


def _failure(error: Exception, accumulator: Accumulator) -> Failed:
    kind, message = _classify(error)
    retry_after = None
    if isinstance(error, anthropic.APIStatusError):
        header = error.response.headers.get("retry-after", "")
        retry_after = float(header) if header.replace(".", "", 1).isdigit() else None
    elif accumulator.started:
        kind = FailureKind.INTERRUPTED
    return Failed(kind, message, retry_after, accumulator.usage)


STATUS_KINDS = {
    401: FailureKind.AUTH,
    403: FailureKind.AUTH,
    413: FailureKind.PROMPT_TOO_LONG,
    429: FailureKind.RATE_LIMIT,
    529: FailureKind.OVERLOADED,
}
# An error inside a stream comes with the status 200 of the stream; its type says what it is.
TYPE_KINDS = {
    "authentication_error": FailureKind.AUTH,
    "permission_error": FailureKind.AUTH,
    "rate_limit_error": FailureKind.RATE_LIMIT,
    "overloaded_error": FailureKind.OVERLOADED,
    "request_too_large": FailureKind.PROMPT_TOO_LONG,
    "invalid_request_error": FailureKind.INVALID_REQUEST,
}


def _classify(error: Exception) -> tuple[FailureKind, str]:
    """What kind of failure this is, and one line about it."""
    if isinstance(error, anthropic.APIStatusError):
        return _classify_status(error)
    cause = error.__cause__ or error
    for sign_in in (error, cause):
        if isinstance(sign_in, anthropic.WorkloadIdentityError | anthropic.CredentialsError | NoIdentityToken):
            return FailureKind.AUTH, str(sign_in)
    if isinstance(cause, httpx2.ConnectError | httpx2.UnsupportedProtocol):
        return FailureKind.UNREACHABLE, f"cannot connect: {cause}"
    return FailureKind.INTERRUPTED, f"the connection broke: {type(cause).__name__} {cause}".rstrip()


def _classify_status(error: anthropic.APIStatusError) -> tuple[FailureKind, str]:
    message = error.api_message or json.dumps(error.body)[:300]
    status = "" if error.status_code == 200 else f"HTTP {error.status_code} "
    text = f"{status}{error.type or ''}: {message}".strip()
    kind = TYPE_KINDS.get(error.type or "") or STATUS_KINDS.get(error.status_code)
    if kind is FailureKind.INVALID_REQUEST and "prompt is too long" in message:
        return FailureKind.PROMPT_TOO_LONG, text
    if kind is None:
        kind = (
            FailureKind.SERVER if error.status_code >= 500 or error.status_code == 200 else FailureKind.INVALID_REQUEST
        )
    return kind, text
