"""How soon the next request leaves when tools run while the message still streams, against the ideal.

    ./entrypoint.sh dev python -m bench.overlap

Five tools of one second each, whose blocks arrive 400 ms apart: the ideal is one second after the last block.
Run one after another behind the message they would take five seconds more.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from pathlib import Path

from tests.fakes.messages import FakeMessages, Reply, Text, ToolUse
from tests.loop.stage import Stage

ROUNDS = 5
TOOLS = 5
APART = 0.4
SECONDS = 1.0


def main() -> None:
    ideal = (TOOLS - 1) * APART + SECONDS
    waits = [asyncio.run(_round()) for _ in range(ROUNDS)]
    median, worst = statistics.median(waits), max(waits)
    after = TOOLS * SECONDS + (TOOLS - 1) * APART
    print(f"ideal            {ideal:6.3f} s from the first block to the next request")
    print(f"measured, median {median:6.3f} s   {median / ideal:6.3f} of the ideal")
    print(f"measured, worst  {worst:6.3f} s   {worst / ideal:6.3f} of the ideal")
    print(f"one by one, after the message: {after:.1f} s   {after / ideal:6.3f} of the ideal")


async def _round() -> float:
    with FakeMessages() as api, tempfile.TemporaryDirectory() as folder:
        calls = [ToolUse("Look", {"name": str(number), "seconds": SECONDS}) for number in range(TOOLS)]
        # A short block first: its end is when the pauses begin to count.
        api.queue(Reply(calls, block_pause=APART, chunk=200), Reply([Text("done")]))
        await Stage(api, Path(folder)).play()
        first, second = (request.time for request in api.requests if request.creates_message)
        return second - first


if __name__ == "__main__":
    main()
