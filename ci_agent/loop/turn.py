"""One call to the model and the tools it asks for: started while the message still streams, collected in order."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from ci_agent.loop.budget import Charge, Purpose
from ci_agent.loop.compact import sendable, unique
from ci_agent.loop.recovery import FAILURES, STOPS, Outcome
from ci_agent.models.base import BlockDone, CacheMiss, Failed, Finished, Started, TextDelta
from ci_agent.types.messages import Message, TextBlock, ToolUseBlock, Usage
from ci_agent.types.notices import Decided, Reason, ToolProgress

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ci_agent.loop.budget import Deadline, Meter
    from ci_agent.models.base import Model, ModelEvent, Request
    from ci_agent.tools.executor import Executor, Ran
    from ci_agent.types.messages import AssistantBlock, ToolResultBlock
    from ci_agent.types.tools import Effect

__all__ = ["Attempt", "Reply", "why_cut"]

MOST_EVENTS_AHEAD = 64
SECONDS_TO_END = 10.0
LIMITS = {Reason.BUDGET_USD: Outcome.OUT_OF_MONEY, Reason.BUDGET_TOKENS: Outcome.OUT_OF_TOKENS}

ToolNotice = Decided | ToolProgress


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call gave. After a failure its message counts for nothing; `heard` is the text of an unfinished block."""

    outcome: Outcome
    message: Message
    usage: Usage
    heard: str
    detail: str = ""
    retry_after: float | None = None
    id: str = ""
    cache_miss: CacheMiss | None = None


