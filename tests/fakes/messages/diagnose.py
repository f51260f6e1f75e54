"""Cache diagnostics: what a prompt changed against the one whose reply the caller names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.fakes.messages.prompt import Part

REASONS = {
    "model": "model_changed",
    "tools": "tools_changed",
    "system": "system_changed",
    "messages": "messages_changed",
}


@dataclass(slots=True)
class Diagnoses:
    """The prompt behind every message that was sent."""

    _prompts: dict[str, tuple[Part, ...]] = field(default_factory=dict)

    def compare(self, body: Mapping[str, Any], message_id: str, parts: tuple[Part, ...]) -> dict[str, Any] | None:
        """Remember this prompt; what the message's `diagnostics` says of it."""
        known = dict(self._prompts)
        self._prompts[message_id] = parts
        previous = (body.get("diagnostics") or {}).get("previous_message_id")
        if previous is None:
            return None
        if previous not in known:
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        reason = _reason(known[previous], parts)
        return None if reason is None else {"cache_miss_reason": reason}


def _reason(before: Sequence[Part], now: Sequence[Part]) -> dict[str, Any] | None:
    """The first group that differs, in the order of the API; new messages at the end are no change."""
    for group, reason in REASONS.items():
        old, new = _group(before, group), _group(now, group)
        same = old == new[: len(old)] if group == "messages" else old == new
        if not same:
            return {"type": reason, "cache_missed_input_tokens": _missed(before, now)}
    settings = [part.data for part in before if part.label in ("tool_choice", "thinking")]
    if settings != [part.data for part in now if part.label in ("tool_choice", "thinking")]:
        return {"type": "unavailable"}
    return None


def _group(parts: Sequence[Part], group: str) -> list[bytes]:
    return [part.data for part in parts if part.label.partition(".")[0] == group]


def _missed(before: Sequence[Part], now: Sequence[Part]) -> int:
    """The tokens of the earlier prompt behind the first difference."""
    same = 0
    for old, new in zip(before, now, strict=False):
        if old.data != new.data:
            break
        same += 1
    return sum(part.tokens for part in before[same:])
