"""A pytest plugin: every exchange with a fake GitHub, in any test, is checked against GitHub's own description."""

import os
from collections.abc import Generator

import pytest

from tests.contract.check import Contract, is_available
from tests.contract.fetch import cache_folder
from tests.fakes.github import OBSERVERS, Exchange

SHOWN = 10


class ContractCheck:
    """Collects exchanges and judges them at the end of each test."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._waiting: list[Exchange] = []
        self.checked = 0

    def observe(self, exchange: Exchange) -> None:
        """Keep an exchange until the test that made it ends."""
        self._waiting.append(exchange)

    def judge(self, item: pytest.Item) -> None:
        """Fail the test when one of its exchanges breaks the contract."""
        exchanges, self._waiting = self._waiting, []
        exempt = item.get_closest_marker("contract_exempt") is not None
        found = [violation for one in exchanges for violation in self._contract.check(one, requests_exempt=exempt)]
        self.checked += len(exchanges)
        if found:
            lines = [str(violation) for violation in found[:SHOWN]]
            more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
            pytest.fail(
                "\n".join(["exchanges that GitHub's API description does not allow:", *lines, *more]), pytrace=False
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Judge what the test itself sent; a test that fails anyway keeps its own message."""
        result = yield
        self.judge(item)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Judge what its fixtures sent while they were taken down."""
        result = yield
        self.judge(item)
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how much was checked."""
        terminalreporter.write_line(f"contract: {self.checked} exchanges checked against GitHub's API description")


class LeftOut:
    """Stands in when the descriptions are missing, so that nobody takes silence for a check."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say that nothing was checked, and how to change that."""
        terminalreporter.write_line(f"contract: LEFT OUT, {self._reason}", yellow=True)


def pytest_configure(config: pytest.Config) -> None:
    """Choose between the check, the notice and, in strict mode, the refusal."""
    config.addinivalue_line(
        "markers", "contract_exempt(reason): its refused requests break GitHub's API description on purpose"
    )
    folder = cache_folder()
    if is_available(folder):
        check = ContractCheck(Contract(folder))
        OBSERVERS.append(check.observe)
        config.pluginmanager.register(check, "github-contract")
        config.add_cleanup(lambda: OBSERVERS.remove(check.observe))
        return
    reason = f"no API description in {folder}; fetch it with: python -m tests.contract.fetch"
    if os.environ.get("CI_AGENT_TEST_STRICT"):
        raise pytest.UsageError(f"contract: {reason}")
    config.pluginmanager.register(LeftOut(reason), "github-contract")
