"""Decides on one tool call. Pure: the same call and grant give the same decision."""

from __future__ import annotations

from ci_agent.policy.rules import FILE_TOOLS, Rule, matches_path, parse_rule
from ci_agent.types.decisions import Decision
from ci_agent.types.messages import JsonObject
from ci_agent.types.tasks import Grant

__all__ = ["decide"]


def decide(tool: str, arguments: JsonObject, grant: Grant) -> Decision:
    """Deny rules first, then what the profile grants, then rejection."""
    for text in grant.deny:
        rule = parse_rule(text)
        if _applies(rule, tool, arguments):
            return Decision(allowed=False, rule=text, source="policy", reason="a deny rule of the policy matches")
    if tool in grant.tools:
        return Decision(
            allowed=True, rule=tool, source=f"profile {grant.profile}", reason="the profile grants this tool"
        )
    return Decision(
        allowed=False, rule="", source=f"profile {grant.profile}", reason=f"the profile does not grant {tool}"
    )


def _applies(rule: Rule, tool: str, arguments: JsonObject) -> bool:
    # A rule on Read keeps a path from every reading tool.
    speaks = rule.names(tool) or (tool in FILE_TOOLS and rule.pattern and any(map(rule.names, FILE_TOOLS)))
    if not speaks:
        return False
    if not rule.pattern:
        return True
    if tool in FILE_TOOLS:
        path = arguments.get("file_path") or arguments.get("path")
        return isinstance(path, str) and matches_path(rule.pattern, path.strip("/").removeprefix("./"))
    # Without a matcher for its arguments, a patterned deny is taken to mean the whole tool.
    return True
