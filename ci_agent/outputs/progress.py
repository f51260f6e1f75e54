"""One line of progress for each notice, for a person who watches the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from ci_agent.types.messages import ToolResultBlock
from ci_agent.types.notices import AssistantSaid, Decided, ModelCalled, Notice, Terminal, ToolsAnswered

__all__ = ["describe"]

WIDTH = 100


def describe(notice: Notice, redact: Callable[[str], str]) -> list[str]:
    """Lines to show. Redacted before they are shortened: half a secret would not be recognised."""

    def short(text: str) -> str:
        return _short(redact(text))

    match notice:
        case ModelCalled(turn, model):
            return [f"turn {turn}: asking {model}"]
        case AssistantSaid(message):
            return [f"  says: {short(message.text)}"] if message.text else []
        case Decided(call, decision):
            verdict = "calls" if decision.allowed else "is refused"
            why = "" if decision.allowed else f": {decision.reason}"
            return [f"  {verdict} {call.name} {short(' '.join(f'{k}={v}' for k, v in call.input.items()))}{why}"]
        case ToolsAnswered(results):
            return [f"  gets {_size(result, short)}" for result in results]
        case Terminal(reason, detail):
            return [f"ended: {reason.value}{f' ({detail})' if detail else ''}"]
        case _:
            assert_never(notice)


def _size(result: ToolResultBlock, short: Callable[[str], str]) -> str:
    if result.is_error:
        return f"an error: {short(result.content)}"
    count = len(result.content.splitlines())
    return f"{count} line{'' if count == 1 else 's'}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
