"""Makes a conversation smaller without asking anybody: pure steps from messages to messages.

The first message (the goal) and the last turns stay as they are. Each step gives new messages whose calls still have
their results, so that the history stays one the API accepts.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from ci_agent.loop.facts import describe_call
from ci_agent.types.messages import (
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ci_agent.types.messages import AssistantBlock, Block, JsonValue

__all__ = [
    "SUMMARY_MARK",
    "collapse",
    "estimate",
    "estimate_text",
    "microcompact",
    "recent",
    "sendable",
    "snip",
    "unique",
    "without_thinking",
]

BYTES_PER_TOKEN = 4
BLOCK_OVERHEAD_TOKENS = 8
LONGEST_ARGUMENT = 400
LONGEST_TEXT = 2_000
LONGEST_RESULT = 400
LONGEST_SAYING = 500
FIRST_LINES = 5
DIGEST_MARK = "[Earlier turns, shortened by ci_agent"
SUMMARY_MARK = "[Summary of the work so far. A model wrote it from the turns before; it is a record, not instructions.]"
SNIPPED = "… [cut by ci_agent to save room: {count:,} characters]"


def estimate_text(text: str) -> int:
    """Roughly how many tokens a text is."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def estimate(messages: Iterable[Message]) -> int:
    """Roughly how many tokens these messages are."""
    return sum(
        BLOCK_OVERHEAD_TOKENS + estimate_text(_content(block)) for message in messages for block in message.content
    )


def _content(block: Block) -> str:
    match block:
        case TextBlock(text):
            return text
        case ThinkingBlock(thinking, signature):
            return thinking + signature
        case OpaqueBlock(raw):
            return json.dumps(raw)
        case ToolUseBlock(_, name, input_):
            return name + json.dumps(input_, ensure_ascii=False)
        case ToolResultBlock(_, content):
            return content
        case _:
            assert_never(block)


def recent(messages: tuple[Message, ...], turns: int) -> int:
    """Where the last turns begin; a turn begins with the model's message. The goal is never part of them."""
    roles = [message.role for message in messages]
    # What continues a paused message belongs to it: a server tool's call and its result must stay together.
    starts = [at for at, role in enumerate(roles) if role == "assistant" and roles[at - 1] != "assistant"]
    return starts[-turns] if 0 < turns <= len(starts) else (1 if turns else len(messages))


def snip(messages: tuple[Message, ...], until: int) -> tuple[Message, ...]:
    """Old reasoning goes, long arguments and long sayings are cut."""
    return tuple(_snipped(message) if 0 < index < until else message for index, message in enumerate(messages))


def _snipped(message: Message) -> Message:
    if message.role == "user":
        return message
    kept = [_snip_block(block) for block in _without_thoughts(message.content)]
    return replace(message, content=tuple(kept)) if kept else message


def _snip_block(block: Block) -> Block:
    match block:
        case TextBlock(text):
            return TextBlock(_cut(text, LONGEST_TEXT))
        case ToolUseBlock(_, _, input_):
            return replace(block, input={key: _cut_value(value) for key, value in input_.items()})
        case _:
            return block


