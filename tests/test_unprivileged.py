"""The run as another user than the one who owns the checkout, as on GitHub's runners with containers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CODE
from tests.fakes.github import FakeGitHub
from tests.fakes.messages import FakeMessages, Reply, Text, ToolUse
from tests.job import Job

NOBODY = 65534
PACKAGES = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.fixture
def python() -> str:
    """An interpreter of this version that another user can start, with the packages of this one."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user; everybody else is unprivileged already")
    for candidate in (sys.executable, shutil.which("python3", path=os.defpath)):
        if candidate and _starts(candidate):
            return candidate
    pytest.skip("the interpreter or its packages are not reachable for other users")


def _starts(python: str) -> bool:
    code = f"import sys, ci_agent.answer; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    try:
        done = subprocess.run(
            [python, "-c", code], user=NOBODY, group=NOBODY, extra_groups=[], env=PACKAGES, cwd="/", check=False
        )
    except PermissionError:
        return False
    return done.returncode == 0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach; pytest's own are private."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    shutil.rmtree(folder)


def test_user_who_does_not_own_the_checkout_gets_its_policy_and_its_answer(
    python: str, open_folder: Path, github: FakeGitHub, api: FakeMessages
) -> None:
    job = Job(open_folder, github.url, api.url, user=NOBODY, python=python, env={**PACKAGES})
    job.env["GITHUB_SHA"] = job.commit({**CODE, ".github/ci-agent.yml": "version: 1\nbudget: {turns: 2}\n"})
    for path in [open_folder, *open_folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    open_folder.chmod(0o777)
    (open_folder / "temp").chmod(0o777)
    api.queue(Reply([ToolUse("Grep", {"pattern": "def add"})]), Reply([Text("Found.")]))
    done = job.run()
    assert done.code == 0, done.stderr
    assert f"policy from {job.git('rev-parse', '--short=12', 'HEAD')}" in done.stderr
    assert "calc.py:1:def add" in str(api.bodies[1])
    assert len(github.writes) == 1
