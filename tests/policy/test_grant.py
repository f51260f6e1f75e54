"""Who gets which profile, and what a profile is worth."""

import pytest

from ci_agent.policy.grant import Limits, make_grant, profile_name
from ci_agent.policy.load import load_policy
from ci_agent.policy.schema import Policy
from ci_agent.types.outputs import OutputKind
from ci_agent.types.tasks import TaskKind, Tier

DEFAULTS = {
    Tier.OWNER: "fix",
    Tier.MAINTAINER: "fix",
    Tier.WRITER: "fix",
    Tier.TRIAGER: "answer",
    Tier.READER: "answer",
    Tier.OUTSIDER: "none",
    Tier.BOT: "answer",
    Tier.SYSTEM: "none",
}


@pytest.mark.parametrize("tier", Tier)
def test_default_profile_of_a_mention(tier: Tier) -> None:
    assert profile_name(Policy(version=1), TaskKind.MENTION, tier) == DEFAULTS[tier]


@pytest.mark.parametrize("task", TaskKind)
def test_outsiders_start_nothing_by_default(task: TaskKind) -> None:
    assert profile_name(Policy(version=1), task, Tier.OUTSIDER) == "none"


def test_profile_takes_what_it_does_not_say_from_the_one_it_extends() -> None:
    policy = load_policy("version: 1\nprofiles: {a: {extends: answer, tools: [Read]}, b: {extends: a}}", "p")
    grant = make_grant(policy, "b", Limits())
    assert grant.tools == frozenset({"Read"})
    assert grant.outputs == {OutputKind.COMMENT: 1}


def test_workflow_inputs_lower_the_policys_limits_and_never_raise_them() -> None:
    policy = load_policy("version: 1\nbudget: {usd: 1, turns: 10, minutes: 5}", "p")
    high = make_grant(policy, "answer", Limits(max_turns=99, budget_usd=99, minutes=99))
    low = make_grant(policy, "answer", Limits(max_turns=2, budget_usd=0.5, minutes=1))
    assert (high.max_turns, high.budget_usd, high.minutes) == (10, 1, 5)
    assert (low.max_turns, low.budget_usd, low.minutes) == (2, 0.5, 1)
