"""The plugin fails the right tests, and says so when it cannot check."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.check import is_available
from tests.contract.fetch import cache_folder

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest, requests
from tests.fakes.github import FakeGitHub

def send(sent, **fault):
    with FakeGitHub() as gh:
        gh.add_repo("octo/hello").add_issue()
        if fault:
            gh.fault(**fault)
        url = f"{gh.url}/repos/octo/hello/issues/1/comments"
        requests.post(url, json=sent, headers={"Authorization": "Bearer ghs_test"}, timeout=5)

def test_sound():
    send({"body": "x"})

def test_misspelt():
    send({"body": "x", "boddy": "y"})

def test_scripted():
    send({"body": "x"}, status=502, body="<html>")

@pytest.mark.contract_exempt("meant")
def test_refused_on_purpose():
    send({})

@pytest.mark.contract_exempt("covers refused requests only")
def test_accepted_though_exempt():
    send({"body": "x", "boddy": "y"})
"""


def _run(folder: Path, contract: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_inner.py").write_text(TESTS)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CI_AGENT_CONTRACT_DIR": str(contract), **extra}
    env.pop("PYTEST_ADDOPTS", None)
    if not extra:
        env.pop("CI_AGENT_TEST_STRICT", None)
    words = ["-p", "tests.contract.plugin", "-p", "no:cacheprovider", "-q", "--rootdir", str(folder), "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", *words, str(folder / "test_inner.py")]
    return subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_a_test_that_breaks_the_contract_fails_by_name(tmp_path: Path) -> None:
    if not is_available(cache_folder()):
        pytest.skip("no API description; fetch it with: python -m tests.contract.fetch")
    done = _run(tmp_path, cache_folder())
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert [line.split("::")[1].split()[0] for line in failed] == ["test_misspelt", "test_accepted_though_exempt"]
    assert "POST /repos/octo/hello/issues/1/comments (201): request: body: " in done.stdout
    assert "boddy" in done.stdout
    assert "contract: 5 exchanges checked" in done.stdout


def test_without_the_description_the_check_says_it_was_left_out(tmp_path: Path) -> None:
    done = _run(tmp_path, tmp_path / "empty")
    assert done.returncode == 0, done.stdout
    assert "contract: LEFT OUT, no API description in" in done.stdout
    assert "python -m tests.contract.fetch" in done.stdout


def test_in_strict_mode_a_missing_description_is_a_failure(tmp_path: Path) -> None:
    done = _run(tmp_path, tmp_path / "empty", CI_AGENT_TEST_STRICT="1")
    assert done.returncode == 4
    assert "contract: no API description in" in done.stderr
