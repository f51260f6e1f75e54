"""What is said between the model and the loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "AssistantBlock",
    "Block",
    "JsonObject",
    "JsonValue",
    "Message",
    "OpaqueBlock",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolSpec",
    "ToolUseBlock",
    "Usage",
    "one_line",
    "whole",
]

JsonValue = bool | int | float | str | None | list["JsonValue"] | dict[str, "JsonValue"]
JsonObject = dict[str, JsonValue]


def whole(text: str) -> str:
    """Text without half characters (lone surrogates), which no file and no request can carry."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str, longest: int) -> str:
    """Text as one line that is not longer than that."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest and len(text) <= 4 * longest else f"{line[: longest - 1]}…"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Plain text of either side."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """The model's reasoning; goes back with its signature or not at all."""

    thinking: str
    signature: str


@dataclass(frozen=True, slots=True)
class OpaqueBlock:
    """A block this version does not interpret (redacted thinking, server tools), returned as it came."""

    raw: JsonObject


@dataclass(frozen=True, slots=True)
class ToolUseBlock:
    """A call the model makes. `error` is set where its arguments were not a JSON object."""

    id: str
    name: str
    input: JsonObject
    error: str = ""


@dataclass(frozen=True, slots=True)
class ToolResultBlock:
    """The answer to one call."""

    tool_use_id: str
    content: str
    is_error: bool = False


AssistantBlock = TextBlock | ThinkingBlock | OpaqueBlock | ToolUseBlock
Block = AssistantBlock | ToolResultBlock


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation."""

    role: Literal["user", "assistant"]
    content: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All text blocks, joined."""
        return self.spoken.strip()

    @property
    def spoken(self) -> str:
        """The same with the white space at both ends, which matters where a cut message goes on."""
        return "\n\n".join(block.text for block in self.content if isinstance(block, TextBlock))


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were billed."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
        )

    @property
    def prompt_tokens(self) -> int:
        """Everything the model read, cached or not."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: JsonObject = field(hash=False)
