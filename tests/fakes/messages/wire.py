"""Replies in the API's own words: a whole message, or its stream of events."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from tests.fakes.messages.replies import RawBlock, RedactedThinking, ServerToolUse, Text, Thinking, ToolUse
from tests.fakes.messages.tokens import canonical, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fakes.messages.cache import InputUsage
    from tests.fakes.messages.replies import Block, Reply

Json = dict[str, Any]
PING = "ping"


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    name: str
    data: Json

    def encode(self) -> bytes:
        """The bytes on the wire; characters are not escaped, so that they can be cut in the middle."""
        text = json.dumps(self.data, ensure_ascii=False)
        return f"event: {self.name}\ndata: {text}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Envelope:
    """A reply with all that the server adds to it."""

    id: str
    model: str
    reply: Reply
    blocks: tuple[Json, ...]
    usage: Json
    diagnostics: Json | None = None

    def message(self) -> Json:
        """The whole message, as a call without `stream` gets it."""
        return {
            **self._head(),
            "content": list(self.blocks),
            "stop_reason": self.reply.final_stop_reason,
            "stop_sequence": self.reply.stop_sequence,
            "stop_details": _details(self.reply),
            "usage": self.usage,
        }

    def events(self) -> Iterator[Event]:
        """The message as a stream, in the API's order, with its pings."""
        yield from _with_pings(self._events(), self.reply.ping_every)

    def _head(self) -> Json:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "diagnostics": self.diagnostics,
        }

    def _events(self) -> Iterator[Event]:
        started = {**self.usage, "output_tokens": min(1, self.usage["output_tokens"])}
        yield _event("message_start", message={**self._head(), **_UNFINISHED, "usage": started})
        for index, (scripted, block) in enumerate(zip(self.reply.content, self.blocks, strict=True)):
            yield _event("content_block_start", index=index, content_block=_opening(scripted, block))
            for delta in _deltas(scripted, block, self.reply.chunk):
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        delta = {
            "stop_reason": self.reply.final_stop_reason,
            "stop_sequence": self.reply.stop_sequence,
            "stop_details": _details(self.reply),
        }
        totals = {name: self.usage[name] for name in _CUMULATIVE if name in self.usage}
        yield _event("message_delta", delta=delta, usage=totals)
        yield _event("message_stop")


_UNFINISHED: Json = {"content": [], "stop_reason": None, "stop_sequence": None, "stop_details": None}
_CUMULATIVE = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "server_tool_use",
)


def error_event(kind: str, message: str) -> Event:
    """A failure in the middle of a stream."""
    return _event("error", error={"type": kind, "message": message})


def content_of(block: Block, new_id: Callable[[str], str]) -> Json:
    """The finished content block."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(thinking, signature):
            return {"type": "thinking", "thinking": thinking, "signature": signature or _sign(thinking)}
        case RedactedThinking(data):
            return {"type": "redacted_thinking", "data": data}
        case ToolUse(name, arguments, given, raw):
            values = dict(arguments) if raw is None else _parsed(raw)
            return {"type": "tool_use", "id": given or new_id("toolu"), "name": name, "input": values}
        case ServerToolUse(name, arguments, given):
            return {
                "type": "server_tool_use",
                "id": given or new_id("srvtoolu"),
                "name": name,
                "input": dict(arguments),
            }
        case RawBlock(whole):
            return dict(whole)
    assert_never(block)


def usage_of(reply: Reply, blocks: tuple[Json, ...], charged: InputUsage) -> Json:
    """The scripted usage, else the simulated one."""
    if reply.usage is not None:
        written = reply.usage.get("cache_creation_input_tokens", 0)
        return {"input_tokens": 0, "output_tokens": 0, **_cache_fields(0, written, 0), **reply.usage}
    return {
        "input_tokens": charged.fresh,
        "output_tokens": max(1, sum(estimate(len(canonical(block))) for block in blocks)),
        **_cache_fields(charged.read, charged.written_5m, charged.written_1h),
    }


def _cache_fields(read: int, five: int, hour: int) -> Json:
    return {
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": five + hour,
        "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour},
        "service_tier": "standard",
    }


def _event(name: str, **data: Any) -> Event:
    return Event(name, {"type": name, **data})


def _with_pings(events: Iterator[Event], every: int) -> Iterator[Event]:
    """One ping after the first block has opened, as the API does, and one more after each `every` events."""
    opened = False
    for count, event in enumerate(events, start=1):
        yield event
        first = event.name == "content_block_start" and not opened
        opened = opened or first
        if first or (every and count % every == 0 and event.name != "message_stop"):
            yield _event(PING)


def _opening(scripted: Block, block: Json) -> Json:
    match scripted:
        case Text():
            return {**block, "text": ""}
        case Thinking():
            return {**block, "thinking": "", "signature": ""}
        case ToolUse() | ServerToolUse():
            return {**block, "input": {}}
        case RedactedThinking() | RawBlock():
            return block
    assert_never(scripted)


def _deltas(scripted: Block, block: Json, size: int) -> Iterator[Json]:
    match scripted:
        case Text(text):
            yield from ({"type": "text_delta", "text": piece} for piece in _pieces(text, size))
        case Thinking(thinking):
            yield from ({"type": "thinking_delta", "thinking": piece} for piece in _pieces(thinking, size))
            yield {"type": "signature_delta", "signature": block["signature"]}
        case ToolUse() | ServerToolUse():
            # The API opens with an empty piece, and for a call without arguments sends nothing more.
            for piece in ("", *_pieces(_arguments(scripted), size)):
                yield {"type": "input_json_delta", "partial_json": piece}
        case RedactedThinking() | RawBlock():
            return
        case _:
            assert_never(scripted)


def _arguments(block: ToolUse | ServerToolUse) -> str:
    if isinstance(block, ToolUse) and block.raw is not None:
        return block.raw
    return json.dumps(dict(block.input), ensure_ascii=False) if block.input else ""


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _parsed(raw: str) -> Json:
    """The input for a caller that does not stream; what is no JSON object arrives as an empty one."""
    try:
        value = json.loads(raw)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _sign(thinking: str) -> str:
    return "fake-" + hashlib.sha256(thinking.encode()).hexdigest()


def _details(reply: Reply) -> Json | None:
    return None if reply.stop_details is None else dict(reply.stop_details)
