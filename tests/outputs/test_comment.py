"""Every comment the agent can post, as a snapshot. After a wanted change: remove the file and run the test twice."""

from pathlib import Path

import pytest

from ci_agent.outputs.comment import RunFacts, explain, render_comment
from ci_agent.types.messages import Usage
from ci_agent.types.notices import Reason, Terminal

SNAPSHOTS = Path(__file__).parent / "snapshots"
USAGE = Usage(input_tokens=1_200, output_tokens=340, cache_read_input_tokens=5_000)
FACTS = RunFacts("claude-sonnet-5-5", "https://github.com/octo/hello/actions/runs/4242")
NOTED = RunFacts(
    "claude-sonnet-5-5",
    "",
    denials=[f"Read: /etc/{number} is outside the workspace" for number in range(22)],
    notes=["1 comment(s) edited after the request were left out."],
)


def ended(reason: Reason, detail: str = "", text: str = "", cost: float | None = 0.0123) -> Terminal:
    return Terminal(reason, detail, text, 3, USAGE, cost, 4.2)


CASES = {
    "answer": (ended(Reason.COMPLETED, text="It adds **two** numbers."), FACTS),
    "answer-with-notes": (ended(Reason.COMPLETED, text="It adds."), NOTED),
    "answer-without-price": (ended(Reason.COMPLETED, text="It adds.", cost=None), FACTS),
    **{
        reason.value: (ended(reason, f"the detail of {reason.value}", "What was written last."), FACTS)
        for reason in Reason
        if reason is not Reason.COMPLETED
    },
}


@pytest.mark.parametrize("name", CASES)
def test_comment_is_as_in_its_snapshot(name: str) -> None:
    terminal, facts = CASES[name]
    text = render_comment("comment-7", explain(terminal), terminal, facts)
    path = SNAPSHOTS / f"{name}.md"
    if not path.exists():
        path.write_text(text)
        pytest.fail(f"{path.name} was missing and is written now; read it, then run the test again")
    assert text == path.read_text()


def test_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in SNAPSHOTS.iterdir()} == set(CASES)
