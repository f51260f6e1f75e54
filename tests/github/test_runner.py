"""The runner's files and log, with values that try to break out of them."""

import io
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from ci_agent.github.runner import SUMMARY_LIMIT_BYTES, Console, annotation, append_summary, write_outputs
from tests.job import parse_outputs


def test_outputs_are_appended_behind_delimiters_that_differ(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("other=1\n")
    write_outputs(path, {"a": "x\ny", "b": "EOF"})
    assert parse_outputs(path.read_text()) == {"other": "1", "a": "x\ny", "b": "EOF"}
    delimiters = [line.split("<<")[1] for line in path.read_text().splitlines() if "<<" in line]
    assert len(set(delimiters)) == 2


def test_summary_stays_within_the_runners_limit_and_says_that_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    append_summary(path, "ä" * SUMMARY_LIMIT_BYTES)
    assert path.stat().st_size <= SUMMARY_LIMIT_BYTES
    assert path.read_text().endswith("The artifact has all of it._\n")


@given(st.text(alphabet=st.sampled_from("a:#[ \n\r\t\v\f\x1c\x85\u2028%")))
@example("\r::")
def test_nothing_printed_is_a_workflow_command(text: str) -> None:
    stream = io.StringIO()
    Console(stream).say(text)
    for line in stream.getvalue().splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def test_annotation_is_one_line() -> None:
    assert annotation("error", "a\n::b %", in_actions=True) == "::error title=ci_agent::a ::b %25"
    assert annotation("error", "a\nb", in_actions=False) == "ci_agent: error: a b"
