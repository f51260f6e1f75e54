"""Where the trigger counts, and where it is only shown."""

import time

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
    "```x``` is odd, @agent please look\nat `it`",
    "use ` here\n\n@agent fix\n\nand ` there",
    "`<!--` breaks, @agent look",
    "`<pre>` breaks, @agent look",
    "`<blockquote>` breaks, @agent look",
    "\\` @agent x \\`",
    "\u8bf7@agent \u770b\u770b",
    "@agent\u8bf7\u770b",
    "Thanks.@agent look",
    "- item\n\n    @agent in the same item",
    "1. item\n\n   @agent in the same item",
    "1. one\n2. @agent in the second",
    "- ```\n  code\n\n@agent after the list",
    "- item\n@agent goes on",
    "text\n    @agent goes on",
    "# @agent heading",
    "> quoted\n@agent without the empty line",
    "> ```\n\n@agent after a quoted fence",
    "<!--\n```\n-->\n@agent after a template's comment",
    "<!-- note --> @agent look",
    "a <!-- typed by mistake\n\n@agent look",
    "<details>\n    @agent inside details",
    "<code>x</code> @agent, <b>look</b>",
    "<blockquote>a<blockquote>b</blockquote></blockquote>@agent",
    "if a <b, @agent, or c> d",
    "~~~\n```\n~~~\n@agent after a fence that shows a fence",
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
    "\\@agent",
    "- ```\n  @agent rm\n  ```",
    "1. ~~~\n   @agent rm\n   ~~~",
    "- - ```\n    @agent rm",
    "- > @agent",
    "> - @agent",
    "```\n```~\n@agent\n```",
    "````\n```\n@agent\n````",
    "# t\n    @agent",
    "t\n===\n    @agent",
    "---\n    @agent",
    "    @agent at the start",
    "\t@agent after a tab",
    "-     @agent indented code in an item",
    "- item\n\n      @agent indented code in an item",
    "<blockquote>@agent",
    "<blockquote>a<blockquote>b</blockquote>@agent</blockquote>",
    "<pre>\n\n@agent\n\n</pre>",
    "text <code>\n\n@agent",
    "<KBD>@agent</KBD>",
    "<a title='@agent'>link</a>",
    "<? @agent ?>",
    "<!-- a --> <!-- @agent\nb -->",
    "<div> <!-- @agent\n\n@agent -->",
    "a <!-- @agent\nb --> c",
    "`a\n@agent`",
    "```\r@agent\r```",
]
ENDLESS = [
    "<code", "<code>", "<!--", "<!-- -->", "<div> <!--", "`", "` `` ", "\\`", "- ", "- a\n", "- - - x\n", "> ", "```\n",
    "```x\n~~~\n", "    ", " \n", "<a b=\"", "<a b='\" c=\"'", "<a b ", "<?", "<!X", "<pre>\n", "</pre ", "@", "@agent",
    "***", "1. ", "#", "=", "\t", "[", "<", "\r",
]  # fmt: skip


@pytest.mark.parametrize("body", CALLS)
def test_spoken_trigger_calls_the_agent(body: str) -> None:
    assert find_request(body, "@agent") == body


@pytest.mark.parametrize("body", SHOWS)
def test_shown_trigger_calls_nobody(body: str) -> None:
    assert find_request(body, "@agent") is None


def test_windows_line_ends_do_not_hide_a_quote() -> None:
    assert find_request("> @agent quoted\r\nreply", "@agent") is None


def seconds(body: str) -> float:
    """The best of three, so that a pause of the machine is not taken for the scanner's."""
    times = []
    for _ in range(3):
        start = time.process_time()
        find_request(body, "@agent-smith")
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("unit", ENDLESS)
def test_time_grows_with_the_text_only(unit: str) -> None:
    short, long = (seconds("x" + unit * (size // len(unit))) for size in (15_000, 60_000))
    assert long < 8 * short + 0.5
    short, long = (seconds(unit * (size // len(unit)) + "\n\nx") for size in (15_000, 60_000))
    assert long < 8 * short + 0.5
