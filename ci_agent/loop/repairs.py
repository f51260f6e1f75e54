"""How a conversation goes on: one step for each transition."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ci_agent.loop.attach import note
from ci_agent.loop.compact import recent, without_thinking
from ci_agent.loop.recovery import TABLE
from ci_agent.types.messages import Message, OpaqueBlock, TextBlock
from ci_agent.types.notices import Compacted, Continued, Transition

if TYPE_CHECKING:
    from ci_agent.loop.budget import Deadline, Meter
    from ci_agent.loop.prepare import Preparer, Room
    from ci_agent.loop.recovery import Outcome
    from ci_agent.loop.state import State
    from ci_agent.loop.turn import Reply
    from ci_agent.types.tasks import Grant

__all__ = ["DISCARDING", "ESCALATED_TOKENS", "Kit", "Pace", "closed", "repair"]

ESCALATED_TOKENS = 64_000

# The attempt is lost with all it said; the others keep the message.
DISCARDING = frozenset({
    Transition.REACTIVE_COMPACT_RETRY,
    Transition.COLLAPSE_DRAIN_RETRY,
    Transition.MAX_OUTPUT_TOKENS_ESCALATE,
    Transition.MODEL_FALLBACK,
    Transition.RATE_LIMIT_WAIT,
    Transition.STREAM_RETRY,
})  # fmt: skip

RESUME = (
    "Your message reached its length limit and was cut. Resume directly where it stops, without repeating anything."
)
GO_ON = "Your message was paused. Go on where it stops, without repeating anything."


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait before another attempt: doubling, with jitter, unless the API says how long."""

    base: float = 0.5
    rate_limit_base: float = 2.0
    most: float = 30.0

    def wait(self, transition: Transition, attempt: int, retry_after: float | None) -> float:
        """Seconds to wait."""
        if retry_after is not None:
            return retry_after
        base = self.rate_limit_base if transition is Transition.RATE_LIMIT_WAIT else self.base
        longest = min(self.most, base * 2 ** min(attempt, 10))
        return random.uniform(longest / 2, longest)  # noqa: S311 - spreads load, keeps no secret


@dataclass(frozen=True, slots=True)
class Kit:
    """What repairs need."""

    grant: Grant
    preparer: Preparer
    room: Room
    deadline: Deadline
    meter: Meter
    pace: Pace


Repaired = tuple["State", list[Compacted], Continued]


def closed(outcome: Outcome, state: State, reply: Reply, kit: Kit) -> frozenset[Transition]:
    """The ways that make no sense right now."""
    ways: set[Transition] = set()
    offered = {step.transition for step in TABLE[outcome].steps}
    if not kit.grant.fallback_model or state.model == kit.grant.fallback_model:
        ways.add(Transition.MODEL_FALLBACK)
    # The message would be thrown away for a longer one, which must be possible.
    if state.max_tokens >= min(ESCALATED_TOKENS, kit.room.longest_answer) or kit.meter.exhausted():
        ways.add(Transition.MAX_OUTPUT_TOKENS_ESCALATE)
    drains = Transition.COLLAPSE_DRAIN_RETRY
    if drains in offered and kit.preparer.drain(state, kit.room)[0].messages == state.messages:
        ways.add(drains)
    if recent(state.messages, 1) <= 1:
        ways.add(Transition.REACTIVE_COMPACT_RETRY)
    if (reply.retry_after or 0) > kit.deadline.remaining:
        ways |= {Transition.RATE_LIMIT_WAIT, Transition.STREAM_RETRY}
    return frozenset(ways)


