"""Runs the calls of one message: arguments, permission, tool, results in call order."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence

from pydantic import ValidationError

from ci_agent.policy.decide import decide
from ci_agent.policy.paths import PathRefused
from ci_agent.tools.base import Tool
from ci_agent.tools.registry import TOOLS
from ci_agent.types.decisions import Decision
from ci_agent.types.messages import ToolResultBlock, ToolUseBlock
from ci_agent.types.tasks import Grant
from ci_agent.types.tools import ToolContext, ToolResult

__all__ = ["Executor"]

SECONDS_PER_CALL = 120.0
MOST_SIDE_BY_SIDE = 8
PATH_ARGUMENTS = ("file_path", "path")


class Executor:
    """Turns calls into results. Every call gets exactly one."""

    def __init__(self, grant: Grant, context: ToolContext, redact: Callable[[str], str]) -> None:
        self._grant = grant
        self._context = context
        self._redact = redact
        self._side_by_side = asyncio.Semaphore(MOST_SIDE_BY_SIDE)

    def decide(self, call: ToolUseBlock) -> Decision:
        """Whether a call may run."""
        if call.name not in TOOLS:
            return Decision(allowed=False, rule="", source="registry", reason=f"there is no tool {call.name}")
        decision = decide(call.name, call.input, self._grant)
        refusal = self._path_refusal(call) if decision.allowed else ""
        return Decision(allowed=False, rule="", source="path policy", reason=refusal) if refusal else decision

    def _path_refusal(self, call: ToolUseBlock) -> str:
        """Why the file a call names is out of reach. The tool checks again: this is what the ledger shows."""
        for name in PATH_ARGUMENTS:
            path = call.input.get(name)
            if isinstance(path, str):
                try:
                    self._context.paths.resolve(path)
                except PathRefused as refused:
                    return str(refused)
        return ""

    async def run(self, calls: Sequence[tuple[ToolUseBlock, Decision]]) -> tuple[ToolResultBlock, ...]:
        """The results of one message's calls, side by side where every tool allows it."""
        if all(TOOLS[call.name].parallel for call, decision in calls if decision.allowed):
            results = await asyncio.gather(*(self._in_turn(call, decision) for call, decision in calls))
        else:
            results = [await self._one(call, decision) for call, decision in calls]
        return tuple(
            ToolResultBlock(call.id, self._redact(result.content), result.is_error)
            for (call, _), result in zip(calls, results, strict=True)
        )

    async def _in_turn(self, call: ToolUseBlock, decision: Decision) -> ToolResult:
        async with self._side_by_side:
            return await self._one(call, decision)

    async def _one(self, call: ToolUseBlock, decision: Decision) -> ToolResult:
        if call.error:
            return ToolResult.error(call.error)
        if not decision.allowed:
            return ToolResult.error(f"{call.name} was refused: {decision.reason}.")
        tool = TOOLS[call.name]
        try:
            arguments = tool.arguments.model_validate(call.input)
        except ValidationError as error:
            return ToolResult.error(_complaint(call.name, error))
        return await self._guarded(tool, arguments)

    async def _guarded(self, tool: Tool, arguments: object) -> ToolResult:
        try:
            async with asyncio.timeout(SECONDS_PER_CALL):
                return await tool.run(arguments, self._context)
        except TimeoutError:
            return ToolResult.error(f"{tool.name} did not finish within {SECONDS_PER_CALL:.0f} s.")
        except Exception as error:  # noqa: BLE001 - a tool's bug must not cost the run; it is told and recorded
            last = traceback.extract_tb(error.__traceback__)[-1]
            return ToolResult.error(
                f"{tool.name} failed inside: {type(error).__name__} at {last.name}:{last.lineno}: {error}"
            )


def _complaint(name: str, error: ValidationError) -> str:
    problems = "; ".join(
        f"{'.'.join(map(str, detail['loc'])) or 'arguments'}: {detail['msg']}"
        for detail in error.errors(include_url=False, include_input=False)
    )
    return f"{name} was called with wrong arguments: {problems}"
