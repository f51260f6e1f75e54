"""The action, the workflows that users copy and our own, read as text and as YAML."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ci_agent.policy.load import load_policy
from ci_agent.policy.schema import Policy
from ci_agent.settings import Settings

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TEMPLATES = ROOT / "ci_agent" / "templates"
EXAMPLES = ROOT / ".github" / "examples"
EXAMPLE_NAMES = ("diagnose.yml", "mention.yml", "review.yml", "schedule.yml")
WORKFLOWS = [*sorted(EXAMPLES.glob("*.yml")), *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
PLACEHOLDER = "OWNER/ci_agent@0000000000000000000000000000000000000000"
# Only callers outside Actions set these.
WITHOUT_INPUT = {"CI_AGENT_SESSION_ID", "CI_AGENT_ARTIFACT_DIR"}
# A job, or the step that signs it in to AWS, sets these for all its steps.
FROM_THE_JOB = {"ANTHROPIC_AWS_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
OUTPUTS = {
    "conclusion",
    "session-id",
    "comment-url",
    "check-run-url",
    "cost-usd",
    "turns",
    "transcript-path",
    "report-path",
    "outputs-path",
    "structured-output",
}


def jobs(workflow: Path) -> list[dict[str, Any]]:
    """The jobs of a workflow file."""
    return list(yaml.safe_load(workflow.read_text())["jobs"].values())


def variables() -> set[str]:
    """The environment variables of ours that the settings read."""
    fields = Settings.model_fields.items()
    names = (str(field.validation_alias or f"CI_AGENT_{name.upper()}") for name, field in fields)
    return {name for name in names if not name.startswith(("GITHUB_", "RUNNER_", "ACTIONS_"))}


def test_every_setting_has_an_input_and_every_input_a_setting() -> None:
    env = ACTION["runs"]["steps"][0]["env"]
    assert set(env) == (variables() | {"GITHUB_TOKEN"}) - WITHOUT_INPUT - FROM_THE_JOB
    passed = re.findall(r"inputs\.([a-z-]+)", " ".join(env.values()))
    kept_by_the_action = {"upload-artifact", "artifact-name", "artifact-retention-days"}
    assert sorted(passed) == sorted(set(ACTION["inputs"]) - kept_by_the_action)
    for variable, expression in env.items():
        name = variable.removeprefix("CI_AGENT_").lower().replace("_", "-")
        assert f"inputs.{name} " in expression, variable


def test_every_input_is_described_and_has_a_default() -> None:
    for name, body in ACTION["inputs"].items():
        assert body["description"].endswith((".", ")")), name
        assert isinstance(body["default"], str), name


def test_every_output_comes_from_the_run_step() -> None:
    assert set(ACTION["outputs"]) == OUTPUTS
    for name, body in ACTION["outputs"].items():
        assert body["value"] == f"${{{{ steps.run.outputs.{name} }}}}"
        assert body["description"].endswith((".", ")")), name


def test_the_record_is_kept_whatever_happened() -> None:
    run, keep = ACTION["runs"]["steps"]
    assert run["id"] == "run"
    assert keep["if"] == "always() && inputs.upload-artifact == 'true'"
    assert keep["with"]["path"] == "${{ runner.temp }}/ci-agent"


@pytest.mark.parametrize("path", [ROOT / "action.yml", *WORKFLOWS], ids=lambda path: path.name)
def test_actions_are_pinned_and_scripts_free_of_expressions(path: Path) -> None:
    used = re.findall(r"uses: (\S+)(.*)", path.read_text())
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action)
        assert re.match(r" # v\d+\.\d+\.\d+$", comment) or action == PLACEHOLDER
    data = yaml.safe_load(path.read_text())
    steps = (
        data["runs"]["steps"] if "runs" in data else [step for job in data["jobs"].values() for step in job["steps"]]
    )
    assert all("${{" not in step.get("run", "") for step in steps)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_start_with_no_rights_and_end_in_time(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["permissions"] == {}
    for job in jobs(path):
        assert isinstance(job["permissions"], dict)
        assert job["timeout-minutes"] <= 60
        [checkout] = (step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@"))
        assert checkout["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_examples_are_the_templates_that_init_writes(name: str) -> None:
    assert sorted(path.name for path in EXAMPLES.iterdir()) == list(EXAMPLE_NAMES)
    assert (EXAMPLES / name).read_bytes() == (TEMPLATES / name).read_bytes()
    assert (EXAMPLES / name).read_text().count(PLACEHOLDER) == 1


@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_examples_never_check_out_a_pull_requests_head(name: str) -> None:
    [job] = jobs(EXAMPLES / name)
    checkout = job["steps"][0]
    assert checkout["with"]["ref"] in (
        "${{ github.event.repository.default_branch }}",
        "${{ github.event.pull_request.base.sha }}",
    )


@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_only_a_job_that_passed_its_condition_enters_a_concurrency_group(name: str) -> None:
    assert "concurrency" not in yaml.safe_load((EXAMPLES / name).read_text())
    [job] = jobs(EXAMPLES / name)
    assert job["concurrency"]["group"].startswith(f"ci-agent-{name.removesuffix('.yml')}")


def test_one_question_never_cancels_another() -> None:
    [job] = jobs(EXAMPLES / "mention.yml")
    assert "comment.id" in job["concurrency"]["group"]
    assert job["concurrency"]["cancel-in-progress"] is False


def test_every_input_that_an_example_sets_exists() -> None:
    for name in EXAMPLE_NAMES:
        [job] = jobs(EXAMPLES / name)
        assert set(job["steps"][-1]["with"]) <= set(ACTION["inputs"])


def test_policy_template_shows_every_key_and_sets_only_the_version() -> None:
    text = (TEMPLATES / "policy.yml").read_text()
    assert yaml.safe_load(text) == {"version": 1}
    shown = re.sub(r"^#(?! \S)", "", text, flags=re.MULTILINE)
    assert load_policy(shown, "policy.yml").model_fields_set == set(Policy.model_fields)