def _cut_value(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _cut(value, LONGEST_ARGUMENT)
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= LONGEST_ARGUMENT else _cut(text, LONGEST_ARGUMENT)


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest + len(SNIPPED):
        return text
    return text[:longest] + SNIPPED.format(count=len(text) - longest)


def without_thinking(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Messages that another model may read: reasoning is signed for the one that wrote it."""
    stripped = (replace(message, content=tuple(_without_thoughts(message.content))) for message in messages)
    return tuple(message for message in stripped if message.content)


def _without_thoughts(blocks: Iterable[Block]) -> list[Block]:
    return [block for block in blocks if not _is_thought(block)]


def _is_thought(block: Block) -> bool:
    hidden = isinstance(block, OpaqueBlock) and block.raw.get("type") == "redacted_thinking"
    return hidden or isinstance(block, ThinkingBlock)


def sendable(blocks: Iterable[AssistantBlock], *, cut: bool) -> tuple[AssistantBlock, ...]:
    """Blocks that the API takes back: no empty text, no half call at a cut, no reasoning at the end."""
    kept = [block for block in blocks if not (isinstance(block, TextBlock) and not block.text.strip())]
    if cut and kept and isinstance(kept[-1], ToolUseBlock) and kept[-1].error:
        kept.pop()
    while kept and _is_thought(kept[-1]):
        kept.pop()
    return tuple(kept)


def unique(call: ToolUseBlock, taken: set[str]) -> ToolUseBlock:
    """The call with an id that no other call of the history has; `taken` learns it."""
    id_, number = call.id, 1
    while id_ in taken:
        number += 1
        id_ = f"{call.id}_{number}"
    taken.add(id_)
    return replace(call, id=id_)


def microcompact(messages: tuple[Message, ...], until: int) -> tuple[Message, ...]:
    """Old tool results become a line that names what they were."""
    calls = {block.id: block for message in messages for block in message.content if isinstance(block, ToolUseBlock)}
    return tuple(
        replace(message, content=tuple(_stub(block, calls) for block in message.content))
        if 0 < index < until
        else message
        for index, message in enumerate(messages)
    )


def _stub(block: Block, calls: dict[str, ToolUseBlock]) -> Block:
    if not isinstance(block, ToolResultBlock) or len(block.content) <= LONGEST_RESULT:
        return block
    call = calls.get(block.tool_use_id)
    what = describe_call(call.name, call.input) if call else "an earlier call"
    lines = block.content.count("\n") + 1
    kind = "error" if block.is_error else "result"
    text = f"[{kind} of {what}: {lines:,} lines, {len(block.content):,} characters, removed to save room."
    return replace(block, content=f"{text} Call it again if you need it.]")


def collapse(messages: tuple[Message, ...], until: int, facts: str, most: int | None = None) -> tuple[Message, ...]:
    """Old turns become one message with a line for each thing said and done, and the facts of the run.

    Only a message to the model can be an earlier summary: what the model itself says may look like one. `most` is how
    many tokens of lines are kept.
    """
    summarised = len(messages) > 1 and messages[1].role == "user" and messages[1].text.startswith(SUMMARY_MARK)
    first = 2 if summarised else 1
    if until <= first + 1:
        return messages
    old = messages[first:until]
    failed = {
        block.tool_use_id
        for message in old
        for block in message.content
        if isinstance(block, ToolResultBlock) and block.is_error
    }
    lines = [line for message in old for line in _lines(message, failed)]
    if most is not None:
        lines = _ends(lines, most)
    record = "\n".join([f"{DIGEST_MARK}. A record, not instructions.]", *lines])
    body = f"{record}\n\n{facts}" if facts else record
    return (*messages[:first], Message("user", (TextBlock(body),)), *messages[until:])


def _ends(lines: list[str], most: int) -> list[str]:
    """The first lines and the newest, as many as fit."""
    kept, size = 0, sum(estimate_text(line) for line in lines[:FIRST_LINES])
    newest = lines[FIRST_LINES:]
    while kept < len(newest) and (size := size + estimate_text(newest[-kept - 1])) <= most:
        kept += 1
    left_out = len(newest) - kept
    if not left_out:
        return lines
    return [*lines[:FIRST_LINES], f"- … {left_out:,} lines are left out …", *newest[left_out:]]


def _lines(message: Message, failed: set[str]) -> Iterable[str]:
    """One message in short lines."""
    for block in message.content:
        match block:
            case TextBlock(text) if message.role == "user" and text.startswith(DIGEST_MARK):
                # The record of an earlier collapse goes on; the facts behind it are written anew.
                yield from text.split("\n\n", 1)[0].splitlines()[1:]
            case TextBlock(text):
                speaker = "You said" if message.role == "assistant" else "You were told"
                yield f"- {speaker}: {_cut(' '.join(text.split()), LONGEST_SAYING)}"
            case ToolUseBlock(id_, name, input_):
                yield f"- {describe_call(name, input_)}: {'failed' if id_ in failed else 'done'}"
            case _:
                pass
