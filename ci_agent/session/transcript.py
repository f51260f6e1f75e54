"""A run as JSON records. The transcript file and `stream-json` on stdout are the same records."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, assert_never

from ci_agent.types.messages import (
    Block,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ci_agent.types.notices import (
    AssistantSaid,
    CacheMissed,
    Compacted,
    Continued,
    Decided,
    ModelCalled,
    Notice,
    Reason,
    Terminal,
    ToolProgress,
    ToolsAnswered,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Record", "Recorder", "subtype"]

Record = dict[str, object]

SUBTYPES = {
    Reason.COMPLETED: "success",
    Reason.BUDGET_USD: "error_budget",
    Reason.BUDGET_TOKENS: "error_budget",
    Reason.CANCELLED_STREAMING: "error_cancelled",
    Reason.CANCELLED_TOOLS: "error_cancelled",
}


SUBTYPE_OF_NOTICE: dict[type[Notice], str] = {
    ToolProgress: "tool_progress",
    CacheMissed: "cache_miss",
    Compacted: "compact_boundary",
    Continued: "transition",
}


def subtype(reason: Reason) -> str:
    """The name that users of headless agents already parse."""
    return SUBTYPES.get(reason, f"error_{reason.value}")


@dataclass(slots=True)
class Recorder:
    """Turns notices into records and counts what the result must tell."""

    session_id: str
    denials: list[Record] = field(default_factory=list)

    def init(self, facts: Mapping[str, object]) -> Record:
        """The first record."""
        return {"type": "system", "subtype": "init", "session_id": self.session_id, **facts}

    def record(self, notice: Notice) -> Record:
        """One notice."""
        match notice:
            case ModelCalled(turn, model, tokens):
                return self._notice("model_call", turn=turn, model=model, prompt_tokens_estimate=tokens)
            case AssistantSaid(message, usage, model):
                body = {**_message(message), "model": model, "usage": asdict(usage)}
                return {"type": "assistant", "session_id": self.session_id, "message": body}
            case Decided(call, decision):
                return self._decided(call, asdict(decision))
            case ToolsAnswered(results, notes):
                texts = tuple(TextBlock(note) for note in notes)
                return {
                    "type": "user",
                    "session_id": self.session_id,
                    "message": _message(Message("user", (*results, *texts))),
                }
            case ToolProgress() | CacheMissed() | Compacted() | Continued():
                return self._notice(SUBTYPE_OF_NOTICE[type(notice)], **_plain(notice))
            case Terminal():
                return self._notice("terminal", reason=notice.reason.value, detail=notice.detail)
            case _:
                assert_never(notice)

    def result(self, terminal: Terminal, text: str, seconds: float) -> Record:
        """The last record."""
        return {
            "type": "result",
            "subtype": subtype(terminal.reason),
            "is_error": terminal.reason is not Reason.COMPLETED,
            "session_id": self.session_id,
            "num_turns": terminal.turns,
            "duration_ms": round(seconds * 1000),
            "duration_api_ms": round(terminal.api_seconds * 1000),
            "usage": asdict(terminal.usage),
            "total_cost_usd": terminal.cost_usd,
            "permission_denials": self.denials,
            "result": text,
        }

    def _decided(self, call: ToolUseBlock, decision: dict[str, object]) -> Record:
        if not decision["allowed"]:
            self.denials.append(
                {
                    "tool_name": call.name,
                    "tool_use_id": call.id,
                    "tool_input": call.input,
                    "reason": decision["reason"],
                }
            )
        return self._notice("decision", tool_use_id=call.id, tool=call.name, **decision)

    def _notice(self, kind: str, **facts: object) -> Record:
        return {"type": "notice", "subtype": kind, "session_id": self.session_id, **facts}


def _plain(notice: ToolProgress | CacheMissed | Compacted | Continued) -> Record:
    """The fields of a notice, an enum as its value."""
    fields = asdict(notice)
    return {key: value.value if isinstance(value, Enum) else value for key, value in fields.items()}


def _message(message: Message) -> Record:
    return {"role": message.role, "content": [_block(block) for block in message.content]}


def _block(block: Block) -> Record:
    match block:
        case TextBlock():
            return {"type": "text", **asdict(block)}
        case ThinkingBlock():
            return {"type": "thinking", **asdict(block)}
        case OpaqueBlock(raw):
            return dict(raw)
        case ToolUseBlock():
            return {"type": "tool_use", **asdict(block)}
        case ToolResultBlock():
            return {"type": "tool_result", **asdict(block)}
        case _:
            assert_never(block)
