"""A request in the words of the Messages API, with its cache breakpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from ci_agent.models.base import ModelFacts, Request, SystemPart
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

__all__ = ["EFFORTS", "choose_effort", "to_params"]

EFFORTS = ("low", "medium", "high", "xhigh", "max")
CACHED = {"type": "ephemeral"}
# The API takes four breakpoints: two for the frame, two for the conversation.
FRAME_MARKS = 2
TALK_MARKS = 2
UNMARKABLE = ("thinking", "redacted_thinking")


def to_params(request: Request, facts: ModelFacts) -> dict[str, Any]:
    """The arguments of the SDK's `messages.create`; what the model is not known to support is left out."""
    params: dict[str, Any] = {
        "model": request.model,
        "max_tokens": min(request.max_tokens, facts.max_output_tokens),
        "system": _system(request.system),
        "messages": _messages(request.messages),
        "tools": [_tool(tool) for tool in request.tools],
        "stream": True,
    }
    if effort := choose_effort(request.effort, facts.efforts):
        params["output_config"] = {"effort": effort}
    if facts.adaptive_thinking:
        params["thinking"] = {"type": "adaptive"}
    return params


def choose_effort(wanted: str, offered: frozenset[str]) -> str:
    """The wanted level, else the nearest lower one, else the lowest; empty where the model has no levels."""
    levels = [level for level in EFFORTS if level in offered]
    below = [level for level in levels if wanted in EFFORTS and EFFORTS.index(level) <= EFFORTS.index(wanted)]
    return (below or levels[:1] or [""])[-1]


def _system(parts: Sequence[SystemPart]) -> list[dict[str, Any]]:
    """The system prompt; tools and system are the same bytes in every call, so their ends are marked."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": part.text} for part in parts]
    ends = [block for block, part in zip(blocks, parts, strict=True) if part.ends_prefix]
    for block in (ends or blocks[-1:])[-FRAME_MARKS:]:
        block["cache_control"] = CACHED
    return blocks


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation, marked at its end and where the call before this one ended.

    The API looks back 20 blocks from a mark: the second mark finds what a turn with more blocks would lose.
    """
    converted = [
        {"role": message.role, "content": [_block(block) for block in message.content]} for message in messages
    ]
    asked = [message["content"] for message in converted if message["role"] == "user"]
    for content in asked[-TALK_MARKS:]:
        markable = [block for block in content if isinstance(block, dict) and block["type"] not in UNMARKABLE]
        for block in markable[-1:]:
            block["cache_control"] = CACHED
    return converted


def _tool(tool: ToolSpec) -> dict[str, Any]:
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
