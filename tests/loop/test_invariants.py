"""Whatever the model and the network do, a run keeps its promises and ends."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings

from ci_agent.loop.repairs import Pace
from ci_agent.models.base import FailureKind
from ci_agent.types.hooks import HookAnswer, NoHooks
from ci_agent.types.messages import Message, ToolUseBlock
from ci_agent.types.notices import (
    AssistantSaid,
    Compacted,
    Continued,
    ModelCalled,
    Notice,
    Terminal,
    ToolsAnswered,
    Transition,
)
from tests.fakes.messages import FakeMessages
from tests.loop.player import STOPS, Play, Player, plays
from tests.loop.stage import GOAL, Stage, end, grant

NO_PAUSE = Pace(base=0.0, rate_limit_base=0.0, most=0.0)
UNUSED = FakeMessages()


@dataclass
class Counted(NoHooks):
    """Hooks that count how often they are asked about a stop."""

    stops: int = 0

    async def on_stop(self, text: str) -> HookAnswer:
        self.stops += 1
        return await super().on_stop(text)


def run(
    script: list[Play], *, min_tokens: int | None = None, checked: bool = True
) -> tuple[Player, Counted, list[Notice]]:
    """One run with these answers; checking each request as the API would takes most of the time."""
    player, hooks = Player(list(script), checked), Counted()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(UNUSED, Path(folder), model=player, hooks=hooks, pace=NO_PAUSE, size=4_000)
        stage.grant = grant(fallback_model="claude-opus-5-5", max_turns=40, min_tokens=min_tokens)
        notices = asyncio.run(stage.play())
    return player, hooks, notices


@settings(max_examples=300)
@given(plays())
def test_invariants_hold_for_random_streams(script: list[Play]) -> None:
    player, hooks, notices = run(script)
    terminal = end(notices)
    _every_call_has_one_result(notices)
    _prefix_changes_only_at_boundaries(player, notices)
    _repairs_stay_within_their_caps(notices)
    _lost_attempts_leave_nothing(notices, player)
    assert terminal.usage == player.billed
    answers = sum(isinstance(notice, AssistantSaid) and not _calls(notice.message) for notice in notices)
    assert hooks.stops <= answers
    assert all(GOAL in str(body["messages"][0]) for body in player.bodies if body.get("tools"))
    assert len({(str(body["tools"]), str(body["system"])) for body in player.bodies if body.get("tools")}) <= 1


def _calls(message: Message) -> list[str]:
    return [block.id for block in message.content if isinstance(block, ToolUseBlock)]


def _every_call_has_one_result(notices: Sequence[Notice]) -> None:
    """Also at the end: what is left is a history that can be gone on with."""
    opened: list[str] = []
    for notice in notices:
        if isinstance(notice, AssistantSaid):
            assert opened == []
            opened = _calls(notice.message)
        elif isinstance(notice, ToolsAnswered):
            assert [result.tool_use_id for result in notice.results] == opened
            opened = []
    assert opened == []


def _prefix_changes_only_at_boundaries(player: Player, notices: Sequence[Notice]) -> None:
    asked = [request for request in player.requests if request.tools]
    calls, moved = 0, set()
    for notice in notices:
        if isinstance(notice, Compacted) or _is(notice, Transition.MODEL_FALLBACK):
            moved.add(calls)
        calls += isinstance(notice, ModelCalled)
    assert len(asked) == calls
    for index in range(1, calls):
        before, after = asked[index - 1], asked[index]
        if index not in moved:
            assert after.messages[: len(before.messages)] == before.messages


def _is(notice: Notice, transition: Transition) -> bool:
    return isinstance(notice, Continued) and notice.transition is transition


def _repairs_stay_within_their_caps(notices: Sequence[Notice]) -> None:
    run_counts, turn_counts = Counter[Transition](), Counter[Transition]()
    for notice in notices:
        if not isinstance(notice, Continued):
            continue
        run_counts[notice.transition] += 1
        turn_counts[notice.transition] += 1
        if notice.transition is Transition.NEXT_TURN:
            turn_counts.clear()
        assert turn_counts[Transition.REACTIVE_COMPACT_RETRY] <= 1
        assert turn_counts[Transition.STREAM_RETRY] <= 6
        assert turn_counts[Transition.MAX_OUTPUT_TOKENS_RECOVERY] <= 3
    assert run_counts[Transition.MODEL_FALLBACK] <= 1
    assert run_counts[Transition.MAX_OUTPUT_TOKENS_ESCALATE] <= 1
    assert run_counts[Transition.REACTIVE_COMPACT_RETRY] <= 5


def _lost_attempts_leave_nothing(notices: Sequence[Notice], player: Player) -> None:
    """No result of a message that was thrown away ever comes back."""
    kept = {id_ for notice in notices if isinstance(notice, AssistantSaid) for id_ in _calls(notice.message)}
    sent = {
        block["tool_use_id"]
        for body in player.bodies
        for message in body["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    assert sent <= kept


def test_two_thousand_random_fault_sequences_end_within_the_caps() -> None:
    chance = random.Random(20_261_118)  # noqa: S311 - the same dice every time
    faults = [*FailureKind, *STOPS, "tool_use", "tool_use"]
    reasons = Counter[str]()
    for _ in range(2_000):
        # A few kinds of fault for each sequence, so that the same one comes often enough to reach its cap.
        kinds = chance.sample(faults, k=chance.randint(1, 4))
        script = [
            Play(chance.choice([(), ("look",), ("text", "look"), ("think",), ("text",)]), chance.choice(kinds))
            for _ in range(chance.randint(1, 30))
        ]
        player, _, notices = run(script, min_tokens=chance.choice([None, 2_000]), checked=False)
        _repairs_stay_within_their_caps(notices)
        assert len(player.requests) <= 40 + 30 + 10 + 30
        reasons[end(notices).reason.value] += 1
    # The dice met many ends, not only the first one of the table.
    assert len(reasons) >= 8, reasons


def test_terminal_is_the_last_notice_even_when_the_first_call_fails() -> None:
    _, _, notices = run([Play((), FailureKind.AUTH)])
    assert isinstance(notices[-1], Terminal)
