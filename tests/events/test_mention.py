"""Where the trigger counts, and where it is only shown."""

import pytest

from ci_agent.events.mention import find_request

CALLS = [
    "@agent fix this",
    "Please, @agent, look",
    "thanks!\n\n@agent again",
    "(@agent) please",
    "@Agent with another case",
    "> quoted\n\n@agent what about it?",
    "```\ncode\n```\n@agent explain",
    "`code` and @agent outside",
    "**@agent** bold",
    "- @agent in a list",
]
SHOWS = [
    "no trigger",
    "me@agent.example",
    "@agents unite",
    "@agent-smith is a person",
    "org/@agent",
    "`@agent fix`",
    "``a ` @agent b``",
    "```\n@agent in a fence\n```",
    "~~~sh\n@agent in a fence\n~~~",
    "```\n@agent in a fence that never ends",
    "> @agent quoted",
    "  > @agent quoted further in",
    "<!-- @agent hidden -->",
    "<!-- @agent hidden without an end",
    "<code>@agent</code>",
    "text\n\n    @agent indented code",
    "@@agent",
]


@pytest.mark.parametrize("body", CALLS)
def test_spoken_trigger_calls_the_agent(body: str) -> None:
    assert find_request(body, "@agent") == body


@pytest.mark.parametrize("body", SHOWS)
def test_shown_trigger_calls_nobody(body: str) -> None:
    assert find_request(body, "@agent") is None


def test_windows_line_ends_do_not_hide_a_quote() -> None:
    assert find_request("> @agent quoted\r\nreply", "@agent") is None
