"""One call to the model, from request to a whole message or a failure."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never, cast

from ci_agent.models.base import BlockDone, Failed, Finished, Started, TextDelta
from ci_agent.types.messages import Message, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ci_agent.models.base import Model, ModelEvent, Request
    from ci_agent.types.messages import AssistantBlock

__all__ = ["Turn", "take_turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a call gave. A failed call has no message: its pieces are dropped."""

    message: Message | None
    stop_reason: str
    usage: Usage
    seconds: float
    failure: Failed | None = None
    detail: str = ""


async def take_turn(model: Model, request: Request) -> Turn:
    """Call the model and put its message together."""
    blocks: list[AssistantBlock] = []
    started = time.monotonic()
    stream = cast("AsyncGenerator[ModelEvent, None]", model.stream(request))
    async with aclosing(stream):
        async for event in stream:
            match event:
                case BlockDone(block):
                    blocks.append(block)
                case Finished(stop_reason, usage, detail):
                    message = Message("assistant", tuple(blocks))
                    return Turn(message, stop_reason, usage, time.monotonic() - started, detail=detail)
                case Failed(usage=usage):
                    return Turn(None, "", usage, time.monotonic() - started, failure=event)
                case Started() | TextDelta():
                    pass
                case _:
                    assert_never(event)
    raise AssertionError("a model's stream ends with Finished or Failed")
