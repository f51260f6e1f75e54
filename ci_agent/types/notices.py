"""What the loop tells the outside while it runs, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ci_agent.types.messages import Message, ToolResultBlock, ToolUseBlock, Usage

if TYPE_CHECKING:
    from ci_agent.types.decisions import Decision

__all__ = [
    "AssistantSaid",
    "Boundary",
    "CacheMissed",
    "Compacted",
    "Continued",
    "Decided",
    "ModelCalled",
    "Notice",
    "Reason",
    "Stage",
    "Terminal",
    "ToolProgress",
    "ToolsAnswered",
    "Transition",
]


class Reason(Enum):
    """Why a run ended."""

    COMPLETED = "completed"
    MAX_TURNS = "max_turns"
    BUDGET_USD = "budget_usd"
    BUDGET_TOKENS = "budget_tokens"
    DEADLINE = "deadline"
    CANCELLED_STREAMING = "cancelled_streaming"
    CANCELLED_TOOLS = "cancelled_tools"
    PROMPT_TOO_LONG = "prompt_too_long"
    MAX_OUTPUT_TOKENS = "max_output_tokens"
    STOP_HOOK_PREVENTED = "stop_hook_prevented"
    HOOK_STOPPED = "hook_stopped"
    REFUSAL = "refusal"
    MODEL_ERROR = "model_error"
    AUTH_ERROR = "auth_error"
    IMAGE_ERROR = "image_error"
    TOOL_FAILURES = "tool_failures"
    INVALID_REQUEST = "invalid_request"


class Transition(Enum):
    """Why a conversation goes on."""

    NEXT_TURN = "next_turn"
    REACTIVE_COMPACT_RETRY = "reactive_compact_retry"
    COLLAPSE_DRAIN_RETRY = "collapse_drain_retry"
    MAX_OUTPUT_TOKENS_ESCALATE = "max_output_tokens_escalate"
    MAX_OUTPUT_TOKENS_RECOVERY = "max_output_tokens_recovery"
    STOP_HOOK_BLOCKING = "stop_hook_blocking"
    TOKEN_BUDGET_CONTINUATION = "token_budget_continuation"  # noqa: S105 - tokens of a model, not of a door
    MODEL_FALLBACK = "model_fallback"
    RATE_LIMIT_WAIT = "rate_limit_wait"
    STREAM_RETRY = "stream_retry"
    PAUSE_TURN_RESUME = "pause_turn_resume"


class Boundary(Enum):
    """How earlier messages were made smaller; behind each the prompt starts anew for the cache."""

    SNIP = "snip"
    MICROCOMPACT = "microcompact"
    COLLAPSE = "collapse"
    COMPACT = "compact"


class Stage(Enum):
    """Where a call of a tool is."""

    STARTED = "started"
    RUNNING = "running"
    FINISHED = "finished"


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
class ToolProgress:
    """A call began, has something to say, or ended."""

    tool_use_id: str
    tool: str
    stage: Stage
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolsAnswered:
    """The results of one message's calls, in call order, and what the loop adds to them."""

    results: tuple[ToolResultBlock, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A request was sent to the model; `prompt_tokens` is our own estimate."""

    turn: int
    model: str
    prompt_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CacheMissed:
    """The beginning of the prompt was not read from the cache. After a boundary that is what must happen."""

    reason: str
    tokens: int
    expected: bool


@dataclass(frozen=True, slots=True)
class Compacted:
    """Earlier messages were replaced by something smaller."""

    boundary: Boundary
    before_tokens: int
    after_tokens: int
    before_messages: int
    after_messages: int
    text: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Continued:
    """The conversation goes on, and why. `told` is what the model is told, `usage` what a lost attempt cost."""

    transition: Transition
    detail: str = ""
    wait_seconds: float = 0.0
    told: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Terminal:
    """The last notice of a run. `reached` is false where nothing ever answered at the model's address."""

    reason: Reason
    detail: str
    text: str
    turns: int
    usage: Usage
    cost_usd: float | None
    api_seconds: float
    reached: bool = True


Notice = (
    ModelCalled
    | AssistantSaid
    | Decided
    | ToolProgress
    | ToolsAnswered
    | CacheMissed
    | Compacted
    | Continued
    | Terminal
)
