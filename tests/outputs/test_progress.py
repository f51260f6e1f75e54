"""Progress in the log is one line for each thing, whoever wrote the words in it."""

import pytest

from ci_agent.outputs.progress import describe
from ci_agent.types.decisions import Decision
from ci_agent.types.messages import ToolUseBlock, Usage
from ci_agent.types.notices import Decided, Notice, Reason, Stage, Terminal, ToolProgress

FORGED = "x\n::error::forged " + "y" * 5_000


@pytest.mark.parametrize(
    "notice",
    [
        Terminal(Reason.MODEL_ERROR, FORGED, "", 1, Usage(), 0.0, 0.0),
        Decided(
            ToolUseBlock("t", FORGED, {FORGED: FORGED}),
            Decision(allowed=False, rule="", source="registry", reason=FORGED),
        ),
        ToolProgress("t", FORGED, Stage.RUNNING, FORGED),
    ],
    ids=["end", "refusal", "tool"],
)
def test_strangers_words_make_no_line_of_their_own(notice: Notice) -> None:
    (line,) = describe(notice, str)
    assert "\n" not in line
    assert len(line) < 400


def test_secret_is_hidden_before_the_line_is_cut() -> None:
    (line,) = describe(
        ToolProgress("t", "Bash", Stage.RUNNING, "a" * 95 + "secret"), lambda text: text.replace("secret", "***")
    )
    assert "secr" not in line
