"""Puts the pieces of a streamed message together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ci_agent.models.base import BlockDone, CacheMiss, Finished, ModelEvent, Started, TextDelta
from ci_agent.types.messages import (
    AssistantBlock,
    JsonObject,
    JsonValue,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
    whole,
)

if TYPE_CHECKING:
    from anthropic.types import Message as ApiMessage
    from anthropic.types import (
        MessageDeltaUsage,
        RawContentBlockDelta,
        RawContentBlockStartEvent,
        RawMessageStreamEvent,
    )
    from anthropic.types import Usage as ApiUsage

__all__ = ["Accumulator"]

DEEPEST = 64


class Accumulator:
    """The state of one streamed message."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.started = False
        self.finished = False
        self._open: dict[int, JsonObject] = {}
        self._pieces: dict[int, list[str]] = {}
        self._signature: dict[int, str] = {}
        self._stop = ("end_turn", "")

    def feed(self, event: RawMessageStreamEvent) -> Iterator[ModelEvent]:
        """What one event of the API means."""
        match event.type:
            case "message_start":
                self.started = True
                self.usage = _usage(event.message.usage, self.usage)
                yield Started(event.message.model, event.message.id, _cache_miss(event.message), self.usage)
            case "content_block_start":
                self._start(event)
            case "content_block_delta":
                if text := self._delta(event.index, event.delta):
                    yield TextDelta(text)
            case "content_block_stop":
                yield BlockDone(self._close(event.index))
            case "message_delta":
                self.usage = _usage(event.usage, self.usage)
                details = event.delta.stop_details
                self._stop = (
                    event.delta.stop_reason or "end_turn",
                    details.to_json(indent=None) if details else "",
                )
            case "message_stop":
                self.finished = True
                yield Finished(self._stop[0], self.usage, self._stop[1])

    def _start(self, event: RawContentBlockStartEvent) -> None:
        self._open[event.index] = event.content_block.to_dict(mode="json")  # type: ignore[assignment]
        self._pieces[event.index] = []

    def _delta(self, index: int, delta: RawContentBlockDelta) -> str:
        """Keep a piece; text is also shown as it comes."""
        match delta.type:
            case "text_delta":
                self._pieces[index].append(delta.text)
                return delta.text
            case "thinking_delta":
                self._pieces[index].append(delta.thinking)
            case "input_json_delta":
                self._pieces[index].append(delta.partial_json)
            case "signature_delta":
                self._signature[index] = delta.signature
        return ""

    def _close(self, index: int) -> AssistantBlock:
        start, text = self._open.pop(index), "".join(self._pieces.pop(index))
        match start["type"]:
            case "text":
                return TextBlock(whole(str(start["text"]) + text))
            case "thinking":
                signature = self._signature.pop(index, "") or str(start.get("signature", ""))
                return ThinkingBlock(whole(str(start["thinking"]) + text), signature)
            case "tool_use":
                return _tool_use(start, text)
            case _:
                return OpaqueBlock(start)


def _tool_use(start: JsonObject, text: str) -> ToolUseBlock:
    """A call; arguments that are not a JSON object are told to the model, not guessed at."""
    id_, name = whole(str(start["id"])), whole(str(start["name"]))
    try:
        value = json.loads(text) if text.strip() else start.get("input") or {}
        checked = _plain(value, DEEPEST)
    except (ValueError, RecursionError) as error:
        return ToolUseBlock(id_, name, {}, error=f"the arguments are not valid JSON: {error}")
    if not isinstance(checked, dict):
        return ToolUseBlock(id_, name, {}, error="the arguments must be a JSON object")
    return ToolUseBlock(id_, name, checked)


def _plain(value: JsonValue, deepest: int) -> JsonValue:
    """JSON that can be written out again: not too deep, and without half characters."""
    if deepest == 0:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    match value:
        case str():
            return whole(value)
        case list():
            return [_plain(item, deepest - 1) for item in value]
        case dict():
            return {whole(key): _plain(item, deepest - 1) for key, item in value.items()}
        case _:
            return value


def _cache_miss(message: ApiMessage) -> CacheMiss | None:
    """What the API says about the prompt cache; a shape it does not have today says nothing."""
    reason = getattr(message.diagnostics, "cache_miss_reason", None)
    kind = getattr(reason, "type", None)
    tokens = getattr(reason, "cache_missed_input_tokens", None)
    return CacheMiss(kind, tokens if isinstance(tokens, int) else 0) if isinstance(kind, str) else None


def _usage(reported: ApiUsage | MessageDeltaUsage, before: Usage) -> Usage:
    """Usage in a stream is cumulative; a field that is not reported keeps its value."""
    return Usage(
        input_tokens=_or(reported.input_tokens, before.input_tokens),
        output_tokens=_or(reported.output_tokens, before.output_tokens),
        cache_read_input_tokens=_or(reported.cache_read_input_tokens, before.cache_read_input_tokens),
        cache_creation_input_tokens=_or(reported.cache_creation_input_tokens, before.cache_creation_input_tokens),
    )


def _or(value: int | None, before: int) -> int:
    return before if value is None else value
