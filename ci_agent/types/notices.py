"""What the loop tells the outside while it runs, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ci_agent.types.messages import Message, ToolResultBlock, ToolUseBlock, Usage

if TYPE_CHECKING:
    from ci_agent.types.decisions import Decision

__all__ = ["AssistantSaid", "Decided", "ModelCalled", "Notice", "Reason", "Terminal", "ToolsAnswered"]


class Reason(Enum):
    """Why a run ended."""

    COMPLETED = "completed"
    MAX_TURNS = "max_turns"
    BUDGET_USD = "budget_usd"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    PROMPT_TOO_LONG = "prompt_too_long"
    MAX_OUTPUT_TOKENS = "max_output_tokens"
    REFUSAL = "refusal"
    MODEL_ERROR = "model_error"
    MODEL_UNREACHABLE = "model_unreachable"
    AUTH_ERROR = "auth_error"
    INVALID_REQUEST = "invalid_request"


@dataclass(frozen=True, slots=True)
class AssistantSaid:
    """The model finished a message."""

    message: Message
    usage: Usage
    model: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A call was allowed or refused."""

    call: ToolUseBlock
    decision: Decision


@dataclass(frozen=True, slots=True)
class ToolsAnswered:
    """The results of one message's calls, in call order."""

    results: tuple[ToolResultBlock, ...]


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A request was sent to the model."""

    turn: int
    model: str


@dataclass(frozen=True, slots=True)
class Terminal:
    """The last notice of a run."""

    reason: Reason
    detail: str
    text: str
    turns: int
    usage: Usage
    cost_usd: float | None
    api_seconds: float


Notice = ModelCalled | AssistantSaid | Decided | ToolsAnswered | Terminal
