"""A model that plays random answers and faults, and checks each request as the API would."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from ci_agent.models.base import (
    BlockDone,
    Failed,
    FailureKind,
    Finished,
    ModelEvent,
    ModelFacts,
    Request,
    Started,
    TextDelta,
)
from ci_agent.models.requests import to_params
from ci_agent.types.messages import AssistantBlock, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from tests.fakes.messages.validate import check_create

FACTS = ModelFacts(context_tokens=12_000, max_output_tokens=64_000)
CALLED = Usage(input_tokens=100, output_tokens=20)
# Mid-stream endings for every kind of failure, and every stop reason that the API knows.
STOPS = ("end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal", "model_context_window_exceeded")


@dataclass(frozen=True, slots=True)
class Play:
    """One answer: its blocks, and how it ends after that many of them."""

    blocks: tuple[str, ...]
    ending: FailureKind | str
    retry_after: float | None = None


def plays() -> st.SearchStrategy[list[Play]]:
    """Random answers: text, reasoning, calls good and bad, ended in any way."""
    block = st.sampled_from(["text", "think", "look", "fail", "change", "alone", "unknown", "bad", "blank", "long"])
    ending = st.one_of(st.sampled_from(FailureKind), st.sampled_from(STOPS), st.just("tool_use"))
    play = st.builds(
        Play,
        st.lists(block, max_size=5).map(tuple),
        ending,
        st.sampled_from([None, None, 0.0, 1e9]),
    )
    return st.lists(play, max_size=25)


@dataclass
class Player:
    """Plays the answers in order, then a plain one for ever."""

    plays: list[Play]
    checked: bool = True
    requests: list[Request] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    billed: Usage = Usage()
    calls: int = 0

    async def describe(self, name: str) -> ModelFacts:
        return FACTS

    async def close(self) -> None:
        """Nothing to give back."""

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        if self.checked:
            body = to_params(request, FACTS)
            check_create(body)
            self.bodies.append(body)
        if not request.tools:
            self.billed += CALLED
            yield Started(request.model, usage=CALLED)
            yield BlockDone(TextBlock("Notes."))
            yield Finished("end_turn", CALLED)
            return
        play = self.plays.pop(0) if self.plays else Play(("text",), "end_turn")
        blocks = list(self._blocks(play))
        self.billed += CALLED
        yield Started(request.model, f"msg_{len(self.requests)}", usage=CALLED)
        for block in blocks:
            if isinstance(block, TextBlock):
                yield TextDelta(block.text)
            yield BlockDone(block)
        if isinstance(play.ending, FailureKind):
            yield Failed(play.ending, "scripted", play.retry_after, CALLED)
        else:
            yield Finished(play.ending, CALLED)

    def _blocks(self, play: Play) -> Iterator[AssistantBlock]:
        for kind in play.blocks:
            self.calls += 1
            yield _block(kind, self.calls)


def _block(kind: str, number: int) -> AssistantBlock:
    id_ = f"toolu_{number}"
    made: dict[str, AssistantBlock] = {
        "text": TextBlock(f"Text {number}."),
        "long": TextBlock(f"Text {number}. " + "z" * 6_000),
        "blank": TextBlock(""),
        "think": ThinkingBlock(f"thought {number}", "sig"),
        "look": ToolUseBlock(id_, "Look", {"name": id_}),
        "alone": ToolUseBlock(id_, "Alone", {"name": id_}),
        "change": ToolUseBlock(id_, "Change", {"file_path": id_}),
        "fail": ToolUseBlock(id_, "Fail", {}),
        "bad": ToolUseBlock(id_, "Look", {}, error="the arguments are not valid JSON"),
        "unknown": ToolUseBlock(id_, "Nothing", {"x": 1}),
    }
    return made[kind]
