"""However many calls a message holds, only some run at once."""

import asyncio
import os
from pathlib import Path

from ci_agent.policy.grant import Limits, make_grant
from ci_agent.policy.paths import PathPolicy
from ci_agent.policy.schema import Policy
from ci_agent.tools.executor import MOST_SIDE_BY_SIDE, Executor
from ci_agent.types.messages import ToolUseBlock
from ci_agent.types.tools import ToolContext


async def test_a_message_full_of_searches_does_not_start_them_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    grant = make_grant(Policy(version=1), "answer", Limits())
    executor = Executor(grant, ToolContext(PathPolicy(tmp_path)), str)
    uses = [ToolUseBlock(f"t{number}", "Grep", {"pattern": "x"}) for number in range(40)]
    running = asyncio.create_task(executor.run([(use, executor.decide(use)) for use in uses]))
    most = 0
    while not running.done():
        most = max(most, len(_children()))
        await asyncio.sleep(0.005)
    results = await running
    assert [result.content for result in results] == ["a.txt:1:x"] * 40
    assert 1 < most <= MOST_SIDE_BY_SIDE


def _children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
