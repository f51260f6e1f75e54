"""What a run has done, kept beside the conversation so that no summary can lose it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ci_agent.context.untrusted import make_visible
from ci_agent.types.messages import one_line
from ci_agent.types.todos import TodoStatus
from ci_agent.types.tools import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ci_agent.tools.executor import Ran
    from ci_agent.types.todos import Todo

__all__ = ["Facts", "describe_call", "describe_todos"]

MOST_OF_EACH = 40
LONGEST = 160
LONGEST_CALL = 320
LONGEST_TODO = 500
MOST_ARGUMENTS = 8
# Characters. Changed files and todos must not be lost, so they get more.
LARGEST_LIST = 4_000
LARGEST_KEPT_LIST = 16_000
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

    def lost(self, begun: tuple[Ran, ...]) -> Facts:
        """With the calls of a message that was lost after they had begun: their effects stay."""
        facts = self
        for ran in begun:
            if ran.effect is Effect.WRITE and (path := _path(ran.call.input)):
                facts = facts._with_change(path)
            else:
                line = f"{describe_call(ran.call.name, ran.call.input)}: begun, its result is lost"
                facts = replace(facts, commands=_with(facts.commands, line))
        return facts

    def _with_change(self, path: str) -> Facts:
        """Every changed file is kept: this list is what a summary must never lose."""
        return replace(self, changed=(*(known for known in self.changed if known != path), path))

    def _with_call(self, ran: Ran) -> Facts:
        text = describe_call(ran.call.name, ran.call.input)
        first = _short(make_visible(ran.result.content[: 4 * LONGEST]))
        facts = self
        if not ran.decision.allowed:
            return replace(facts, refusals=_with(self.refusals, f"{text}: {_short(ran.decision.reason)}"))
        if ran.effect is Effect.EXECUTE:
            outcome = "failed" if ran.result.is_error else "ok"
            facts = replace(facts, commands=_with(self.commands, f"{text}: {outcome}: {first}"))
        if ran.result.is_error:
            return replace(facts, errors=_with(self.errors, f"{text}: {first}"))
        if ran.effect is Effect.WRITE and (path := _path(ran.call.input)):
            facts = facts._with_change(path)
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
        changed = tuple(_short(make_visible(path)) for path in self.changed)
        parts = {
            "Files changed so far": _newest(changed, LARGEST_KEPT_LIST),
            "Commands and their results": _newest(self.commands, LARGEST_LIST),
            "Errors": _newest(self.errors, LARGEST_LIST),
            "Refused": _newest(self.refusals, LARGEST_LIST),
            "Open todos": _newest(describe_todos(todos), LARGEST_KEPT_LIST),
        }
        return "\n\n".join(
            f"{title}:\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts.items() if lines
        )


def describe_call(name: str, arguments: object) -> str:
    """A call in one short line, however long its arguments are."""
    pairs = list(arguments.items()) if isinstance(arguments, dict) else []
    shown = [f"{_short(key)}={_short(str(value))}" for key, value in pairs[:MOST_ARGUMENTS]]
    shown += ["…"] if len(pairs) > MOST_ARGUMENTS else []
    return f"{_short(name)}({one_line(', '.join(shown), LONGEST_CALL)})"


def describe_todos(todos: tuple[Todo, ...]) -> tuple[str, ...]:
    """Todos that are not done, each in one line: a model wrote them, and may have copied a stranger's text."""
    still_open = [todo for todo in todos if todo.status is not TodoStatus.COMPLETED]
    return tuple(f"[{todo.status.value}] {one_line(make_visible(todo.content), LONGEST_TODO)}" for todo in still_open)


def _newest(lines: tuple[str, ...], most: int) -> tuple[str, ...]:
    """The last lines that fit, and how many do not."""
    size = count = 0
    while count < len(lines) and size + len(lines[-count - 1]) <= most:
        count += 1
        size += len(lines[-count])
    left_out = len(lines) - count
    return (f"({left_out:,} earlier ones are left out)", *lines[left_out:]) if left_out else lines


def _path(arguments: Mapping[str, object]) -> str:
    return next((str(arguments[name]) for name in PATH_ARGUMENTS if arguments.get(name)), "")


def _with(lines: tuple[str, ...], line: str) -> tuple[str, ...]:
    return (*lines, line)[-MOST_OF_EACH:]


def _short(text: str) -> str:
    return one_line(text, LONGEST)
