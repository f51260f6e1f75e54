"""Runs the calls of one message while it still streams: permission in order, tools side by side, results in order."""

from __future__ import annotations

import asyncio
import difflib
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from ci_agent.context.untrusted import Wrapper
from ci_agent.policy.decide import decide
from ci_agent.policy.paths import PathRefused
from ci_agent.tools.base import Tool
from ci_agent.tools.registry import TOOLS
from ci_agent.types.decisions import Decision
from ci_agent.types.hooks import HookAction, Hooks, NoHooks
from ci_agent.types.messages import ToolResultBlock, ToolUseBlock, one_line
from ci_agent.types.notices import Decided, Stage, ToolProgress
from ci_agent.types.tasks import Grant
from ci_agent.types.tools import Effect, ResultShelf, ToolContext, ToolResult, WholeResults

__all__ = ["Batch", "Executor", "Ran", "Tell"]

MOST_SIDE_BY_SIDE = 8
SECONDS_TO_END = 10.0
MOST_PROBLEMS = 8
LONGEST_PROBLEM = 300
PATH_ARGUMENTS = ("file_path", "path")

Tell = Callable[[Decided | ToolProgress], None]


@dataclass(frozen=True, slots=True)
class Ran:
    """A call with what was decided and what came of it."""

    call: ToolUseBlock
    decision: Decision
    result: ToolResult
    effect: Effect
    started: bool


