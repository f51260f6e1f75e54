"""The state of one conversation: a frozen value, replaced whole at each step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ci_agent.types.messages import Message, Usage

__all__ = ["State"]


@dataclass(frozen=True, slots=True)
class State:
    """What the next call is made from."""

    messages: tuple[Message, ...]
    turns: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    api_seconds: float = 0.0
    text: str = ""

    def billed(self, usage: Usage, cost: float | None, seconds: float) -> State:
        """Charged for a call. One call without a known price makes the total unknown."""
        total = None if self.cost_usd is None or cost is None else self.cost_usd + cost
        return replace(
            self,
            turns=self.turns + 1,
            usage=self.usage + usage,
            cost_usd=total,
            api_seconds=self.api_seconds + seconds,
        )

    def said(self, message: Message) -> State:
        """With one more message; the newest text is what a run that must stop can still show."""
        text = message.text if message.role == "assistant" and message.text else self.text
        return replace(self, messages=(*self.messages, message), text=text)
