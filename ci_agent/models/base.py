"""The boundary to a model: a request goes in, a stream of events comes out. Failures are events too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ci_agent.types.messages import AssistantBlock, Message, ToolSpec, Usage

__all__ = [
    "BlockDone",
    "Failed",
    "FailureKind",
    "Finished",
    "Model",
    "ModelEvent",
    "Request",
    "Started",
    "TextDelta",
]


@dataclass(frozen=True, slots=True)
class Request:
    """Everything one call needs."""

    model: str
    system: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    max_tokens: int
    effort: str


@dataclass(frozen=True, slots=True)
class Started:
    """The model accepted the request."""

    model: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of text as it comes."""

    text: str


@dataclass(frozen=True, slots=True)
class BlockDone:
    """A content block is complete."""

    block: AssistantBlock


@dataclass(frozen=True, slots=True)
class Finished:
    """The message is complete."""

    stop_reason: str
    usage: Usage
    detail: str = ""


class FailureKind(Enum):
    """Kinds of failure that callers treat differently."""

    AUTH = "auth"
    UNREACHABLE = "unreachable"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER = "server"
    PROMPT_TOO_LONG = "prompt_too_long"
    INVALID_REQUEST = "invalid_request"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed; nothing more comes. `usage` is what was billed before."""

    kind: FailureKind
    message: str
    retry_after: float | None = None
    usage: Usage = Usage()


ModelEvent = Started | TextDelta | BlockDone | Finished | Failed


class Model(Protocol):
    """A provider. `stream` never raises for what the provider or the network does."""

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The events of one call; the last one is `Finished` or `Failed`."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...
