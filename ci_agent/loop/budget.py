"""When a run must end: turns, money, time, or because somebody stopped it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ci_agent.types.notices import Reason

if TYPE_CHECKING:
    from ci_agent.loop.state import State
    from ci_agent.types.tasks import Grant

__all__ = ["Deadline", "exhausted"]


class Deadline:
    """A moment at which whatever is awaited ends. `cut` brings it forward."""

    def __init__(self, seconds: float) -> None:
        self._when = asyncio.get_running_loop().time() + seconds
        self._active: asyncio.Timeout | None = None
        self.reason = Reason.DEADLINE

    def limit(self) -> asyncio.Timeout:
        """A context in which awaiting ends with `TimeoutError` at the deadline."""
        self._active = asyncio.timeout_at(self._when)
        return self._active

    def cut(self) -> None:
        """End now, because the job was cancelled."""
        self.reason = Reason.CANCELLED
        self._when = 0.0
        if self._active is not None and not self._active.expired():
            self._active.reschedule(self._when)


def exhausted(state: State, grant: Grant) -> tuple[Reason, str] | None:
    """Which budget is used up, before another call is made."""
    if state.turns >= grant.max_turns:
        return Reason.MAX_TURNS, f"the limit of {grant.max_turns} turns is reached"
    if state.cost_usd is not None and state.cost_usd >= grant.budget_usd:
        return Reason.BUDGET_USD, f"the budget of ${grant.budget_usd:.2f} is used up"
    return None
