"""What this server has sent, so that it knows its own thinking blocks when they come back."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.messages.log import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

THOUGHTS = ("thinking", "redacted_thinking")


@dataclass(slots=True)
class Issued:
    """Thinking blocks by model, and for each tool call the thinking that came before it in its message."""

    _thoughts: set[tuple[str, str, str]] = field(default_factory=set)
    _before: dict[str, tuple[str, list[Mapping[str, Any]]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, model: str, blocks: Iterable[Mapping[str, Any]]) -> None:
        """Take note of one assistant message."""
        with self._lock:
            thoughts: list[Mapping[str, Any]] = []
            for block in blocks:
                if block["type"] in THOUGHTS:
                    self._thoughts.add((model, *_identity(block)))
                    thoughts = [*thoughts, block]
                elif block["type"] == "tool_use":
                    self._before[block["id"]] = (model, thoughts)

    def check(self, body: Mapping[str, Any]) -> None:
        """Refuse thinking that this model did not write, or that is missing before the latest tool calls."""
        model, messages = body["model"], body["messages"]
        with self._lock:
            for index, message in enumerate(messages):
                self._check_written(model, index, message)
            latest = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
            if latest and (body.get("thinking") or {}).get("type") != "disabled":
                self._check_kept(model, latest[-1], messages[latest[-1]])

    def _check_written(self, model: str, index: int, message: Mapping[str, Any]) -> None:
        for place, block in enumerate(_blocks(message)):
            if block["type"] in THOUGHTS and (model, *_identity(block)) not in self._thoughts:
                part = "signature" if block["type"] == "thinking" else "data"
                raise invalid(f"messages.{index}.content.{place}: Invalid `{part}` in `{block['type']}` block")

    def _check_kept(self, model: str, index: int, message: Mapping[str, Any]) -> None:
        blocks = _blocks(message)
        calls = [block["id"] for block in blocks if block["type"] == "tool_use" and block["id"] in self._before]
        if not calls:
            return
        writer, expected = self._before[calls[-1]]
        kept = [_identity(block) for block in blocks if block["type"] in THOUGHTS]
        if writer == model and kept[: len(expected)] != [_identity(block) for block in expected]:
            raise invalid(
                f"messages.{index}: `thinking` or `redacted_thinking` blocks in the latest assistant message"
                " cannot be modified. These blocks must remain as they were in the original response."
            )


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message["content"]
    return [] if isinstance(content, str) else content


def _identity(block: Mapping[str, Any]) -> tuple[str, str]:
    if block["type"] == "thinking":
        return block["thinking"], block["signature"]
    return "", block["data"]
