"""From `(task, tier)` to a profile, and from the profile to a `Grant`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ci_agent.policy.rules import parse_rule
from ci_agent.policy.schema import BudgetSection, Policy, ProfileSection
from ci_agent.types.outputs import OutputKind
from ci_agent.types.tasks import Grant, TaskKind, Tier
from ci_agent.types.tools import KNOWN_TOOLS

__all__ = ["BUILT_IN_PROFILES", "DEFAULT_TASKS", "Limits", "check_references", "make_grant", "profile_name"]

READ_TOOLS = ("Read", "Glob", "Grep", "LS", "TodoWrite")
EDIT_TOOLS = ("Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "BashOutput", "KillShell", "Revert")

BUILT_IN_PROFILES: Mapping[str, ProfileSection] = MappingProxyType({
    "none": ProfileSection(tools=(), outputs={}),
    "answer": ProfileSection(tools=READ_TOOLS, outputs={OutputKind.COMMENT: 1}),
    "review": ProfileSection(
        tools=READ_TOOLS,
        outputs={OutputKind.COMMENT: 1, OutputKind.FINDING: 50, OutputKind.REVIEW: 1, OutputKind.REPLY: 20,
                 OutputKind.RESOLVE: 50, OutputKind.CHECK: 1},
    ),
    "fix": ProfileSection(
        tools=(*READ_TOOLS, *EDIT_TOOLS),
        outputs={OutputKind.COMMENT: 1, OutputKind.COMMIT: 5, OutputKind.BRANCH: 1, OutputKind.PULL_REQUEST: 1,
                 OutputKind.REPLY: 20, OutputKind.CHECK: 1},
    ),
    "diagnose": ProfileSection(tools=READ_TOOLS, outputs={OutputKind.COMMENT: 1, OutputKind.CHECK: 1}),
})  # fmt: skip

_COLLABORATORS = {Tier.OWNER: "fix", Tier.MAINTAINER: "fix", Tier.WRITER: "fix", Tier.TRIAGER: "answer"}
DEFAULT_TASKS: Mapping[TaskKind, Mapping[Tier, str]] = MappingProxyType(
    {
        TaskKind.MENTION: {**_COLLABORATORS, Tier.READER: "answer", Tier.BOT: "answer"},
        TaskKind.REVIEW: {tier: "review" for tier in Tier if tier is not Tier.OUTSIDER},
        TaskKind.DIAGNOSE: {tier: "diagnose" for tier in Tier if tier is not Tier.OUTSIDER},
        TaskKind.SCHEDULE: {Tier.SYSTEM: "review"},
    }
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the workflow's inputs add. They can lower a policy's limits, never raise them."""

    model: str = ""
    effort: str = ""
    max_turns: int | None = None
    budget_usd: float | None = None
    minutes: float | None = None
    budget_tokens: int | None = None
    light_model: str = ""
    # Empty means none; unset, what the policy says.
    fallback_model: str | None = None


def profile_name(policy: Policy, task: TaskKind, tier: Tier) -> str:
    """The profile for somebody of that tier; who is not named gets nothing."""
    named = {**DEFAULT_TASKS[task], **policy.tasks.get(task, {})}
    return named.get(tier, "none")


def make_grant(policy: Policy, profile: str, limits: Limits) -> Grant:
    """Everything a run of that profile may do."""
    tools, outputs = _resolve(policy, profile)
    budget = policy.budget
    tokens = _lower(budget.tokens, limits.budget_tokens)
    return Grant(
        profile=profile,
        tools=frozenset(tools),
        outputs=MappingProxyType(dict(outputs)),
        deny=policy.permissions.deny,
        model=limits.model or policy.model.main,
        effort=limits.effort or policy.model.effort,
        max_turns=min(budget.turns, limits.max_turns or budget.turns),
        budget_usd=min(budget.usd, limits.budget_usd or budget.usd),
        minutes=min(budget.minutes, limits.minutes or budget.minutes),
        budget_tokens=tokens,
        # A run is not asked for more than it may use.
        min_tokens=_lower(budget.min_tokens, tokens) if budget.min_tokens else None,
        light_model=limits.light_model or policy.model.light,
        fallback_model=(policy.model.fallback or "") if limits.fallback_model is None else limits.fallback_model,
    )


def _lower(first: int | None, second: int | None) -> int | None:
    """The lower of two limits; the other where one is not set."""
    return min((limit for limit in (first, second) if limit is not None), default=None)


def check_references(policy: Policy) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Everything the schema cannot see: names that mean nothing, rules that do not parse."""
    for name, profile in policy.profiles.items():
        yield from _check_profile(policy, name, profile)
    names = sorted({*BUILT_IN_PROFILES, *policy.profiles})
    for task, tiers in policy.tasks.items():
        for tier, name in tiers.items():
            if name not in names:
                yield ("tasks", task.value, tier.value), f'unknown profile "{name}"{_nearest(name, names)}'
    for section in ("allow", "deny"):
        for index, rule in enumerate(getattr(policy.permissions, section)):
            if problem := parse_rule(rule).problem:
                yield ("permissions", section, index), problem
    yield from _check_budget(policy.budget)
    for key in ("hooks", "mcp"):
        if getattr(policy, key):
            yield (key,), f'"{key}" is not supported by this version, remove it'


def _check_budget(budget: BudgetSection) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if budget.tokens and budget.min_tokens and budget.min_tokens > budget.tokens:
        problem = f'"budget.min_tokens" {budget.min_tokens} is more than "budget.tokens" {budget.tokens}'
        yield ("budget", "min_tokens"), problem


def _check_profile(policy: Policy, name: str, profile: ProfileSection) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if name in BUILT_IN_PROFILES:
        yield ("profiles", name), f'profile "{name}" is built in, choose another name'
    for index, tool in enumerate(profile.tools or ()):
        if tool not in KNOWN_TOOLS and not tool.startswith("mcp__"):
            yield (
                ("profiles", name, "tools", index),
                f'unknown tool "{tool}"{_nearest(tool, list(KNOWN_TOOLS))}',
            )
    seen, parent = {name}, profile.extends
    while parent is not None and parent not in BUILT_IN_PROFILES:
        if parent not in policy.profiles:
            names = sorted({*BUILT_IN_PROFILES, *policy.profiles} - {name})
            yield ("profiles", name, "extends"), f'unknown profile "{parent}"{_nearest(parent, names)}'
            return
        if parent in seen:
            yield ("profiles", name, "extends"), f'profile "{name}" extends itself through "{parent}"'
            return
        seen.add(parent)
        parent = policy.profiles[parent].extends
    tools, outputs = _resolve(policy, name)
    if tools and not outputs:
        yield (
            ("profiles", name),
            f'profile "{name}" has tools but no outputs, so it could never answer: add outputs or extends',
        )


def _resolve(policy: Policy, name: str) -> tuple[tuple[str, ...], Mapping[OutputKind, int]]:
    """A profile's tools and outputs, with what it extends filled in."""
    profile = BUILT_IN_PROFILES.get(name) or policy.profiles[name]
    tools, outputs = _resolve(policy, profile.extends) if profile.extends else ((), {})
    return (
        profile.tools if profile.tools is not None else tools,
        profile.outputs if profile.outputs is not None else outputs,
    )


def _nearest(name: str, valid: list[str]) -> str:
    close = difflib.get_close_matches(name, valid, n=1, cutoff=0.5)
    return f', did you mean "{close[0]}"?' if close else f"; known: {', '.join(valid)}"