@dataclass(frozen=True, slots=True)
class Executor:
    """What every message's calls are run with."""

    grant: Grant
    context: ToolContext
    redact: Callable[[str], str]
    tools: Mapping[str, Tool] = field(default_factory=lambda: TOOLS)
    hooks: Hooks = field(default_factory=NoHooks)
    shelf: ResultShelf = field(default_factory=WholeResults)
    # Set where the files of the run may be a stranger's: what a tool found in them is data.
    wrapper: Wrapper | None = None

    def batch(self, tell: Tell) -> Batch:
        """The calls of one message."""
        return Batch(self, tell)

    def decide(self, call: ToolUseBlock) -> Decision:
        """Whether a call may run, by the registry, the policy and the path policy."""
        if call.name not in self.tools:
            return Decision(allowed=False, rule="", source="registry", reason=self._unknown(call.name))
        decision = decide(call.name, call.input, self.grant)
        refusal = self._path_refusal(call) if decision.allowed else ""
        return Decision(allowed=False, rule="", source="path policy", reason=refusal) if refusal else decision

    def wrapped(self, ran: Ran, block: ToolResultBlock) -> ToolResultBlock:
        """A result in which whatever a tool brought back is marked as data."""
        if self.wrapper is None or not ran.started or self.tools[ran.call.name].own_words:
            return block
        return replace(block, content=self.wrapper.mark(f"result of {ran.call.name}", block.content))

    def _unknown(self, name: str) -> str:
        granted = [known for known in self.tools if known in self.grant.tools]
        close = difflib.get_close_matches(name, granted, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are: {', '.join(granted) or 'none'}"
        return f"there is no tool {name}{hint}"

    def _path_refusal(self, call: ToolUseBlock) -> str:
        """Why the file a call names is out of reach. The tool checks again: this is what the ledger shows."""
        for name in PATH_ARGUMENTS:
            path = call.input.get(name)
            if isinstance(path, str):
                try:
                    self.context.paths.resolve_readable(path)
                except PathRefused as refused:
                    return str(refused)
        return ""


@dataclass(slots=True, eq=False)
class _Slot:
    """One call on its way."""

    call: ToolUseBlock
    parallel: bool
    effect: Effect
    decided: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    decision: Decision | None = None
    result: ToolResult | None = None
    started: bool = False
    task: asyncio.Task[None] | None = None


class Batch:
    """Every call that is added gets exactly one result, whatever happens."""

    def __init__(self, executor: Executor, tell: Tell) -> None:
        self._executor = executor
        self._tell = tell
        self._slots: list[_Slot] = []
        self._side_by_side = asyncio.Semaphore(MOST_SIDE_BY_SIDE)
        self.ended_by_hook = ""

    def add(self, call: ToolUseBlock) -> None:
        """Start a call as soon as those before it allow."""
        tool = self._executor.tools.get(call.name)
        slot = _Slot(call, tool is None or tool.parallel, tool.effect if tool else Effect.READ)
        earlier = tuple(self._slots)
        self._slots.append(slot)
        slot.task = asyncio.create_task(self._run(slot, earlier), name=f"{call.name} {call.id}")

    async def wait(self) -> None:
        """Until every call has its result."""
        tasks = self._tasks()
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            # A bug outside of any tool, in a hook for example, is not a result: it ends the run loudly.
            task.result()

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [slot.task for slot in self._slots if slot.task is not None]

    async def cancel(self, why: str) -> None:
        """End what still runs; a call without a result gets a synthetic one that says why."""
        tasks = self._tasks()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=SECONDS_TO_END)
        for slot in self._slots:
            if slot.result is None:
                slot.result = ToolResult.error(f"{slot.call.name} did not finish: {why}.")

    def ran(self) -> tuple[Ran, ...]:
        """Every call with its result, in call order; only after `wait` or `cancel`."""
        never = Decision(allowed=True, rule="", source="loop", reason="ended before it was decided")
        return tuple(
            Ran(slot.call, slot.decision or never, slot.result, slot.effect, slot.started)
            for slot in self._slots
            if slot.result is not None
        )

    def results(self) -> tuple[ToolResultBlock, ...]:
        """The results as the model gets them: large ones on the shelf, those with strangers' words wrapped."""
        ran = self.ran()
        blocks = tuple(ToolResultBlock(one.call.id, one.result.content, one.result.is_error) for one in ran)
        fitted = self._executor.shelf.fit_all(blocks)
        return tuple(self._executor.wrapped(one, block) for one, block in zip(ran, fitted, strict=True))

    async def _run(self, slot: _Slot, earlier: tuple[_Slot, ...]) -> None:
        try:
            await self._in_order(slot, earlier)
        finally:
            slot.decided.set()
            slot.done.set()

    async def _in_order(self, slot: _Slot, earlier: tuple[_Slot, ...]) -> None:
        if earlier:
            await earlier[-1].decided.wait()
        slot.decision = await self._judge(slot.call)
        self._tell(Decided(slot.call, slot.decision))
        slot.decided.set()
        for other in earlier:
            # A call that must be alone waits for all before it, and all behind it wait for it.
            if not (slot.parallel and other.parallel):
                await other.done.wait()
        async with self._side_by_side:
            slot.result = await self._timed(slot, slot.decision)

    async def _judge(self, call: ToolUseBlock) -> Decision:
        answer = await self._executor.hooks.before_tool(call)
        if answer.action is HookAction.GO_ON:
            return self._executor.decide(call)
        if answer.action is HookAction.END:
            self.ended_by_hook = answer.reason
        return Decision(allowed=False, rule="", source="hook", reason=answer.reason)

    async def _timed(self, slot: _Slot, decision: Decision) -> ToolResult:
        call, started = slot.call, time.monotonic()
        slot.started = decision.allowed and not call.error
        self._tell(ToolProgress(call.id, call.name, Stage.STARTED))
        result = self._redacted(await self._one(call, decision))
        if slot.started:
            answer = await self._executor.hooks.after_tool(call, result)
            if answer.action is HookAction.END:
                self.ended_by_hook = answer.reason
            if answer.action is not HookAction.GO_ON:
                result = self._redacted(ToolResult.error(f"{result.content}\n\nA hook objects: {answer.reason}"))
        seconds = time.monotonic() - started
        detail = "error" if result.is_error else ""
        self._tell(ToolProgress(call.id, call.name, Stage.FINISHED, detail, seconds))
        return result

    def _redacted(self, result: ToolResult) -> ToolResult:
        """Nobody behind this point sees a secret, not the hooks, not the model, not what the loop remembers."""
        return replace(result, content=self._executor.redact(result.content))

    async def _one(self, call: ToolUseBlock, decision: Decision) -> ToolResult:
        if call.error:
            return ToolResult.error(call.error)
        if not decision.allowed:
            return ToolResult.error(f"{call.name} was refused: {decision.reason}.")
        tool = self._executor.tools[call.name]
        try:
            arguments = tool.arguments.model_validate(call.input)
        except ValidationError as error:
            return ToolResult.error(_complaint(call.name, error))
        return await self._guarded(tool, arguments, call)

    async def _guarded(self, tool: Tool, arguments: object, call: ToolUseBlock) -> ToolResult:
        def progress(text: str) -> None:
            self._tell(ToolProgress(call.id, call.name, Stage.RUNNING, self._executor.redact(text)))

        context = replace(self._executor.context, progress=progress)
        try:
            async with asyncio.timeout(tool.seconds):
                return await tool.run(arguments, context)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Nobody cancelled the call: something that the tool waited for was.
            return ToolResult.error(f"{tool.name} failed inside: what it waited for was cancelled")
        except TimeoutError:
            return ToolResult.error(f"{tool.name} did not finish within {tool.seconds:g} s.")
        except Exception as error:  # noqa: BLE001 - a tool's bug must not cost the run; it is told and recorded
            last = traceback.extract_tb(error.__traceback__)[-1]
            return ToolResult.error(
                f"{tool.name} failed inside: {type(error).__name__} at {last.name}:{last.lineno}: {error}"
            )


def _complaint(name: str, error: ValidationError) -> str:
    details = error.errors(include_url=False, include_input=False)
    problems = [
        one_line(f"{'.'.join(map(str, detail['loc'])) or 'arguments'}: {detail['msg']}", LONGEST_PROBLEM)
        for detail in details[:MOST_PROBLEMS]
    ]
    problems += [f"and {len(details) - MOST_PROBLEMS} more"] if len(details) > MOST_PROBLEMS else []
    return f"{name} was called with wrong arguments: {'; '.join(problems)}"
