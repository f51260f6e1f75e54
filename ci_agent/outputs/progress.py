"""One line of progress for each notice, for a person who watches the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from ci_agent.types.messages import ToolResultBlock, one_line
from ci_agent.types.notices import (
    AssistantSaid,
    CacheMissed,
    Compacted,
    Continued,
    Decided,
    ModelCalled,
    Notice,
    Stage,
    Terminal,
    ToolProgress,
    ToolsAnswered,
    Transition,
)

__all__ = ["describe"]

WIDTH = 100


def describe(notice: Notice, redact: Callable[[str], str]) -> list[str]:
    """Lines to show. Redacted before they are shortened: half a secret would not be recognised."""

    def short(text: str) -> str:
        return one_line(redact(text), WIDTH)

    lines: list[str] = []
    match notice:
        case ModelCalled(turn, model):
            lines = [f"turn {turn}: asking {model}"]
        case AssistantSaid(message):
            lines = [f"  says: {short(message.text)}"] if message.text else []
        case Decided():
            lines = _decided(notice, short)
        case ToolsAnswered(results, notes):
            lines = [f"  gets {_size(result, short)}" for result in results]
            lines += [f"  is told: {short(note)}" for note in notes]
        case ToolProgress(_, tool, stage, detail):
            lines = [f"  {short(tool)}: {short(detail)}"] if stage is Stage.RUNNING and detail else []
        case Compacted() | CacheMissed() | Continued():
            lines = _upkeep(notice, short)
        case Terminal(reason, detail):
            lines = [f"ended: {reason.value}{f' ({short(detail)})' if detail else ''}"]
        case _:
            assert_never(notice)
    return lines


def _decided(notice: Decided, short: Callable[[str], str]) -> list[str]:
    call, decision = notice.call, notice.decision
    verdict = "calls" if decision.allowed else "is refused"
    why = "" if decision.allowed else f": {short(decision.reason)}"
    arguments = short(" ".join(f"{key}={value}" for key, value in call.input.items()))
    return [f"  {verdict} {short(call.name)} {arguments}{why}"]


def _upkeep(notice: Compacted | CacheMissed | Continued, short: Callable[[str], str]) -> list[str]:
    match notice:
        case Compacted(boundary, before, after):
            return [f"  {boundary.value}: about {before:,} tokens become {after:,}"]
        case CacheMissed(reason, tokens, expected):
            return [] if expected else [f"  the prompt cache was missed: {reason}, about {tokens:,} tokens"]
        case Continued():
            return _continued(notice, short)
        case _:
            assert_never(notice)


def _continued(notice: Continued, short: Callable[[str], str]) -> list[str]:
    if notice.transition is Transition.NEXT_TURN:
        return []
    wait = f" in {notice.wait_seconds:.1f} s" if notice.wait_seconds else ""
    why = f": {short(notice.detail)}" if notice.detail else ""
    return [f"  goes on{wait} ({notice.transition.value}){why}"]


def _size(result: ToolResultBlock, short: Callable[[str], str]) -> str:
    if result.is_error:
        return f"an error: {short(result.content)}"
    count = len(result.content.splitlines())
    return f"{count} line{'' if count == 1 else 's'}"
