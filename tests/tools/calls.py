"""Runs calls as a message would bring them."""

from __future__ import annotations

from ci_agent.tools.executor import Executor
from ci_agent.types.messages import ToolResultBlock, ToolUseBlock


async def run_calls(executor: Executor, *uses: ToolUseBlock) -> tuple[ToolResultBlock, ...]:
    """The results of these calls, in their order."""
    batch = executor.batch(lambda notice: None)
    for use in uses:
        batch.add(use)
    await batch.wait()
    return batch.results()