class Attempt:
    """One call. `stream` gives notices until `reply` is there, `collect` until `results` are; then `aclose`."""

    def __init__(self, model: Model, request: Request, executor: Executor, deadline: Deadline, meter: Meter) -> None:
        self._model = model
        self._request = request
        self._deadline = deadline
        self._meter = meter
        self._events: asyncio.Queue[ModelEvent | ToolNotice | None] = asyncio.Queue()
        self._ahead = asyncio.Semaphore(MOST_EVENTS_AHEAD)
        self._batch = executor.batch(self._events.put_nowait)
        self._pump = asyncio.create_task(self._read(), name="model stream")
        self._blocks: list[AssistantBlock] = []
        self._ids = {
            block.id for message in request.messages for block in message.content if isinstance(block, ToolUseBlock)
        }
        self._heard: list[str] = []
        self._started: Started | None = None
        self._began = time.monotonic()
        self._reply: Reply | None = None

    @property
    def reply(self) -> Reply:
        """What the call gave, once `stream` has ended."""
        if self._reply is None:
            raise AssertionError("the stream has not ended")
        return self._reply

    @property
    def results(self) -> tuple[ToolResultBlock, ...]:
        """One result for each call of the message, once `collect` has ended."""
        calls = {block.id for block in self.reply.message.content if isinstance(block, ToolUseBlock)}
        return tuple(result for result in self._batch.results() if result.tool_use_id in calls)

    @property
    def ran(self) -> tuple[Ran, ...]:
        """The calls behind the results."""
        return self._batch.ran()

    @property
    def ended_by_hook(self) -> str:
        """Why a hook ended the run; empty where none did."""
        return self._batch.ended_by_hook

    def lasting(self, *effects: Effect) -> tuple[Ran, ...]:
        """Calls of a lost attempt that had begun and whose effects stay; only after `aclose`."""
        return tuple(ran for ran in self._batch.ran() if ran.started and ran.effect in effects)

    async def give_up(self, why: str) -> None:
        """End the tools; calls without a result get one that says why."""
        await self._batch.cancel(why)

    async def aclose(self) -> None:
        """Leave nothing running: no stream, no tool."""
        self._pump.cancel()
        await asyncio.wait([self._pump], timeout=SECONDS_TO_END)
        await self._batch.cancel("the attempt was given up")

    async def stream(self) -> AsyncGenerator[ToolNotice, None]:
        """Notices of tools while the message comes."""
        while self._reply is None:
            try:
                async with self._deadline.limit():
                    event = await self._events.get()
            except TimeoutError:
                streaming = Outcome.CANCELLED_STREAMING if self._deadline.cancelled else Outcome.OUT_OF_TIME
                self._cut(streaming, why_cut(self._deadline))
                return
            if isinstance(event, Decided | ToolProgress):
                yield event
            else:
                self._ahead.release()
                self._take(event)
            if self._reply is None and (limit := self._meter.spent()):
                self._cut(LIMITS[limit.reason], limit.detail)

    async def collect(self) -> AsyncGenerator[ToolNotice, None]:
        """Notices until every call has its result; a cut gives the rest synthetic ones and a new `reply.outcome`."""
        waiting = asyncio.create_task(self._all_done(), name="tools")
        try:
            while not (waiting.done() and self._events.empty()):
                if limit := self._meter.spent():
                    await self._stop_tools(LIMITS[limit.reason], limit.detail)
                    return
                try:
                    async with self._deadline.limit():
                        event = await self._events.get()
                except TimeoutError:
                    outcome = Outcome.CANCELLED_TOOLS if self._deadline.cancelled else Outcome.OUT_OF_TIME
                    await self._stop_tools(outcome, why_cut(self._deadline))
                    return
                if isinstance(event, Decided | ToolProgress):
                    yield event
            waiting.result()
        finally:
            waiting.cancel()
            await asyncio.wait([waiting])

    async def _stop_tools(self, outcome: Outcome, why: str) -> None:
        await self._batch.cancel(why)
        self._cut(outcome, why)

    async def _all_done(self) -> None:
        try:
            await self._batch.wait()
        finally:
            self._events.put_nowait(None)

    async def _read(self) -> None:
        """Read the stream, not further ahead than somebody listens."""
        stream = cast("AsyncGenerator[ModelEvent, None]", self._model.stream(self._request))
        try:
            async with aclosing(stream):
                async for event in stream:
                    await self._ahead.acquire()
                    self._events.put_nowait(event)
        finally:
            self._events.put_nowait(None)

    def _take(self, event: ModelEvent | None) -> None:
        match event:
            case BlockDone(block):
                self._heard.clear()
                if isinstance(block, ToolUseBlock):
                    block = unique(block, self._ids)
                    self._batch.add(block)
                self._blocks.append(block)
            case Started():
                self._started = event
            case TextDelta(text):
                self._heard.append(text)
            case Finished():
                self._finish(event)
            case Failed():
                self._charge(Purpose.LOST, event.usage)
                self._reply = self._make(
                    FAILURES[event.kind], event.usage, event.message, retry_after=event.retry_after
                )
            case _:
                # The reader ended without a last event: the bug behind that must be seen.
                self._pump.result()
                raise AssertionError("a model's stream ends with Finished or Failed")

    def _finish(self, event: Finished) -> None:
        outcome = STOPS.get(event.stop_reason)
        calls = [block for block in self._blocks if isinstance(block, ToolUseBlock)]
        if outcome is None:
            said = any(isinstance(block, TextBlock) and block.text.strip() for block in self._blocks)
            outcome = Outcome.CALLED_TOOLS if calls else Outcome.ANSWERED if said else Outcome.EMPTY
        lost = outcome in (Outcome.EMPTY, Outcome.WINDOW_FULL)
        self._charge(Purpose.LOST if lost else Purpose.TURN, event.usage)
        detail = (
            "" if outcome in (Outcome.CALLED_TOOLS, Outcome.ANSWERED) else f"the model stopped with {event.stop_reason}"
        )
        if outcome is Outcome.EMPTY:
            detail = "the model ended without writing an answer"
        self._reply = self._make(outcome, event.usage, f"{detail}. {event.detail}".strip(". ") if detail else "")

    def _cut(self, outcome: Outcome, detail: str) -> None:
        if self._reply is None:
            usage = self._started.usage if self._started else Usage()
            self._charge(Purpose.LOST, usage)
            self._reply = self._make(outcome, usage, detail)
            return
        before = self._reply
        self._reply = replace(before, outcome=outcome, detail=detail)

    def _charge(self, purpose: Purpose, usage: Usage) -> None:
        self._meter.charge(Charge(self._request.model, purpose, usage), time.monotonic() - self._began)

    def _make(self, outcome: Outcome, usage: Usage, detail: str, retry_after: float | None = None) -> Reply:
        message = Message("assistant", sendable(self._blocks, cut=outcome is Outcome.OUTPUT_CUT))
        started = self._started
        return Reply(
            outcome,
            message,
            usage,
            "".join(self._heard),
            detail,
            retry_after,
            started.id if started else "",
            started.cache_miss if started else None,
        )


def why_cut(deadline: Deadline) -> str:
    """Why whatever was awaited ended."""
    return (
        "the job was cancelled"
        if deadline.cancelled
        else f"the time limit of {deadline.seconds / 60:g} minutes is reached"
    )
