"""What every test of the loop may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.messages import FakeMessages
from tests.loop.stage import Stage


@pytest.fixture
def stage(api: FakeMessages, tmp_path: Path) -> Stage:
    """A conversation against the fake Messages API, not yet begun."""
    return Stage(api, tmp_path)
