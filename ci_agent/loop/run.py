"""The conversation: pass after pass, until one of them ends it."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ci_agent.context.prompt import CacheClass
from ci_agent.loop.compact import estimate_text
from ci_agent.loop.passes import Pass
from ci_agent.loop.prepare import Preparer, Room
from ci_agent.loop.repairs import Kit, Pace
from ci_agent.loop.state import State
from ci_agent.loop.turn import why_cut
from ci_agent.models.base import Request, SystemPart
from ci_agent.types.messages import Message, TextBlock, ToolSpec
from ci_agent.types.notices import Notice, Reason, Terminal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ci_agent.context.prompt import Prompt
    from ci_agent.loop.budget import Deadline, Meter
    from ci_agent.models.base import Model
    from ci_agent.tools.executor import Executor
    from ci_agent.types.notices import Compacted
    from ci_agent.types.tasks import Grant

__all__ = ["MAX_OUTPUT_TOKENS", "Conversation"]

MAX_OUTPUT_TOKENS = 8_000


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything a conversation needs. A subagent's shares `deadline` and `meter` with its parent's."""

    prompt: Prompt
    grant: Grant
    tools: tuple[ToolSpec, ...]
    model: Model
    executor: Executor
    deadline: Deadline
    meter: Meter
    pace: Pace = field(default_factory=Pace)

    async def run(self) -> AsyncGenerator[Notice, None]:
        """Notices as things happen; the last one is a `Terminal`."""
        state = State(
            messages=(Message("user", tuple(TextBlock(part.text) for part in self.prompt.user)),),
            model=self.grant.model,
            max_tokens=MAX_OUTPUT_TOKENS,
        )
        while True:
            if limit := self.meter.exhausted():
                yield self._end(state, limit.reason, limit.detail)
                return
            try:
                async with self.deadline.limit():
                    state, boundaries, kit = await self._prepare(state)
            except TimeoutError:
                reason = Reason.CANCELLED_STREAMING if self.deadline.cancelled else Reason.DEADLINE
                yield self._end(state, reason, why_cut(self.deadline))
                return
            for boundary in boundaries:
                yield boundary
            if limit := self.meter.spent():
                # A summary costs too, and may have used up the rest.
                yield self._end(state, limit.reason, limit.detail)
                return
            step = Pass(state, kit, self.model, self.executor)
            async with aclosing(step.play(self._request(state))) as notices:
                async for notice in notices:
                    yield notice
            state = step.state
            if step.end is not None:
                yield self._end(state, *step.end)
                return

    async def _prepare(self, state: State) -> tuple[State, list[Compacted], Kit]:
        facts = await self.model.describe(state.model)
        preparer = Preparer(
            self.model, self.grant.light_model, self.meter, self.executor.context.todos, self._overhead()
        )
        room = Room.of(facts, state.max_tokens)
        state, boundaries = await preparer.prepare(state, room)
        return state, boundaries, Kit(self.grant, preparer, room, self.deadline, self.meter, self.pace)

    def _overhead(self) -> int:
        """What system prompt and tools add to every prompt."""
        parts = [section.text for section in self.prompt.system]
        parts += [f"{tool.name}{tool.description}{tool.input_schema}" for tool in self.tools]
        return sum(estimate_text(part) for part in parts)

    def _request(self, state: State) -> Request:
        return Request(
            model=state.model,
            system=self._system(),
            messages=state.messages,
            tools=self.tools,
            max_tokens=state.max_tokens,
            effort=self.grant.effort,
            previous_id=state.previous_id,
        )

    def _system(self) -> tuple[SystemPart, ...]:
        """The sections; what is the same in every run ends one prefix, what is the same in this run another."""
        sections = self.prompt.system
        last_global = max((n for n, part in enumerate(sections) if part.cache is CacheClass.GLOBAL), default=-1)
        return tuple(
            SystemPart(part.text, ends_prefix=number in (last_global, len(sections) - 1))
            for number, part in enumerate(sections)
        )

    def _end(self, state: State, reason: Reason, detail: str) -> Terminal:
        return Terminal(
            reason=reason,
            detail=detail,
            text=state.text,
            turns=self.meter.turns,
            usage=self.meter.usage,
            cost_usd=self.meter.cost_usd,
            api_seconds=self.meter.api_seconds,
            reached=state.reached,
        )
