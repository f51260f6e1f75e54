"""A stateful GitHub on loopback, for the real client libraries to talk to."""

from tests.fakes.github.records import PullFile
from tests.fakes.github.repo import FakeRepo
from tests.fakes.github.server import OBSERVERS, FakeGitHub
from tests.fakes.github.wire import Exchange

__all__ = ["OBSERVERS", "Exchange", "FakeGitHub", "FakeRepo", "PullFile"]
