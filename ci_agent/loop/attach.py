"""What the loop tells the model between turns, beside the results of its calls."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ci_agent.context.untrusted import make_visible
from ci_agent.loop.facts import describe_todos

if TYPE_CHECKING:
    from ci_agent.loop.budget import Deadline, Meter
    from ci_agent.loop.state import State
    from ci_agent.types.tools import ToolContext

__all__ = ["FAILURES_TO_END", "Attacher", "note"]

TODO_REMINDER_TURNS = 8
FAILURES_TO_WARN = 3
FAILURES_TO_END = 6
MOST_FILES = 20


def note(text: str) -> str:
    """Marks text as the loop's own."""
    return f"[ci_agent] {text}"


@dataclass(frozen=True, slots=True)
class Attacher:
    """Where notes come from."""

    context: ToolContext
    meter: Meter
    deadline: Deadline

    def attach(self, state: State) -> tuple[State, tuple[str, ...]]:
        """Notes for the message that is about to be sent, each marked, and the state that remembers them."""
        reminder = self._todos(state)
        warning = "" if state.warned else self.meter.wrap_up(self.deadline)
        found = [*self._jobs(), *self._changed(), *reminder, *self._failing(state), *([warning] if warning else [])]
        state = replace(
            state,
            warned=state.warned or bool(warning),
            todos_at=self.meter.turns if reminder else state.todos_at,
        )
        return state, tuple(note(text) for text in found)

    def _jobs(self) -> list[str]:
        return [
            f"A background job has ended: {json.dumps(make_visible(line))}" for line in self.context.jobs.finished()
        ]

    def _changed(self) -> list[str]:
        paths = self.context.seen.changed()
        if not paths:
            return []
        # Names of files are strangers' text: quoted, and with nothing invisible in them.
        shown = [json.dumps(make_visible(self.context.paths.show(path))) for path in paths[:MOST_FILES]]
        more = f" and {len(paths) - MOST_FILES} more" if len(paths) > MOST_FILES else ""
        return [f"Changed since you read them, so read them again before you rely on them: {', '.join(shown)}{more}."]

    def _todos(self, state: State) -> list[str]:
        still_open = describe_todos(self.context.todos.items)
        if not still_open or self.meter.turns - state.todos_at < TODO_REMINDER_TURNS:
            return []
        return ["Your todo list still has: " + "; ".join(still_open) + ". Keep it up to date with TodoWrite."]

    def _failing(self, state: State) -> list[str]:
        name, count = state.facts.worst()
        if count < FAILURES_TO_WARN:
            return []
        return [f"{name} has failed {count} times in a row; after {FAILURES_TO_END} the run ends. Try another way."]
