"""What a run has done, kept beside the conversation so that no summary can lose it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ci_agent.types.todos import TodoStatus
from ci_agent.types.tools import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ci_agent.tools.executor import Ran
    from ci_agent.types.todos import Todo

__all__ = ["Facts", "describe_call", "describe_todos"]

MOST_OF_EACH = 40
LONGEST = 160
PATH_ARGUMENTS = ("file_path", "notebook_path", "path")


@dataclass(frozen=True, slots=True)
class Facts:
    """Files changed, commands with their results, errors and refusals, in order, the newest last."""

    changed: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    failing: tuple[tuple[str, int], ...] = ()

    def observed(self, message: tuple[Ran, ...]) -> Facts:
        """With the calls of one more message and their results."""
        facts = replace(self, failing=self._counted(message))
        for ran in message:
            facts = facts._with_call(ran)
        return facts

    def _with_call(self, ran: Ran) -> Facts:
        text = describe_call(ran.call.name, ran.call.input)
        first = _short(ran.result.content)
        facts = self
        if not ran.decision.allowed:
            return replace(facts, refusals=_with(self.refusals, f"{text}: {_short(ran.decision.reason)}"))
        if ran.effect is Effect.EXECUTE:
            outcome = "failed" if ran.result.is_error else "ok"
            facts = replace(facts, commands=_with(self.commands, f"{text}: {outcome}: {first}"))
        if ran.result.is_error:
            return replace(facts, errors=_with(self.errors, f"{text}: {first}"))
        if ran.effect is Effect.WRITE and (path := _path(ran.call.input)):
            # Every changed file is kept: this list is what a summary must never lose.
            facts = replace(facts, changed=(*(known for known in self.changed if known != path), path))
        return facts

    def _counted(self, message: tuple[Ran, ...]) -> tuple[tuple[str, int], ...]:
        """Messages in a row in which all calls of a tool failed. Many calls at once are one try, not many."""
        counts = dict(self.failing)
        for name in {ran.call.name for ran in message}:
            failed = all(ran.result.is_error for ran in message if ran.call.name == name)
            counts[name] = counts.get(name, 0) + 1 if failed else 0
        return tuple(counts.items())

    def worst(self) -> tuple[str, int]:
        """The tool with the longest row of failures."""
        return max(self.failing, key=lambda pair: pair[1], default=("", 0))

    def render(self, todos: tuple[Todo, ...]) -> str:
        """The facts as text for the model."""
        parts = {
            "Files changed so far": self.changed,
            "Commands and their results": self.commands,
            "Errors": self.errors,
            "Refused": self.refusals,
            "Open todos": describe_todos(todos),
        }
        return "\n\n".join(
            f"{title}:\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts.items() if lines
        )


def describe_call(name: str, arguments: object) -> str:
    """A call in one short line."""
    pairs = arguments.items() if isinstance(arguments, dict) else ()
    return f"{name}({', '.join(f'{key}={_short(str(value))}' for key, value in pairs)})"


def describe_todos(todos: tuple[Todo, ...]) -> tuple[str, ...]:
    """Todos that are not done."""
    return tuple(f"[{todo.status.value}] {todo.content}" for todo in todos if todo.status is not TodoStatus.COMPLETED)


def _path(arguments: Mapping[str, object]) -> str:
    return next((str(arguments[name]) for name in PATH_ARGUMENTS if arguments.get(name)), "")


def _with(lines: tuple[str, ...], line: str) -> tuple[str, ...]:
    return (*lines, line)[-MOST_OF_EACH:]


def _short(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST].split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
