"""What the documents show is what the project has."""

import re
from pathlib import Path

import pytest
import yaml

from ci_agent.policy.load import load_policy
from ci_agent.policy.schema import Policy
from ci_agent.types.tasks import Tier
from tests.job import ROOT

README = (ROOT / "README.md").read_text()
DOCUMENTS = [ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("name", ["mention", "review", "diagnose", "schedule"])
def test_readme_shows_each_workflow_as_it_is(name: str) -> None:
    assert f"```yaml\n{(ROOT / '.github' / 'examples' / f'{name}.yml').read_text()}```" in README


def test_readme_shows_the_two_commands() -> None:
    assert "./entrypoint.sh demo" in README
    assert "./entrypoint.sh test" in README


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_that_exist(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_tests_exist(document: Path) -> None:
    for name in re.findall(r"`(tests/[\w/]+(?:\.py)?)/?`", document.read_text()):
        assert (ROOT / name).exists(), name


def test_policy_reference_names_every_key_and_tier() -> None:
    text = (ROOT / "docs" / "policy.md").read_text()
    for key in (*Policy.model_fields, *(tier.value for tier in Tier if tier is not Tier.SYSTEM)):
        assert f"`{key}" in text, key


def test_policy_template_is_valid_with_every_line_switched_on() -> None:
    text = (ROOT / "ci_agent" / "templates" / "policy.yml").read_text()
    on = re.sub(r"^#(?=\w| {2,}\w)", "", text, flags=re.MULTILINE)
    assert set(yaml.safe_load(on)) == set(Policy.model_fields)
    load_policy(on, "policy.yml")


def test_policy_examples_in_the_documents_are_valid() -> None:
    found = [
        block
        for document in DOCUMENTS
        for block in re.findall(r"```yaml\n(.*?)```", document.read_text(), re.DOTALL)
        if block.startswith("version: 1")
    ]
    assert len(found) >= 2
    for block in found:
        load_policy(block, "example")