async def repair(transition: Transition, state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    """The state to go on with, and what is said about it; waiting is the caller's. `told` is for the model."""
    state, boundaries, continued = await REPAIRS[transition](state, reply, kit, told)
    if continued.told:
        state = state.told(Message("user", (TextBlock(continued.told),)))
    return state.went(transition), boundaries, continued


async def _next_turn(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    return state, [], Continued(Transition.NEXT_TURN)


async def _drain(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    state, boundaries = kit.preparer.drain(state, kit.room)
    return state, boundaries, _lost(Transition.COLLAPSE_DRAIN_RETRY, reply, told)


async def _compact(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    state, boundary = await kit.preparer.compact(state, recent(state.messages, 1), kit.room)
    return state, [boundary], _lost(Transition.REACTIVE_COMPACT_RETRY, reply, told)


async def _escalate(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    state = replace(state, max_tokens=ESCALATED_TOKENS)
    return state, [], _lost(Transition.MAX_OUTPUT_TOKENS_ESCALATE, reply, told)


async def _resume(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    return state, [], Continued(Transition.MAX_OUTPUT_TOKENS_RECOVERY, reply.detail, told=note(RESUME))


async def _blocked(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    text = note(f"A stop hook of this repository does not let you stop yet: {told}")
    return state, [], Continued(Transition.STOP_HOOK_BLOCKING, told, told=text)


async def _under_budget(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    used = f"{kit.meter.tokens:,} of at least {kit.grant.min_tokens or 0:,} tokens are used"
    text = note(f"{used}. Go on: look where you have not looked yet, then write your whole answer again.")
    return state, [], Continued(Transition.TOKEN_BUDGET_CONTINUATION, used, told=text)


async def _fall_back(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    detail = f"{reply.detail}; going on with {kit.grant.fallback_model}"
    state = replace(
        state,
        model=kit.grant.fallback_model,
        messages=without_thinking(state.messages),
        previous_id="",
        after_boundary=True,
    )
    # Messages that held nothing but reasoning are gone, so the count of what was measured no longer fits.
    state = replace(state, measured=replace(state.measured, messages=min(state.measured.messages, len(state.messages))))
    return state, [], replace(_lost(Transition.MODEL_FALLBACK, reply, told), detail=detail)


async def _wait(transition: Transition, state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    seconds = kit.pace.wait(transition, state.attempts.turn.get(transition, 0), reply.retry_after)
    return state, [], replace(_lost(transition, reply, told), wait_seconds=seconds)


async def _wait_for_limit(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    return await _wait(Transition.RATE_LIMIT_WAIT, state, reply, kit, told)


async def _retry(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    return await _wait(Transition.STREAM_RETRY, state, reply, kit, told)


async def _paused(state: State, reply: Reply, kit: Kit, told: str) -> Repaired:
    # The API goes on with a server tool's call; a message without one must be answered by something.
    called = any(isinstance(block, OpaqueBlock) for block in reply.message.content)
    return state, [], Continued(Transition.PAUSE_TURN_RESUME, reply.detail, told="" if called else note(GO_ON))


def _lost(transition: Transition, reply: Reply, told: str) -> Continued:
    return Continued(transition, reply.detail, told=note(told) if told else "", usage=reply.usage)


Step = Callable[["State", "Reply", Kit, str], Awaitable[Repaired]]
REPAIRS: dict[Transition, Step] = {
    Transition.NEXT_TURN: _next_turn,
    Transition.REACTIVE_COMPACT_RETRY: _compact,
    Transition.COLLAPSE_DRAIN_RETRY: _drain,
    Transition.MAX_OUTPUT_TOKENS_ESCALATE: _escalate,
    Transition.MAX_OUTPUT_TOKENS_RECOVERY: _resume,
    Transition.STOP_HOOK_BLOCKING: _blocked,
    Transition.TOKEN_BUDGET_CONTINUATION: _under_budget,
    Transition.MODEL_FALLBACK: _fall_back,
    Transition.RATE_LIMIT_WAIT: _wait_for_limit,
    Transition.STREAM_RETRY: _retry,
    Transition.PAUSE_TURN_RESUME: _paused,
}

if missing := set(Transition) - set(REPAIRS):
    raise AssertionError(f"no step for {missing}")
