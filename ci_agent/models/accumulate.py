"""Puts the pieces of a streamed message together."""

from __future__ import annotations

import json
import math
import re
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
LONGEST_NAME = 128
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


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
                    _text("stop_reason", event.delta.stop_reason or "end_turn"),
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
                self._pieces[index].append(_text("text", delta.text))
                return delta.text
            case "thinking_delta":
                self._pieces[index].append(_text("thinking", delta.thinking))
            case "input_json_delta":
                self._pieces[index].append(_text("partial_json", delta.partial_json))
            case "signature_delta":
                self._signature[index] = _text("signature", delta.signature)
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
                # A server tool's arguments come in pieces too, and go back with the block.
                raw = {**start, "input": json.loads(text)} if text.strip() else start
                return OpaqueBlock({key: _plain(value, DEEPEST) for key, value in raw.items()})


def _tool_use(start: JsonObject, text: str) -> ToolUseBlock:
    """A call; arguments that are not a JSON object are told to the model, not guessed at."""
    id_, name = _legal(start["id"]), _legal(start["name"])
    try:
        value = json.loads(text) if text.strip() else start.get("input") or {}
        checked = _plain(value, DEEPEST)
    except (ValueError, RecursionError) as error:
        return ToolUseBlock(id_, name, {}, error=f"the arguments are not valid JSON: {error}")
    if not isinstance(checked, dict):
        return ToolUseBlock(id_, name, {}, error="the arguments must be a JSON object")
    return ToolUseBlock(id_, name, checked)


def _legal(value: JsonValue) -> str:
    """A name or an id as the API takes it back; the wrong one in a history would fail every call after it."""
    return NOT_IN_A_NAME.sub("_", str(value))[:LONGEST_NAME] or "_"


def _text(field: str, value: object) -> str:
    """What the API's description says is text."""
    if not isinstance(value, str):
        raise ValueError(f"{field} is {value!r:.80}")
    return value


def _plain(value: JsonValue, deepest: int) -> JsonValue:
    """JSON that can be written out again: not too deep, without half characters, and with numbers JSON knows."""
    if deepest == 0:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    match value:
        case str():
            return whole(value)
        case list():
            return [_plain(item, deepest - 1) for item in value]
        case dict():
            return {whole(key): _plain(item, deepest - 1) for key, item in value.items()}
        case float() if not math.isfinite(value):
            raise ValueError("a number is not finite")
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
        input_tokens=_count(reported.input_tokens, before.input_tokens),
        output_tokens=_count(reported.output_tokens, before.output_tokens),
        cache_read_input_tokens=_count(reported.cache_read_input_tokens, before.cache_read_input_tokens),
        cache_creation_input_tokens=_count(reported.cache_creation_input_tokens, before.cache_creation_input_tokens),
    )


def _count(value: int | None, before: int) -> int:
    if value is None:
        return before
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        # Budgets count with it, so nothing is guessed.
        raise ValueError(f"usage is {value!r:.80}")
    return value
