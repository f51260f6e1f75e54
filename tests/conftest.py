"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.fakes.github import FakeGitHub
from tests.fakes.messages import FakeMessages
from tests.job import Job

pytest_plugins = ["tests.contract.plugin"]

# Machines are noisy: how long an example takes says nothing about the code.
settings.register_profile("calm", settings(), deadline=None)
settings.load_profile("calm")

CODE = {"calc.py": "def add(a, b):\n    return a + b\n", "README.md": "# calc\n"}


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    """GitHub with the repository octo/hello: alice writes, rita may read, issue #1 is open."""
    with FakeGitHub() as server:
        repo = server.add_repo("octo/hello", default_branch="main")
        repo.set_permission("alice", "write")
        repo.set_permission("rita", "read")
        server.add_user("mallory")
        repo.add_issue(title="Adding", body="How does adding work?", user="carol", number=1)
        yield server


@pytest.fixture
def api() -> Iterator[FakeMessages]:
    """The Messages API; a test scripts its replies."""
    with FakeMessages() as server:
        yield server


@pytest.fixture
def job(tmp_path: Path, github: FakeGitHub, api: FakeMessages) -> Job:
    """A job on a checkout of octo/hello with two files."""
    job = Job(tmp_path, github.url, api.url)
    job.env["GITHUB_SHA"] = job.commit(CODE)
    return job
