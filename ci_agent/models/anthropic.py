"""The Messages API through the official SDK, whichever of its clients carries the calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2

from ci_agent.models.accumulate import Accumulator
from ci_agent.models.base import UNKNOWN_MODEL, Failed, FailureKind, ModelEvent, ModelFacts, Request
from ci_agent.models.facts import read_facts
from ci_agent.models.failures import to_failure
from ci_agent.models.identity import NoIdentityToken
from ci_agent.models.requests import to_params

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anthropic.types import RawMessageStreamEvent

    Client = (
        anthropic.AsyncAnthropic
        | anthropic.AsyncAnthropicBedrockMantle
        | anthropic.AsyncAnthropicFoundry
        | anthropic.AsyncAnthropicGoogleCloud
        | anthropic.AsyncAnthropicVertex
    )

__all__ = ["AnthropicModel"]

DESCRIBE_SECONDS = 10.0
IDLE_SECONDS = 90.0
# Thoughts that the API does not show come as pings only, and may take long.
THINKING_PATIENCE = 4
# The SDK and the accumulator trust answers to have the API's shape; a broken proxy's do not.
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError)
BROKEN = (anthropic.AnthropicError, httpx2.HTTPError, NoIdentityToken)


class Stalled(Exception):
    """A stream on which nothing but pings comes."""


class AnthropicModel:
    """Streams from the Messages API. `sign_in_errors` is what the client raises when it has no credential."""

    def __init__(
        self,
        client: Client,
        *,
        diagnostics: bool = False,
        idle_seconds: float = IDLE_SECONDS,
        sign_in_errors: tuple[type[Exception], ...] = (),
    ) -> None:
        self._client = client
        self._diagnostics = diagnostics
        self._idle_seconds = idle_seconds
        self._sign_in_errors = sign_in_errors
        self._failures: tuple[type[Exception], ...] = (*BROKEN, *MALFORMED, *sign_in_errors, Stalled)
        self._no_facts: tuple[type[Exception], ...] = (*self._failures, TimeoutError)
        self._facts: dict[str, ModelFacts] = {}
        self._asking = asyncio.Lock()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def describe(self, name: str) -> ModelFacts:
        """What a model can do, asked once: facts that change during a run would lose the prompt cache."""
        async with self._asking:
            if name not in self._facts:
                self._facts[name] = await self._ask(name)
            return self._facts[name]

    async def _ask(self, name: str) -> ModelFacts:
        # Some providers have no Models API; their clients lack it, or have None in its place.
        models = getattr(self._client, "models", None)
        if models is None:
            return UNKNOWN_MODEL
        try:
            async with asyncio.timeout(DESCRIBE_SECONDS):
                response = await models.with_raw_response.retrieve(name, timeout=DESCRIBE_SECONDS)
                return read_facts(await response.json())
        except self._no_facts:
            return UNKNOWN_MODEL

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """One call; every failure of the API or the network becomes a `Failed`."""
        accumulator = Accumulator()
        try:
            async with aclosing(self._events(request)) as events:
                async for event in events:
                    if accumulator.finished:
                        continue
                    for out in accumulator.feed(event):
                        yield out
        except self._failures as error:
            # What breaks after the last event of a message breaks nothing.
            if not accumulator.finished:
                yield self._failed(error, accumulator)
            return
        if not accumulator.finished:
            yield Failed(FailureKind.INTERRUPTED, "the stream ended before the message did", usage=accumulator.usage)

    def _failed(self, error: Exception, accumulator: Accumulator) -> Failed:
        if isinstance(error, BROKEN):
            return to_failure(error, accumulator.usage, started=accumulator.started)
        if isinstance(error, Stalled):
            return Failed(FailureKind.INTERRUPTED, str(error), usage=accumulator.usage)
        if isinstance(error, self._sign_in_errors):
            # Where the credential comes from may only be out of reach for a moment.
            passing = getattr(error, "retryable", False) or isinstance(error.__cause__, OSError)
            kind = FailureKind.SERVER if passing else FailureKind.AUTH
            return Failed(kind, f"cannot sign in: {error}", usage=accumulator.usage)
        text = f"the API sent something that is not a message: {type(error).__name__} {error}"
        return Failed(FailureKind.INTERRUPTED, text, usage=accumulator.usage)

    async def _events(self, request: Request) -> AsyncGenerator[RawMessageStreamEvent, None]:
        """The API's events; `Stalled` when only pings come."""
        params = to_params(request, await self.describe(request.model))
        stream = await self._open(params, request.previous_id)
        async with stream:
            events = aiter(stream)
            patience = self._idle_seconds
            while event := await _next(events, patience):
                patience = self._idle_seconds * (THINKING_PATIENCE if _opens_thinking(event) else 1)
                yield event

    async def _open(self, params: dict[str, Any], previous_id: str) -> anthropic.AsyncStream[RawMessageStreamEvent]:
        create = self._client.messages.create
        if self._diagnostics:
            try:
                opened = await create(**params, diagnostics={"previous_message_id": previous_id or None})
            except anthropic.BadRequestError as error:
                if "diagnostics" not in str(error):
                    raise
                # A proxy that does not know the field: it never will in this run.
                self._diagnostics = False
            else:
                return opened  # type: ignore[no-any-return]
        return await create(**params)  # type: ignore[no-any-return]


async def _next(events: AsyncIterator[RawMessageStreamEvent], seconds: float) -> RawMessageStreamEvent | None:
    try:
        async with asyncio.timeout(seconds):
            return await anext(events, None)
    except TimeoutError:
        raise Stalled(f"the answer stalled: nothing new came for {seconds:g} s") from None


def _opens_thinking(event: RawMessageStreamEvent) -> bool:
    return event.type == "content_block_start" and event.content_block.type == "thinking"
