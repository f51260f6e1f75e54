"""The state of one conversation: a frozen value, replaced whole at each step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ci_agent.loop.facts import Facts
from ci_agent.loop.recovery import Attempts

if TYPE_CHECKING:
    from ci_agent.types.messages import Message
    from ci_agent.types.notices import Transition

__all__ = ["Measured", "State"]


@dataclass(frozen=True, slots=True)
class Measured:
    """How many tokens the first `messages` messages are, as the API itself counted them."""

    tokens: int = 0
    messages: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """What the next call is made from."""

    messages: tuple[Message, ...]
    model: str
    max_tokens: int
    transition: Transition | None = None
    attempts: Attempts = field(default_factory=Attempts)
    measured: Measured = field(default_factory=Measured)
    facts: Facts = field(default_factory=Facts)
    text: str = ""
    carried: str = ""
    previous_id: str = ""
    cached: int = 0
    after_boundary: bool = False
    reached: bool = False
    warned: bool = False
    todos_at: int = 0

    def said(self, message: Message, *, continues: bool = False) -> State:
        """With a message of the model. What continues a message that was cut belongs to the same text."""
        whole = f"{self.carried}{message.spoken}"
        return replace(
            self,
            messages=(*self.messages, message),
            text=whole.strip() or self.text,
            carried=whole if continues else "",
        )

    def overheard(self, heard: str) -> State:
        """With the text of a block that was cut off: the last thing a run that must stop can show."""
        if not heard.strip():
            return self
        before = self.carried or (f"{self.text}\n\n" if self.text else "")
        return replace(self, text=f"{before}{heard}".strip())

    def told(self, message: Message) -> State:
        """With a message to the model."""
        return replace(self, messages=(*self.messages, message))

    def went(self, transition: Transition) -> State:
        """Going on, and why."""
        return replace(self, transition=transition, attempts=self.attempts.counted(transition))
