"""What a long conversation sends and costs with compaction, against the same one without.

    ./entrypoint.sh dev python -m bench.context

200 turns with results of 20 KB in a window of 60,000 tokens; without compaction the window is endless.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ci_agent.types.notices import Compacted
from tests.fakes.messages import FakeMessages
from tests.loop.stage import Stage, end
from tests.loop.test_context import TURNS, WINDOW, long_run

ENDLESS = 100_000_000


@dataclass(frozen=True, slots=True)
class Measured:
    """One run."""

    sent_bytes: int
    cost_usd: float
    largest_prompt: int
    boundaries: Counter[str]


def main() -> None:
    small, whole = asyncio.run(_run(WINDOW)), asyncio.run(_run(ENDLESS))
    share = small.sent_bytes / whole.sent_bytes
    print(f"{TURNS} turns, results of 20 KB, a window of {WINDOW:,} tokens")
    print(f"sent           {small.sent_bytes:>14,} of {whole.sent_bytes:,} bytes: {share:.3f}")
    print(f"cost           {small.cost_usd:>14.2f} of {whole.cost_usd:.2f} USD: {small.cost_usd / whole.cost_usd:.3f}")
    print(f"largest prompt {small.largest_prompt:>14,} tokens, without compaction {whole.largest_prompt:,}")
    print(f"boundaries     {dict(small.boundaries)}")


async def _run(window: int) -> Measured:
    with FakeMessages(context_window=window, max_body=1 << 30) as api, tempfile.TemporaryDirectory() as folder:
        stage = Stage(api, Path(folder), size=20_000)
        api.respond(long_run(stage.grant.light_model))
        notices = await stage.play()
        terminal = end(notices)
        charges = stage.meter.charges if stage.meter else []
        return Measured(
            sum(len(request.raw) for request in api.requests),
            terminal.cost_usd or 0.0,
            max(charge.usage.prompt_tokens for charge in charges),
            Counter(notice.boundary.value for notice in notices if isinstance(notice, Compacted)),
        )


if __name__ == "__main__":
    main()
