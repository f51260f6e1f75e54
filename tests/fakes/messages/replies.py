"""What a test scripts: content blocks, whole replies and failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Text:
    """A `text` block."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A `thinking` block; without a signature the server makes one."""

    thinking: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """A `redacted_thinking` block; `data` is opaque and must come back unchanged."""

    data: str = "cmVkYWN0ZWQ="


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A `tool_use` block; `raw` streams exactly that text as its input, valid JSON or not."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class ServerToolUse:
    """A `server_tool_use` block: a tool that the API itself runs."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class RawBlock:
    """Any other content block, sent whole in `content_block_start` (server tool results, say)."""

    block: Mapping[str, Any]


Block = Text | Thinking | RedactedThinking | ToolUse | ServerToolUse | RawBlock


@dataclass(frozen=True, slots=True)
class Reply:
    """One assistant message and the way it travels.

    `cut_after`, `error_after` and `stall_after` count the events sent before the fault, without pings.
    `chunk` is the number of characters in one delta, `write` the number of bytes in one write to the socket.
    `pause` is the time in seconds after each event, `block_pause` the time before each block but the first;
    a stalled stream pings every `stall_ping` seconds, where that is set.
    `usage` replaces the simulated counts; keys it leaves out are 0.
    """

    content: Sequence[Block]
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    chunk: int = 16
    write: int | None = None
    pause: float = 0.0
    block_pause: float = 0.0
    ping_every: int = 0
    cut_after: int | None = None
    stall_after: int | None = None
    stall_ping: float = 0.0
    error_after: int | None = None
    error: tuple[str, str] = ("overloaded_error", "Overloaded")

    def __post_init__(self) -> None:
        if self.chunk < 1 or (self.write is not None and self.write < 1):
            raise ValueError("chunk and write must be at least 1")
        if sum(after is not None for after in (self.cut_after, self.stall_after, self.error_after)) > 1:
            raise ValueError("a reply ends in one way: set only one of cut_after, stall_after, error_after")

    @property
    def final_stop_reason(self) -> str:
        """The scripted stop reason, else the one that the content implies."""
        if self.stop_reason is not None:
            return self.stop_reason
        return "tool_use" if any(isinstance(block, ToolUse) for block in self.content) else "end_turn"


@dataclass(frozen=True, slots=True)
class HttpError:
    """An HTTP error; `body` replaces the API's JSON error object by another text."""

    status: int
    type: str = "api_error"
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection is closed before any byte of an answer."""


Answer = Reply | HttpError | Drop

DEFAULT_MESSAGES = {
    "overloaded_error": "Overloaded",
    "api_error": "Internal server error",
    "rate_limit_error": "This request would exceed your organization's rate limit.",
    "authentication_error": "invalid x-api-key",
    "permission_error": "Your API key does not have permission to use the specified resource.",
    "request_too_large": "Request exceeds the maximum size",
    "timeout_error": "Request timed out",
}

STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def prompt_too_long(tokens: int = 210_000, maximum: int = 200_000) -> HttpError:
    """The refusal of a prompt that does not fit the model's context window."""
    return HttpError(400, "invalid_request_error", f"prompt is too long: {tokens} tokens > {maximum} maximum")


def request_too_large() -> HttpError:
    """The refusal of a body above the API's size limit."""
    return HttpError(413, "request_too_large")


def bad_gateway() -> HttpError:
    """The HTML page of a proxy that could not reach the API."""
    page = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
    return HttpError(502, body=page, content_type="text/html")
