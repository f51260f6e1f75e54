"""The step summary: the answer and how it came about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ci_agent.outputs.comment import footer

if TYPE_CHECKING:
    from ci_agent.outputs.comment import RunFacts
    from ci_agent.types.notices import Terminal
    from ci_agent.types.outputs import Plan
    from ci_agent.types.tasks import Grant, Trust

__all__ = ["render_summary"]


def render_summary(
    headline: str, plan: Plan, terminal: Terminal, facts: RunFacts, trust: Trust, grant: Grant, policy: str
) -> str:
    """Markdown for the job's page."""
    usage = terminal.usage
    rows = [
        ("Asked by", f"`{trust.login}`, {trust.tier.value}: {trust.evidence}"),
        ("Policy", f"`{policy}`"),
        ("Profile", f"`{grant.profile}`"),
        ("Ended", terminal.reason.value),
        (
            "Tokens",
            f"{usage.input_tokens:,} in, {usage.output_tokens:,} out, {usage.cache_read_input_tokens:,} from cache",
        ),
    ]
    table = "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])
    body = "\n\n".join(output.body for output in plan.outputs)
    return f"### {headline}\n\n{body}\n\n{footer(terminal, facts)}\n\n{table}\n"
