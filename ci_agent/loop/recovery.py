"""What to do about what happened: a table from outcome and attempts so far to a transition or the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from ci_agent.models.base import FailureKind
from ci_agent.types.notices import Reason, Transition

__all__ = ["FAILURES", "STOPS", "TABLE", "Attempts", "Outcome", "Rule", "Step", "decide"]


class Outcome(Enum):
    """What happened in one pass."""

    CALLED_TOOLS = "called_tools"
    ANSWERED = "answered"
    EMPTY = "empty"
    UNDER_BUDGET = "under_budget"
    STOP_BLOCKED = "stop_blocked"
    STOP_PREVENTED = "stop_prevented"
    HOOK_ENDED = "hook_ended"
    TOOLS_KEEP_FAILING = "tools_keep_failing"
    OUTPUT_CUT = "output_cut"
    PAUSED = "paused"
    REFUSED = "refused"
    WINDOW_FULL = "window_full"
    PROMPT_TOO_LONG = "prompt_too_long"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_FAILED = "server_failed"
    INTERRUPTED = "interrupted"
    UNREACHABLE = "unreachable"
    NOT_SIGNED_IN = "not_signed_in"
    BAD_IMAGE = "bad_image"
    BAD_REQUEST = "bad_request"
    OUT_OF_TURNS = "out_of_turns"
    OUT_OF_MONEY = "out_of_money"
    OUT_OF_TOKENS = "out_of_tokens"
    OUT_OF_TIME = "out_of_time"
    CANCELLED_STREAMING = "cancelled_streaming"
    CANCELLED_TOOLS = "cancelled_tools"


@dataclass(frozen=True, slots=True)
class Step:
    """A way to go on, as often as it may be taken in one turn and in the whole run."""

    transition: Transition
    per_turn: int
    per_run: int


@dataclass(frozen=True, slots=True)
class Rule:
    """Ways to go on, the first that is still open is taken; then the end."""

    steps: tuple[Step, ...]
    then: Reason


UNLIMITED = 1_000_000_000  # budgets and turns bound these

_NEXT = Step(Transition.NEXT_TURN, UNLIMITED, UNLIMITED)
_RETRY = Step(Transition.STREAM_RETRY, 6, 30)
_FALLBACK = Step(Transition.MODEL_FALLBACK, 1, 1)
_DRAIN = Step(Transition.COLLAPSE_DRAIN_RETRY, 1, 10)
_COMPACT = Step(Transition.REACTIVE_COMPACT_RETRY, 1, 5)
# Overload rarely passes within seconds, so another model is asked sooner.
_SHORT_RETRY = Step(Transition.STREAM_RETRY, 2, 30)

TABLE: Mapping[Outcome, Rule] = MappingProxyType({
    Outcome.CALLED_TOOLS: Rule((_NEXT,), Reason.COMPLETED),
    Outcome.ANSWERED: Rule((), Reason.COMPLETED),
    Outcome.EMPTY: Rule((Step(Transition.STREAM_RETRY, 2, 6),), Reason.MODEL_ERROR),
    Outcome.UNDER_BUDGET: Rule((Step(Transition.TOKEN_BUDGET_CONTINUATION, 3, 3),), Reason.COMPLETED),
    Outcome.STOP_BLOCKED: Rule((Step(Transition.STOP_HOOK_BLOCKING, 3, 10),), Reason.STOP_HOOK_PREVENTED),
    Outcome.STOP_PREVENTED: Rule((), Reason.STOP_HOOK_PREVENTED),
    Outcome.HOOK_ENDED: Rule((), Reason.HOOK_STOPPED),
    Outcome.TOOLS_KEEP_FAILING: Rule((), Reason.TOOL_FAILURES),
    Outcome.OUTPUT_CUT: Rule(
        (Step(Transition.MAX_OUTPUT_TOKENS_ESCALATE, 1, 1), Step(Transition.MAX_OUTPUT_TOKENS_RECOVERY, 3, 12)),
        Reason.MAX_OUTPUT_TOKENS,
    ),
    Outcome.PAUSED: Rule((Step(Transition.PAUSE_TURN_RESUME, 10, 50),), Reason.MODEL_ERROR),
    Outcome.REFUSED: Rule((), Reason.REFUSAL),
    Outcome.WINDOW_FULL: Rule((_DRAIN, _COMPACT), Reason.PROMPT_TOO_LONG),
    Outcome.PROMPT_TOO_LONG: Rule((_DRAIN, _COMPACT), Reason.PROMPT_TOO_LONG),
    Outcome.RATE_LIMITED: Rule((Step(Transition.RATE_LIMIT_WAIT, 6, 30), _FALLBACK), Reason.MODEL_ERROR),
    Outcome.OVERLOADED: Rule((_SHORT_RETRY, _FALLBACK, _RETRY), Reason.MODEL_ERROR),
    Outcome.SERVER_FAILED: Rule((_SHORT_RETRY, _FALLBACK, _RETRY), Reason.MODEL_ERROR),
    Outcome.INTERRUPTED: Rule((_SHORT_RETRY, _FALLBACK, _RETRY), Reason.MODEL_ERROR),
    Outcome.UNREACHABLE: Rule((_SHORT_RETRY,), Reason.MODEL_ERROR),
    Outcome.NOT_SIGNED_IN: Rule((), Reason.AUTH_ERROR),
    Outcome.BAD_IMAGE: Rule((), Reason.IMAGE_ERROR),
    Outcome.BAD_REQUEST: Rule((), Reason.INVALID_REQUEST),
    Outcome.OUT_OF_TURNS: Rule((), Reason.MAX_TURNS),
    Outcome.OUT_OF_MONEY: Rule((), Reason.BUDGET_USD),
    Outcome.OUT_OF_TOKENS: Rule((), Reason.BUDGET_TOKENS),
    Outcome.OUT_OF_TIME: Rule((), Reason.DEADLINE),
    Outcome.CANCELLED_STREAMING: Rule((), Reason.CANCELLED_STREAMING),
    Outcome.CANCELLED_TOOLS: Rule((), Reason.CANCELLED_TOOLS),
})  # fmt: skip

# A stop reason that is not named here means that the message is the answer.
STOPS = {
    "max_tokens": Outcome.OUTPUT_CUT,
    "model_context_window_exceeded": Outcome.WINDOW_FULL,
    "pause_turn": Outcome.PAUSED,
    "refusal": Outcome.REFUSED,
}

FAILURES = {
    FailureKind.AUTH: Outcome.NOT_SIGNED_IN,
    FailureKind.UNREACHABLE: Outcome.UNREACHABLE,
    FailureKind.RATE_LIMIT: Outcome.RATE_LIMITED,
    FailureKind.OVERLOADED: Outcome.OVERLOADED,
    FailureKind.SERVER: Outcome.SERVER_FAILED,
    FailureKind.PROMPT_TOO_LONG: Outcome.PROMPT_TOO_LONG,
    FailureKind.INVALID_REQUEST: Outcome.BAD_REQUEST,
    FailureKind.INTERRUPTED: Outcome.INTERRUPTED,
    FailureKind.IMAGE: Outcome.BAD_IMAGE,
}

if missing := set(Outcome) - set(TABLE) | set(FailureKind) - set(FAILURES):
    raise AssertionError(f"no row for {missing}")


@dataclass(frozen=True, slots=True)
class Attempts:
    """How often each way was taken, in this turn and in the whole run."""

    turn: Mapping[Transition, int] = field(default_factory=dict)
    run: Mapping[Transition, int] = field(default_factory=dict)

    def counted(self, transition: Transition) -> Attempts:
        """With one more; a next turn starts the turn's own counts anew, never the run's."""
        run = {**self.run, transition: self.run.get(transition, 0) + 1}
        if transition is Transition.NEXT_TURN:
            return Attempts(run=run)
        return replace(self, turn={**self.turn, transition: self.turn.get(transition, 0) + 1}, run=run)

    def allow(self, step: Step) -> bool:
        """Whether a way may be taken once more."""
        return self.turn.get(step.transition, 0) < step.per_turn and self.run.get(step.transition, 0) < step.per_run


def decide(outcome: Outcome, attempts: Attempts, closed: frozenset[Transition]) -> Transition | Reason:
    """The first open way to go on, else how the run ends. `closed` are ways that make no sense right now."""
    rule = TABLE[outcome]
    for step in rule.steps:
        if step.transition not in closed and attempts.allow(step):
            return step.transition
    return rule.then
