"""Keeps a conversation inside the model's window: when a threshold is crossed, in one step, else not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ci_agent.loop.compact import collapse, estimate, microcompact, recent, snip
from ci_agent.loop.state import Measured
from ci_agent.loop.summary import summarise
from ci_agent.types.messages import Usage
from ci_agent.types.notices import Boundary, Compacted

if TYPE_CHECKING:
    from ci_agent.loop.budget import Meter
    from ci_agent.loop.state import State
    from ci_agent.models.base import Model, ModelFacts
    from ci_agent.types.messages import Message
    from ci_agent.types.todos import TodoList

__all__ = ["Preparer", "Room"]

KEPT_TURNS = 3
START_SHARE = 0.8
TARGET_SHARE = 0.45
LARGEST_TAIL_SHARE = 0.7
LARGEST_DIGEST_SHARE = 0.15
SMALLEST_SUMMARY_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Room:
    """How much of a model's window a prompt may fill."""

    usable: int
    longest_answer: int

    @classmethod
    def of(cls, facts: ModelFacts, max_tokens: int) -> Room:
        """The window without what the answer needs."""
        return cls(facts.context_tokens - min(max_tokens, facts.context_tokens // 4), facts.max_output_tokens)

    @property
    def start(self) -> int:
        """From here on the conversation is made smaller."""
        return int(self.usable * START_SHARE)

    @property
    def target(self) -> int:
        """Down to here: far enough that the next boundary is some turns away."""
        return int(self.usable * TARGET_SHARE)

    @property
    def digest(self) -> int:
        """A record of earlier turns that is longer than this is better summarised."""
        return int(self.usable * LARGEST_DIGEST_SHARE)


@dataclass(frozen=True, slots=True)
class Preparer:
    """What making a conversation smaller needs. `overhead` is the size of system prompt and tools."""

    model: Model
    light_model: str
    meter: Meter
    todos: TodoList
    overhead: int

    def tokens(self, state: State) -> int:
        """The size of the next prompt: what the API counted, and an estimate of what came after."""
        measured = state.measured
        if not measured.messages:
            return self.overhead + estimate(state.messages)
        return measured.tokens + estimate(state.messages[measured.messages :])

    async def prepare(self, state: State, room: Room) -> tuple[State, list[Compacted]]:
        """The state to call with; each step may make the next unnecessary."""
        if self.tokens(state) < room.start:
            return state, []
        until = recent(state.messages, self._kept_turns(state, room))
        state, notices = self._locally(state, until, room)
        if self.tokens(state) <= room.target:
            return state, notices
        until = recent(state.messages, self._kept_turns(state, room))
        if estimate(state.messages[1:until]) < SMALLEST_SUMMARY_SHARE * room.usable:
            return state, notices
        state, notice = await self.compact(state, until, room)
        return state, [*notices, notice]

    def drain(self, state: State, room: Room) -> tuple[State, list[Compacted]]:
        """Everything that can go without asking a model, at once: only the last turn stays as it is."""
        return self._locally(state, recent(state.messages, 1), room, emergency=True)

    async def compact(self, state: State, until: int, room: Room) -> tuple[State, Compacted]:
        """The turns before `until` as a summary by the light model."""
        facts = state.facts.render(self.todos.items)
        summary = await summarise(self.model, self.light_model, state.messages, until, facts, self.meter, room.digest)
        text = summary.text or f"the light model gave no summary ({summary.problem}); the plain record stands in"
        return self._bounded(state, summary.messages, Boundary.COMPACT, text, summary.usage)

    def _kept_turns(self, state: State, room: Room) -> int:
        tail = estimate(state.messages[recent(state.messages, KEPT_TURNS) :])
        return KEPT_TURNS if tail <= LARGEST_TAIL_SHARE * room.target else 1

    def _locally(
        self, state: State, until: int, room: Room, *, emergency: bool = False
    ) -> tuple[State, list[Compacted]]:
        """Snip, microcompact, collapse, until the target is met; in an emergency all of them, whatever the record."""
        notices: list[Compacted] = []
        facts = state.facts.render(self.todos.items)
        for boundary in (Boundary.SNIP, Boundary.MICROCOMPACT, Boundary.COLLAPSE):
            if self.tokens(state) <= room.target and not emergency:
                break
            messages = _apply(boundary, state.messages, until, facts, room.digest if emergency else None)
            if boundary is Boundary.COLLAPSE and not emergency and _too_long(messages, state.messages, until, room):
                break
            if messages != state.messages:
                state, notice = self._bounded(state, messages, boundary)
                notices.append(notice)
        return state, notices

    def _bounded(
        self, state: State, messages: tuple[Message, ...], boundary: Boundary, text: str = "", usage: Usage = Usage()
    ) -> tuple[State, Compacted]:
        before = self.tokens(state)
        after = max(0, before - estimate(state.messages) + estimate(messages))
        notice = Compacted(boundary, before, after, len(state.messages), len(messages), text, usage)
        return replace(state, messages=messages, measured=Measured(after, len(messages)), after_boundary=True), notice


def _apply(
    boundary: Boundary, messages: tuple[Message, ...], until: int, facts: str, most: int | None
) -> tuple[Message, ...]:
    match boundary:
        case Boundary.SNIP:
            return snip(messages, until)
        case Boundary.MICROCOMPACT:
            return microcompact(messages, until)
        case _:
            return collapse(messages, until, facts, most)


def _too_long(collapsed: tuple[Message, ...], messages: tuple[Message, ...], until: int, room: Room) -> bool:
    """Whether a record has grown so long that a summary is better."""
    kept = len(messages) - until
    digest = collapsed[1 : len(collapsed) - kept]
    return estimate(digest) > room.digest
