"""Who gets which profile, and what a profile is worth."""

import pytest

from ci_agent.admit import limits
from ci_agent.errors import ConfigError
from ci_agent.policy.grant import Limits, make_grant, profile_name
from ci_agent.policy.load import load_policy
from ci_agent.policy.schema import BudgetSection, Policy
from ci_agent.settings import load_settings
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


TOKENS = {
    # policy's tokens and min_tokens, input: granted
    (None, None, None): (None, None),
    (5_000, 2_000, None): (5_000, 2_000),
    (5_000, 2_000, 9_000): (5_000, 2_000),
    (5_000, 2_000, 1_000): (1_000, 1_000),
    (None, None, 3_000): (3_000, None),
    (None, 2_000, None): (None, 2_000),
}


@pytest.mark.parametrize("case", TOKENS)
def test_tokens_are_granted_up_to_the_lower_limit(case: tuple[int | None, int | None, int | None]) -> None:
    tokens, least, lowered = case
    policy = Policy(version=1, budget=BudgetSection(tokens=tokens, min_tokens=least))
    grant = make_grant(policy, "answer", Limits(budget_tokens=lowered))
    assert (grant.budget_tokens, grant.min_tokens) == TOKENS[case]


def test_models_come_from_the_policy_and_the_light_one_from_an_input() -> None:
    policy = load_policy("version: 1\nmodel: {main: a, light: b, fallback: c}", "p")
    grant = make_grant(policy, "answer", Limits())
    assert (grant.model, grant.light_model, grant.fallback_model) == ("a", "b", "c")
    assert make_grant(policy, "answer", Limits(light_model="d")).light_model == "d"
    assert make_grant(Policy(version=1), "answer", Limits()).fallback_model == ""


SETTINGS: dict[str, dict[str, str]] = {
    "anthropic": {"CI_AGENT_LIGHT_MODEL": "small", "CI_AGENT_BUDGET_TOKENS": "4000"},
    "scripted": {"CI_AGENT_LIGHT_MODEL": "small", "CI_AGENT_MODEL_PROVIDER": "scripted"},
}


@pytest.mark.parametrize(
    ("provider", "models", "tokens"),
    [("anthropic", ("a", "small", "c"), 4_000), ("scripted", ("scripted", "scripted", ""), None)],
)
def test_inputs_reach_the_grant_and_a_script_borrows_no_model(
    monkeypatch: pytest.MonkeyPatch, provider: str, models: tuple[str, str, str], tokens: int | None
) -> None:
    for name, value in SETTINGS[provider].items():
        monkeypatch.setenv(name, value)
    policy = load_policy("version: 1\nmodel: {main: a, light: b, fallback: c}", "p")
    grant = make_grant(policy, "answer", limits(load_settings()))
    assert (grant.model, grant.light_model, grant.fallback_model) == models
    assert grant.budget_tokens == tokens


def test_token_budget_below_a_thousand_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_AGENT_BUDGET_TOKENS", "999")
    with pytest.raises(ConfigError, match="CI_AGENT_BUDGET_TOKENS: Input should be greater than or equal to 1000"):
        load_settings()
