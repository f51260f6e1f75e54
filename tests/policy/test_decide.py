"""Decisions as a table."""

import pytest

from ci_agent.policy.decide import decide
from ci_agent.policy.grant import Limits, make_grant
from ci_agent.policy.load import load_policy
from ci_agent.types.messages import JsonObject

GRANT = make_grant(
    load_policy("version: 1\npermissions: {deny: ['Read(secrets/**)', 'Read(.env)', 'Bash(git push:*)', Glob]}", "p"),
    "fix",
    Limits(),
)

TABLE: list[tuple[str, JsonObject, bool]] = [
    ("Read", {"file_path": "src/a.py"}, True),
    ("Read", {"file_path": "secrets/key"}, False),
    ("Read", {"file_path": "./secrets/deep/key"}, False),
    ("Read", {"file_path": "SECRETS/key"}, False),
    ("Read", {"file_path": "app/.env"}, False),
    ("Read", {"file_path": "app/.envrc"}, True),
    ("Grep", {"pattern": "x", "path": "secrets/key"}, False),
    ("Grep", {"pattern": "x"}, True),
    ("Glob", {"pattern": "*"}, False),
    ("Bash", {"command": "git push"}, False),
    ("WebFetch", {"url": "http://x"}, False),
]


@pytest.mark.parametrize(("tool", "arguments", "allowed"), TABLE)
def test_decision(tool: str, arguments: JsonObject, allowed: bool) -> None:
    assert decide(tool, arguments, GRANT).allowed is allowed


def test_decision_names_its_rule_and_source() -> None:
    decision = decide("Read", {"file_path": "secrets/key"}, GRANT)
    assert (decision.rule, decision.source) == ("Read(secrets/**)", "policy")
