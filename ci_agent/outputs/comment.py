"""Renders the answer as a comment: marker, text, and one line about the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ci_agent.types.notices import Reason
from ci_agent.types.outputs import MARKER_PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ci_agent.types.messages import Usage
    from ci_agent.types.notices import Terminal

__all__ = ["RunFacts", "explain", "footer", "marker", "money", "render_comment"]

# What a person can do about each ending; the detail of the ending stands before it.
ADVICE = {
    Reason.MAX_TURNS: "Raise `budget.turns` in the policy, or ask for less at once.",
    Reason.BUDGET_USD: "Raise `budget.usd` in the policy, or ask for less at once.",
    Reason.DEADLINE: "Raise `budget.minutes` in the policy, or ask for less at once.",
    Reason.BUDGET_TOKENS: "Raise `budget.tokens` in the policy, or ask for less at once.",
    Reason.CANCELLED_STREAMING: "Comment again to start over.",
    Reason.CANCELLED_TOOLS: "Comment again to start over.",
    Reason.PROMPT_TOO_LONG: "Ask about a smaller part.",
    Reason.MAX_OUTPUT_TOKENS: "Ask for a shorter answer.",
    Reason.REFUSAL: "The model declined the request; put it another way.",
    Reason.MODEL_ERROR: "Re-run the job; if it happens again, the artifact's transcript has the details.",
    Reason.AUTH_ERROR: "A maintainer must check the credentials: `anthropic-api-key`, keyless sign-in or the cloud's.",
    Reason.INVALID_REQUEST: "The artifact's transcript has the request.",
    Reason.IMAGE_ERROR: "Ask without the image, or with a smaller one.",
    Reason.TOOL_FAILURES: "The artifact's ledger and transcript say why; a policy that allows more may help.",
    Reason.STOP_HOOK_PREVENTED: "The hook's own output, in the transcript, says what it misses.",
    Reason.HOOK_STOPPED: "The hook's own output, in the transcript, says why.",
}
# What was found before such an end is worth reading; after the others there is nothing, or nothing to trust.
WITHOUT_TEXT = frozenset({Reason.REFUSAL, Reason.AUTH_ERROR})


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the footer tells."""

    model: str
    run_url: str
    denials: Sequence[str] = ()
    notes: Sequence[str] = ()


def marker(key: str) -> str:
    """The hidden line by which a later run finds this comment."""
    return f"{MARKER_PREFIX} {key} -->"


def explain(terminal: Terminal) -> str:
    """The run's text, with what went wrong said first."""
    if terminal.reason is Reason.COMPLETED:
        return terminal.text
    advice = ADVICE[terminal.reason]
    detail = terminal.detail.rstrip(".")
    problem = f"**I could not finish:** {detail}. {advice}"
    if terminal.text and terminal.reason not in WITHOUT_TEXT:
        return f"{problem}\n\nWhat I have so far:\n\n{terminal.text}"
    return problem


def render_comment(key: str, body: str, terminal: Terminal, facts: RunFacts) -> str:
    """The whole comment."""
    return f"{marker(key)}\n{body}\n\n{footer(terminal, facts)}\n"


def footer(terminal: Terminal, facts: RunFacts) -> str:
    """One line about the run, and what was refused or left out."""
    parts = [f"`{facts.model}`", f"{terminal.turns} turn{'' if terminal.turns == 1 else 's'}"]
    parts.append(money(terminal.cost_usd, terminal.usage))
    if facts.run_url:
        parts.append(f"[run]({facts.run_url})")
    line = f"<sub>ci_agent · {' · '.join(parts)}</sub>"
    extra = [f"- {note}" for note in facts.notes] + [f"- refused: {denial}" for denial in facts.denials]
    if not extra:
        return line
    listed = "\n".join(extra[:20] + ([f"- and {len(extra) - 20} more, in the ledger"] if len(extra) > 20 else []))
    return f"<details><summary>Notes on this run ({len(extra)})</summary>\n\n{listed}\n\n</details>\n\n{line}"


def money(cost: float | None, usage: Usage) -> str:
    """The cost, or the tokens where no price is known."""
    tokens = usage.prompt_tokens + usage.output_tokens
    if cost is not None:
        return f"${cost:.4f}"
    return f"{tokens:,} tokens, no price known" if tokens else "no tokens"
