"""One pass of a conversation: prepare, call, stream, tools, collect, attach, decide."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from ci_agent.loop.attach import FAILURES_TO_END, Attacher
from ci_agent.loop.facts import describe_call
from ci_agent.loop.recovery import TABLE, Outcome, decide
from ci_agent.loop.repairs import DISCARDING, Kit, closed, repair
from ci_agent.loop.state import Measured
from ci_agent.loop.turn import Attempt, why_cut
from ci_agent.types.hooks import HookAction
from ci_agent.types.messages import Message, TextBlock, ToolUseBlock
from ci_agent.types.notices import (
    AssistantSaid,
    CacheMissed,
    ModelCalled,
    Notice,
    Reason,
    ToolsAnswered,
    Transition,
)
from ci_agent.types.tools import Effect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ci_agent.loop.state import State
    from ci_agent.loop.turn import Reply
    from ci_agent.models.base import Model, Request
    from ci_agent.tools.executor import Executor

__all__ = ["Pass"]

SMALLEST_CONTINUATION_TOKENS = 500
SMALLEST_CACHE_TOKENS = 2_048
# What the model said in these is lost, or was never meant to be kept.
LOST = frozenset({
    Outcome.EMPTY, Outcome.WINDOW_FULL, Outcome.REFUSED, Outcome.PROMPT_TOO_LONG, Outcome.RATE_LIMITED,
    Outcome.OVERLOADED, Outcome.SERVER_FAILED, Outcome.INTERRUPTED, Outcome.UNREACHABLE, Outcome.NOT_SIGNED_IN,
    Outcome.BAD_IMAGE, Outcome.BAD_REQUEST,
})  # fmt: skip
LASTING = (Effect.WRITE, Effect.EXECUTE, Effect.PROPOSE)


class Pass:
    """From a state to the next state, or to the reason why the run ends."""

    def __init__(self, state: State, kit: Kit, model: Model, executor: Executor) -> None:
        self.state = state
        self.end: tuple[Reason, str] | None = None
        self._kit = kit
        self._model = model
        self._executor = executor
        self._attacher = Attacher(executor.context, kit.meter, kit.deadline)

    async def play(self, request: Request) -> AsyncGenerator[Notice, None]:
        """Notices as things happen; afterwards `state` is new, or `end` is set."""
        kit = self._kit
        yield ModelCalled(kit.meter.turns + 1, request.model, kit.preparer.tokens(self.state))
        attempt = Attempt(self._model, request, self._executor, kit.deadline, kit.meter)
        async with aclosing(attempt):
            async with aclosing(attempt.stream()) as streamed:
                async for tool_notice in streamed:
                    yield tool_notice
            reply = attempt.reply
            self.state = replace(self.state, reached=self.state.reached or reply.outcome is not Outcome.UNREACHABLE)
            if missed := self._cache_missed(reply):
                yield missed
            outcome, told = await self._weigh(reply)
            verdict = decide(outcome, self.state.attempts, closed(outcome, self.state, reply, kit))
            kept = outcome not in LOST and verdict not in DISCARDING
            if kept:
                async with aclosing(self._keep(attempt, reply, verdict)) as collected:
                    async for notice in collected:
                        yield notice
        if kept:
            # Collecting the results may have changed what happened.
            if isinstance(verdict, Transition):
                outcome = self._after_tools(attempt, reply, outcome)
            verdict = decide(outcome, self.state.attempts, closed(outcome, self.state, attempt.reply, kit))
            told = told or attempt.ended_by_hook
        else:
            self.state = replace(self.state, facts=self.state.facts.lost(attempt.lasting(*LASTING)))
            told = _effects_stay(attempt)
            if attempt.ended_by_hook:
                verdict, told = TABLE[Outcome.HOOK_ENDED].then, attempt.ended_by_hook
        async with aclosing(self._go_on(verdict, attempt.reply, told)) as repaired:
            async for notice in repaired:
                yield notice

    async def _keep(self, attempt: Attempt, reply: Reply, verdict: Transition | Reason) -> AsyncGenerator[Notice, None]:
        """Take the message into the conversation, and the results of its calls behind it."""
        if not reply.message.content:
            self.state = self.state.overheard(reply.heard)
            return
        continues = verdict is Transition.MAX_OUTPUT_TOKENS_RECOVERY
        state = self.state.said(reply.message, continues=continues).overheard(reply.heard)
        self.state = replace(
            state,
            previous_id=reply.id,
            cached=reply.usage.cache_read_input_tokens + reply.usage.cache_creation_input_tokens,
            after_boundary=False,
            measured=_measured(state, reply),
        )
        yield AssistantSaid(reply.message, reply.usage, self.state.model)
        if not _calls(reply.message):
            return
        if isinstance(verdict, Reason):
            await attempt.give_up(reply.detail or "the run ends here")
        else:
            async with aclosing(attempt.collect()) as notices:
                async for notice in notices:
                    yield notice
        self._observe(attempt)
        notes: tuple[str, ...] = ()
        if not isinstance(verdict, Reason):
            self.state, notes = self._attacher.attach(self.state)
        results = attempt.results
        self.state = self.state.told(Message("user", (*results, *(TextBlock(text) for text in notes))))
        yield ToolsAnswered(results, notes)

    def _observe(self, attempt: Attempt) -> None:
        """Remember what was done, whatever becomes of the messages."""
        facts = self.state.facts.observed(attempt.ran)
        wrote_todos = any(ran.call.name == "TodoWrite" and not ran.result.is_error for ran in attempt.ran)
        todos_at = self._kit.meter.turns if wrote_todos else self.state.todos_at
        self.state = replace(self.state, facts=facts, todos_at=todos_at)

    async def _weigh(self, reply: Reply) -> tuple[Outcome, str]:
        """What happened, once the hooks have spoken; they are asked once for each stop."""
        if reply.outcome is not Outcome.ANSWERED:
            return self._seen_in_context(reply), ""
        deadline = self._kit.deadline
        try:
            async with deadline.limit():
                answer = await self._executor.hooks.on_stop(reply.message.text)
        except TimeoutError:
            if deadline.remaining:
                # Not the run's time is up: the hook has a bug.
                raise
            return (Outcome.CANCELLED_STREAMING if deadline.cancelled else Outcome.OUT_OF_TIME), ""
        if answer.action is HookAction.BLOCK:
            return Outcome.STOP_BLOCKED, answer.reason
        if answer.action is HookAction.END:
            return Outcome.STOP_PREVENTED, answer.reason
        return (Outcome.UNDER_BUDGET if self._should_go_on(reply) else Outcome.ANSWERED), ""

    def _seen_in_context(self, reply: Reply) -> Outcome:
        """What an outcome means here and now."""
        if reply.outcome is Outcome.PAUSED and _calls(reply.message):
            return Outcome.CALLED_TOOLS
        if reply.outcome is Outcome.UNREACHABLE and self.state.reached:
            # It was there a moment ago: a network that drops is no wrong address.
            return Outcome.INTERRUPTED
        return reply.outcome

    def _should_go_on(self, reply: Reply) -> bool:
        """Whether tokens are left that the policy wants used, and asking again has not stopped to help."""
        least = self._kit.grant.min_tokens
        if least is None or self._kit.meter.tokens >= least or self._kit.meter.exhausted():
            return False
        asked = self.state.transition is Transition.TOKEN_BUDGET_CONTINUATION
        return not (asked and reply.usage.output_tokens < SMALLEST_CONTINUATION_TOKENS)

    def _after_tools(self, attempt: Attempt, before: Reply, outcome: Outcome) -> Outcome:
        """What happened, now that the calls have their results."""
        if attempt.reply.outcome is not before.outcome:
            return attempt.reply.outcome
        if not _calls(before.message):
            return outcome
        if attempt.ended_by_hook:
            return Outcome.HOOK_ENDED
        return Outcome.TOOLS_KEEP_FAILING if self.state.facts.worst()[1] >= FAILURES_TO_END else outcome

    async def _go_on(self, verdict: Transition | Reason, reply: Reply, told: str) -> AsyncGenerator[Notice, None]:
        if isinstance(verdict, Reason):
            self.end = verdict, self._why(verdict, reply, told)
            return
        deadline = self._kit.deadline
        try:
            async with deadline.limit():
                state, boundaries, continued = await repair(verdict, self.state, reply, self._kit, told)
            self.state = state
            for boundary in boundaries:
                yield boundary
            # Said before the wait, which may be minutes: whoever watches should know.
            yield continued
            async with deadline.limit():
                await asyncio.sleep(continued.wait_seconds)
        except TimeoutError:
            reason = Reason.CANCELLED_STREAMING if deadline.cancelled else Reason.DEADLINE
            self.end = reason, why_cut(deadline)

    def _why(self, reason: Reason, reply: Reply, told: str) -> str:
        name, count = self.state.facts.worst()
        if reason is Reason.TOOL_FAILURES:
            return f"{name} failed {count} times in a row"
        if reason in (Reason.HOOK_STOPPED, Reason.STOP_HOOK_PREVENTED):
            return f"a hook ended the run: {told}"
        if reason in (Reason.DEADLINE, Reason.CANCELLED_STREAMING):
            return why_cut(self._kit.deadline)
        if reply.retry_after and reply.retry_after > self._kit.deadline.remaining:
            return f"{reply.detail}; the API asks to wait {reply.retry_after:.0f} s, longer than this run has left"
        return "" if reason is Reason.COMPLETED else reply.detail

    def _cache_missed(self, reply: Reply) -> CacheMissed | None:
        """Why the cache did not help, by the API's own word or by its count."""
        expected = self.state.after_boundary
        if miss := reply.cache_miss:
            return CacheMissed(miss.reason, miss.tokens, expected)
        before, read = self.state.cached, reply.usage.cache_read_input_tokens
        if reply.usage.prompt_tokens and before >= SMALLEST_CACHE_TOKENS and read < before // 2:
            return CacheMissed("not_read", before - read, expected)
        return None


def _calls(message: Message) -> list[ToolUseBlock]:
    return [block for block in message.content if isinstance(block, ToolUseBlock)]


def _measured(state: State, reply: Reply) -> Measured:
    """The API's own count, where it gave one."""
    if not reply.usage.prompt_tokens:
        return state.measured
    return Measured(reply.usage.prompt_tokens + reply.usage.output_tokens, len(state.messages))


def _effects_stay(attempt: Attempt) -> str:
    """A lost attempt's results are thrown away; what its calls did is not undone, so the model must know."""
    calls = attempt.lasting(*LASTING)
    if not calls:
        return ""
    listed = "; ".join(describe_call(ran.call.name, ran.call.input) for ran in calls)
    return (
        f"Your last message broke off and is lost. These calls in it had already begun, check their effects: {listed}"
    )
