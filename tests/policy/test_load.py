"""Every mistake in a policy is named with file, line, key and the nearest valid one."""

import pytest

from ci_agent.errors import PolicyError
from ci_agent.policy.load import load_policy
from ci_agent.types.outputs import OutputKind
from ci_agent.types.tasks import TaskKind, Tier

MISTAKES = {
    "": 'p.yml:1: key "version" is missing, add: version: 1',
    "version: 2": 'p.yml:1: "version": Input should be 1, not 2',
    "- a": "p.yml:1: the file must hold keys and values, starting with: version: 1",
    "version: true": "p.yml:1: \"version\": Input should be 1, not 'True'",
    "version: 1\non: 2": "p.yml:2: a key must be plain text, put it in quotes: 'on'",
    "version: 1\ntrigger: 2026-99-99": "p.yml:2: '2026-99-99' cannot be read: month must be in 1..12; put it in quotes",
    "version: 1\nprofiles: {x: {tools: [Read]}}": 'p.yml:2: profile "x" has tools but no outputs, so it could never answer: add outputs or extends',
    "version: 1\nversion: 1": 'p.yml:2: key "version" stands twice, first on line 1',
    "version: 1\n\nbudgets: {}": 'p.yml:3: unknown key "budgets", did you mean "budget"?',
    "version: 1\nbudget: {usd: 1,\n  turn: 3}": 'p.yml:3: unknown key "budget.turn", did you mean "turns"?',
    "version: 1\nbudget:\n  usd: lots": 'p.yml:3: "budget.usd": Input should be a valid number, unable to parse string as a '
    "number, not 'lots'",
    "version: 1\nbudget:\n  tokens: 999": 'p.yml:3: "budget.tokens": Input should be greater than or equal to 1000, not 999',
    "version: 1\nbudget:\n  min_tokens: 0": 'p.yml:3: "budget.min_tokens": Input should be greater than or equal to 1000, not 0',
    "version: 1\nbudget:\n  min_tokens: 1001\n  tokens: 1000": 'p.yml:3: "budget.min_tokens" 1001 is more than "budget.tokens" 1000',
    "version: 1\nsandbox: {network: {alow: []}}": 'p.yml:2: unknown key "sandbox.network.alow", did you mean "allow"?',
    "version: 1\ntasks: {mentoin: {}}": 'p.yml:2: unknown key "tasks.mentoin", did you mean "mention"?',
    "version: 1\ntasks:\n  mention:\n    writter: fix": 'p.yml:4: unknown key "tasks.mention.writter", did you mean "writer"?',
    "version: 1\ntasks: {mention: {writer: fxi}}": 'p.yml:2: unknown profile "fxi", did you mean "fix"?',
    "version: 1\nprofiles:\n  mine: {extends: answr}": 'p.yml:3: unknown profile "answr", did you mean "answer"?',
    "version: 1\nprofiles:\n  a: {extends: b}\n  b: {extends: a}": 'p.yml:3: profile "a" extends itself through "a"',
    "version: 1\nprofiles:\n  fix: {}": 'p.yml:3: profile "fix" is built in, choose another name',
    "version: 1\nprofiles:\n  x: {tool: []}": 'p.yml:3: unknown key "profiles.x.tool", did you mean "tools"?',
    "version: 1\nprofiles:\n  x:\n    tools: [Read,\n Grpe]": 'p.yml:5: unknown tool "Grpe", did you mean "Grep"?',
    "version: 1\nprofiles: {x: {outputs: {coment: 1}}}": 'p.yml:2: unknown key "profiles.x.outputs.coment", did you mean '
    '"comment"?',
    "version: 1\npermissions:\n  deny:\n    - Raed(x)": 'p.yml:4: rule "Raed(x)" names the unknown tool "Raed", did you mean '
    '"Read"?',
    "version: 1\npermissions: {deny: ['rm -rf']}": 'p.yml:2: rule "rm -rf" is not of the form Tool or Tool(pattern)',
    "version: 1\nhooks: {PreToolUse: []}": 'p.yml:2: "hooks" is not supported by this version, remove it',
    "version: 1\nbots: &a [x]\nmcp: *a": "p.yml:3: aliases are not supported, write the value out",
    "version: 1\na: [": "p.yml:2: not YAML: expected the node content, but found '<stream end>'",
    "version: 1\ntrigger: agent": "p.yml:2: \"trigger\": String should match pattern '^[@/][A-Za-z0-9][A-Za-z0-9-]*$', not "
    "'agent'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistake_is_named_with_its_line(text: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(text, "p.yml")
    assert str(caught.value) == MISTAKES[text]


def test_design_example_is_valid() -> None:
    policy = load_policy(
        """
version: 1
trigger: "@agent"
model: { main: claude-sonnet-5-5, light: claude-haiku-5-5, effort: medium, fallback: claude-opus-5-5 }
budget: { usd: 2.00, turns: 40, minutes: 20, tokens: 20000, min_tokens: 20000 }
bots: ["dependabot[bot]"]
permissions:
  mode: default
  allow: ["Bash(pytest:*)", "Read(src/**)"]
  deny: ["Bash(git push:*)", "Read(secrets/**)"]
profiles:
  careful-fix: { extends: fix, tools: [Read, Grep, Glob, Edit], outputs: { comment: 1, finding: 20, pull_request: 1 } }
tasks:
  mention: { writer: careful-fix, reader: answer, outsider: none }
paths: { writable: ["src/**", "tests/**"], protected: ["infra/**"] }
sandbox: { level: bubblewrap, network: { allow: [] } }
review: { min_severity: low, min_confidence: 0.6, max_inline: 20, ignore: ["**/*.lock"] }
diagnose: { workflows: ["CI"], fix: false }
schedule: { mode: changes, topics: [security, correctness] }
hooks: {}
mcp: {}
""",
        "p.yml",
    )
    assert policy.tasks[TaskKind.MENTION][Tier.WRITER] == "careful-fix"
    assert policy.profiles["careful-fix"].outputs == {
        OutputKind.COMMENT: 1,
        OutputKind.FINDING: 20,
        OutputKind.PULL_REQUEST: 1,
    }
