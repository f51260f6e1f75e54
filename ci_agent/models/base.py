"""The boundary to a model: a request goes in, a stream of events comes out. Failures are events too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ci_agent.types.messages import AssistantBlock, Message, ToolSpec, Usage

__all__ = [
    "UNKNOWN_MODEL",
    "BlockDone",
    "CacheMiss",
    "Failed",
    "FailureKind",
    "Finished",
    "Model",
    "ModelEvent",
    "ModelFacts",
    "Request",
    "Started",
    "SystemPart",
    "TextDelta",
]


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A piece of the system prompt. Where `ends_prefix` is set, what stands up to here is worth a cache entry."""

    text: str
    ends_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """Everything one call needs. `previous_id` is the message that the cache should have the beginning from."""

    model: str
    system: tuple[SystemPart, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    max_tokens: int
    effort: str
    previous_id: str = ""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model can do, as its provider says; `efforts` and `adaptive_thinking` are off where nobody knows."""

    context_tokens: int
    max_output_tokens: int
    efforts: frozenset[str] = frozenset()
    adaptive_thinking: bool = False


# Small enough for every model in service: a guess that is too large would fail calls.
UNKNOWN_MODEL = ModelFacts(context_tokens=200_000, max_output_tokens=64_000)


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """Why the beginning of a prompt was not read from the cache, and how many tokens that cost."""

    reason: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Started:
    """The model accepted the request; `usage` is what it read, billed whatever happens next."""

    model: str
    id: str = ""
    cache_miss: CacheMiss | None = None
    usage: Usage = Usage()


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
    IMAGE = "image"


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

    async def describe(self, name: str) -> ModelFacts:
        """What a model can do, asked once; `UNKNOWN_MODEL` where the provider does not say."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...
