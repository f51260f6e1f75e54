"""The rules of a conversation: roles, content and the pairing of tool calls with their results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.fakes.messages.log import invalid
from tests.fakes.messages.prompt import blocks_of
from tests.fakes.messages.shape import BLOCKS, RESULT_BLOCKS, check_tagged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_ONLY_IN = {
    "tool_use": "assistant",
    "server_tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_result": "user",
}


def check_conversation(messages: Any) -> None:
    """Everything the API demands of `messages`."""
    if not isinstance(messages, list):
        raise invalid("messages: Input should be a valid list")
    if not messages:
        raise invalid("messages: at least one message is required")
    for index, message in enumerate(messages):
        _check_message(index, message)
    if messages[0]["role"] != "user":
        raise invalid('messages: first message must use the "user" role')
    _check_unique_calls(messages)
    for index, message in enumerate(messages):
        _check_calls_answered(index, message, messages)
        _check_results_asked_for(index, message, messages)
    _check_end(messages)


def _check_message(index: int, message: Any) -> None:
    where = f"messages.{index}"
    if not isinstance(message, dict):
        raise invalid(f"{where}: Input should be a valid dictionary or object to extract fields from")
    for key in ("role", "content"):
        if key not in message:
            raise invalid(f"{where}.{key}: Field required")
    for key in message.keys() - {"role", "content"}:
        raise invalid(f"{where}.{key}: Extra inputs are not permitted")
    if message["role"] not in ("user", "assistant", "system"):
        raise invalid(f"{where}.role: Input should be 'user', 'assistant' or 'system'")
    _check_content(where, message["role"], message["content"])


def _check_content(where: str, role: str, content: Any) -> None:
    if not isinstance(content, str | list):
        raise invalid(f"{where}.content: Input should be a valid string or a valid list")
    if not content:
        raise invalid(f"{where}: all messages must have non-empty content")
    for place, block in enumerate(blocks_of(content)):
        _check_block(f"{where}.content.{place}", role, block)
    last = blocks_of(content)[-1]["type"]
    if last in ("thinking", "redacted_thinking"):
        raise invalid(f"{where}: The final block in an assistant message cannot be `{last}`.")


def _check_block(where: str, role: str, block: Any) -> None:
    tag = check_tagged(BLOCKS, block, where)
    if role == "system" and tag != "text":
        raise invalid(f"{where}: `system` messages can only have `text` blocks")
    wanted = _ONLY_IN.get(tag, role)
    if wanted != role:
        raise invalid(f"{where}: `{tag}` blocks can only be in `{wanted}` messages")
    if tag == "text":
        check_text(block["text"], "messages")
    elif tag == "tool_use":
        _check_call(f"{where}.tool_use", block)
    elif tag == "tool_result":
        _check_result(f"{where}.tool_result", block)


def check_text(text: str, where: str) -> None:
    """Refuse a text block with nothing in it."""
    if not text:
        raise invalid(f"{where}: text content blocks must be non-empty")
    if not text.strip():
        raise invalid(f"{where}: text content blocks must contain non-whitespace text")


def _check_call(where: str, block: Mapping[str, Any]) -> None:
    for key, pattern in (("id", _ID), ("name", _NAME)):
        if not pattern.match(block[key]):
            raise invalid(f"{where}.{key}: String should match pattern '{pattern.pattern}'")


def _check_result(where: str, block: Mapping[str, Any]) -> None:
    content = block.get("content")
    if block.get("is_error") and not content:
        raise invalid(f"{where}: content cannot be empty if `is_error` is true")
    for place, inner in enumerate(content if isinstance(content, list) else ()):
        if check_tagged(RESULT_BLOCKS, inner, f"{where}.content.{place}") == "text":
            check_text(inner["text"], "messages")


def _of_type(message: Mapping[str, Any], tag: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for place, block in enumerate(blocks_of(message["content"])):
        if block["type"] == tag:
            yield place, block


def _check_unique_calls(messages: Sequence[Mapping[str, Any]]) -> None:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for place, block in _of_type(message, "tool_use"):
            if block["id"] in seen:
                raise invalid(f"messages.{index}.content.{place}: `tool_use` ids must be unique")
            seen.add(block["id"])


def _check_calls_answered(index: int, message: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> None:
    calls = [block["id"] for _, block in _of_type(message, "tool_use")]
    following = messages[index + 1] if index + 1 < len(messages) else None
    answered = set(_leading_results(following)) if following else set()
    missing = [call for call in calls if call not in answered]
    if missing:
        raise invalid(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after:"
            f" {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block"
            " in the next message."
        )


def _leading_results(message: Mapping[str, Any]) -> Iterator[str]:
    """Results count only at the head of a message: text may follow them, not come first."""
    for block in blocks_of(message["content"]):
        if block["type"] != "tool_result":
            return
        yield block["tool_use_id"]


def _check_results_asked_for(index: int, message: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> None:
    asked = {block["id"] for _, block in _of_type(messages[index - 1], "tool_use")} if index else set()
    given: set[str] = set()
    for place, block in _of_type(message, "tool_result"):
        call = block["tool_use_id"]
        if call not in asked:
            raise invalid(
                f"messages.{index}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks:"
                f" {call}. Each `tool_result` block must have a corresponding `tool_use` block"
                " in the previous message."
            )
        if call in given:
            raise invalid(
                f"messages.{index}.content.{place}: each tool_use must have a single result."
                f" Found multiple `tool_result` blocks with id: {call}"
            )
        given.add(call)


def _check_end(messages: Sequence[Mapping[str, Any]]) -> None:
    """A last assistant message is only the return of a paused turn, which holds a server tool's call."""
    if messages[-1]["role"] == "assistant" and not any(_of_type(messages[-1], "server_tool_use")):
        raise invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
