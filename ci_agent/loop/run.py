"""The conversation: ask the model, run its tools, until it is done or must stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ci_agent.context.prompt import CacheClass
from ci_agent.loop.budget import Deadline, exhausted
from ci_agent.loop.recovery import AFTER_FAILURE, AFTER_STOP
from ci_agent.loop.state import State
from ci_agent.loop.turn import Turn, take_turn
from ci_agent.models.base import Request, SystemPart
from ci_agent.models.pricing import price
from ci_agent.types.messages import Message, TextBlock, ToolSpec, ToolUseBlock
from ci_agent.types.notices import (
    AssistantSaid,
    Decided,
    ModelCalled,
    Notice,
    Reason,
    Terminal,
    ToolsAnswered,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ci_agent.context.prompt import Prompt, Section
    from ci_agent.models.base import Model
    from ci_agent.tools.executor import Executor
    from ci_agent.types.tasks import Grant

__all__ = ["Conversation"]

MAX_OUTPUT_TOKENS = 16_000


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything a conversation needs."""

    prompt: Prompt
    grant: Grant
    tools: tuple[ToolSpec, ...]
    model: Model
    executor: Executor
    deadline: Deadline

    async def run(self) -> AsyncGenerator[Notice, None]:
        """Notices as things happen; the last one is a `Terminal`."""
        state = State(messages=(Message("user", tuple(TextBlock(part.text) for part in self.prompt.user)),))
        while True:
            if stop := exhausted(state, self.grant):
                yield _end(state, *stop)
                return
            yield ModelCalled(state.turns + 1, self.grant.model)
            try:
                async with self.deadline.limit():
                    turn = await take_turn(self.model, self._request(state))
            except TimeoutError:
                yield _end(state, self.deadline.reason, self._why_cut())
                return
            state = state.billed(turn.usage, price(self.grant.model, turn.usage), turn.seconds)
            if turn.message is None:
                yield _failed(state, turn)
                return
            state = state.said(turn.message)
            yield AssistantSaid(turn.message, turn.usage, self.grant.model)
            calls = [block for block in turn.message.content if isinstance(block, ToolUseBlock)]
            if not calls and turn.stop_reason != "pause_turn":
                yield _answered(state, turn)
                return
            if calls:
                decided = [(call, self.executor.decide(call)) for call in calls]
                for call, decision in decided:
                    yield Decided(call, decision)
                try:
                    async with self.deadline.limit():
                        results = await self.executor.run(decided)
                except TimeoutError:
                    yield _end(state, self.deadline.reason, self._why_cut())
                    return
                state = state.said(Message("user", results))
                yield ToolsAnswered(results)

    def _request(self, state: State) -> Request:
        return Request(
            model=self.grant.model,
            system=_parts(self.prompt.system),
            messages=state.messages,
            tools=self.tools,
            max_tokens=MAX_OUTPUT_TOKENS,
            effort=self.grant.effort,
        )

    def _why_cut(self) -> str:
        if self.deadline.reason is Reason.CANCELLED:
            return "the job was cancelled"
        return f"the time limit of {self.grant.minutes:g} minutes is reached"


def _parts(sections: tuple[Section, ...]) -> tuple[SystemPart, ...]:
    """The system prompt; worth a cache entry are what every run shares and what every turn shares."""
    shared = [at for at, section in enumerate(sections) if section.cache is CacheClass.GLOBAL]
    ends = {*shared[-1:], len(sections) - 1}
    return tuple(SystemPart(section.text, at in ends) for at, section in enumerate(sections))


def _answered(state: State, turn: Turn) -> Terminal:
    """The model stopped by itself; why decides whether that is an answer."""
    if reason := AFTER_STOP.get(turn.stop_reason):
        return _end(state, reason, f"the model stopped with {turn.stop_reason}. {turn.detail}".strip())
    if turn.message is None or not turn.message.text:
        return _end(state, Reason.MODEL_ERROR, "the model ended without writing an answer")
    return _end(state, Reason.COMPLETED, "")


def _failed(state: State, turn: Turn) -> Terminal:
    if turn.failure is None:
        raise AssertionError("a turn without a message has a failure")
    return _end(state, AFTER_FAILURE[turn.failure.kind], turn.failure.message)


def _end(state: State, reason: Reason, detail: str) -> Terminal:
    return Terminal(reason, detail, state.text, state.turns, state.usage, state.cost_usd, state.api_seconds)
