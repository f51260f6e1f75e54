"""When a run must end: money, tokens, turns, time, or because somebody stopped it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ci_agent.models.pricing import price, price_without_cache
from ci_agent.types.messages import Usage
from ci_agent.types.notices import Reason

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ci_agent.types.tasks import Grant

__all__ = ["Charge", "Deadline", "Limit", "Meter", "Purpose"]

WRAP_UP_SHARE = 0.8


class Deadline:
    """A moment at which whatever is awaited ends. `cut` brings it forward."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.cancelled = False
        self._when = asyncio.get_running_loop().time() + seconds
        self._active: set[asyncio.Timeout] = set()

    @property
    def remaining(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._when - asyncio.get_running_loop().time())

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """A context in which awaiting ends with `TimeoutError` at the deadline."""
        async with asyncio.timeout_at(self._when) as timeout:
            self._active.add(timeout)
            try:
                yield
            finally:
                self._active.discard(timeout)

    def cut(self) -> None:
        """End now, because the job was cancelled."""
        self.cancelled = True
        self._when = 0.0
        for timeout in self._active:
            if not timeout.expired():
                timeout.reschedule(self._when)


class Purpose(Enum):
    """What a call of the model was for."""

    TURN = "turn"
    LOST = "lost"
    """An attempt that broke off or was thrown away."""
    COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class Charge:
    """One call of the model."""

    model: str
    purpose: Purpose
    usage: Usage


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget that is used up."""

    reason: Reason
    detail: str


class Meter:
    """What a run has used, subagents included. It only ever grows, and every call is charged once."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant
        self.charges: list[Charge] = []
        self.usage = Usage()
        self.cost_usd: float | None = 0.0
        self.turns = 0
        self.api_seconds = 0.0

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.usage.prompt_tokens + self.usage.output_tokens

    def charge(self, charge: Charge, seconds: float) -> None:
        """Count one call. One call without a known price makes the total unknown."""
        self.charges.append(charge)
        self.usage += charge.usage
        self.api_seconds += seconds
        self.turns += charge.purpose is Purpose.TURN
        cost = price(charge.model, charge.usage)
        self.cost_usd = None if self.cost_usd is None or cost is None else self.cost_usd + cost

    def spent(self) -> Limit | None:
        """Which budget of money or tokens is used up."""
        grant = self._grant
        if self.cost_usd is not None and self.cost_usd >= grant.budget_usd:
            return Limit(Reason.BUDGET_USD, f"the budget of ${grant.budget_usd:.2f} is used up")
        if grant.budget_tokens is not None and self.tokens >= grant.budget_tokens:
            return Limit(Reason.BUDGET_TOKENS, f"the budget of {grant.budget_tokens:,} tokens is used up")
        return None

    def exhausted(self) -> Limit | None:
        """Which budget forbids another call."""
        if self.turns >= self._grant.max_turns:
            return Limit(Reason.MAX_TURNS, f"the limit of {self._grant.max_turns} turns is reached")
        return self.spent()

    def wrap_up(self, deadline: Deadline) -> str:
        """What to tell the model when little is left; empty while there is enough."""
        grant = self._grant
        used = {
            "turns": (self.turns, grant.max_turns, f"{self.turns} of {grant.max_turns} turns"),
            "time": (
                deadline.seconds - deadline.remaining,
                deadline.seconds,
                f"{(deadline.seconds - deadline.remaining) / 60:.1f} of {deadline.seconds / 60:g} minutes",
            ),
        }
        if self.cost_usd is not None:
            text = f"${self.cost_usd:.2f} of ${grant.budget_usd:.2f}"
            used["money"] = (self.cost_usd, grant.budget_usd, text)
        if grant.budget_tokens is not None:
            text = f"{self.tokens:,} of {grant.budget_tokens:,} tokens"
            used["tokens"] = (self.tokens, grant.budget_tokens, text)
        near = [text for part, whole, text in used.values() if part >= WRAP_UP_SHARE * whole]
        if not near:
            return ""
        return f"Used so far: {', '.join(near)}. Wrap up now: finish what is open and write your answer."

    def report(self) -> dict[str, object]:
        """What the calls cost, by model and by purpose, and what the prompt cache saved."""
        return {
            "calls": len(self.charges),
            "by_model": _sums(self.charges, lambda charge: charge.model),
            "by_purpose": _sums(self.charges, lambda charge: charge.purpose.value),
            "cache": self._cache(),
        }

    def _cache(self) -> dict[str, object]:
        read, written = self.usage.cache_read_input_tokens, self.usage.cache_creation_input_tokens
        paid = [price(charge.model, charge.usage) for charge in self.charges]
        plain = [price_without_cache(charge.model, charge.usage) for charge in self.charges]
        saved = None
        if paid and None not in paid and None not in plain:
            whole = sum(cost or 0.0 for cost in plain)
            saved = round(1 - sum(cost or 0.0 for cost in paid) / whole, 4) if whole else 0.0
        return {
            "read_tokens": read,
            "written_tokens": written,
            "read_share": round(read / self.usage.prompt_tokens, 4) if self.usage.prompt_tokens else 0.0,
            "saved_share": saved,
        }


def _sums(charges: list[Charge], key: Callable[[Charge], str]) -> dict[str, dict[str, int]]:
    sums: dict[str, Usage] = {}
    counts: dict[str, int] = {}
    for charge in charges:
        name = key(charge)
        sums[name] = sums.get(name, Usage()) + charge.usage
        counts[name] = counts.get(name, 0) + 1
    return {name: {"calls": counts[name], **asdict(usage)} for name, usage in sums.items()}
