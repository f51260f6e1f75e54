"""Every way to go on and every end, driven through the fake Messages API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from ci_agent.loop.recovery import TABLE, Attempts, Outcome, decide
from ci_agent.loop.repairs import ESCALATED_TOKENS, Pace
from ci_agent.loop.run import MAX_OUTPUT_TOKENS
from ci_agent.types.hooks import GO_ON, HookAction, HookAnswer
from ci_agent.types.messages import ToolUseBlock
from ci_agent.types.notices import (
    AssistantSaid,
    Compacted,
    Continued,
    Decided,
    ModelCalled,
    Notice,
    Reason,
    ToolProgress,
    ToolsAnswered,
    Transition,
)
from ci_agent.types.notices import Stage as ToolStage
from ci_agent.types.tools import ToolResult
from tests.fakes.messages import (
    Drop,
    FakeMessages,
    HttpError,
    RawBlock,
    Reply,
    ServerToolUse,
    Text,
    Thinking,
    ToolUse,
    bad_gateway,
    prompt_too_long,
)
from tests.fakes.messages.catalogue import Abilities
from tests.loop.stage import GOAL, Stage, end, grant, models, sent_texts, transitions

FALLBACK = "claude-opus-5-5"
OVERLOADED = HttpError(529, "overloaded_error")
DONE = Reply([Text("It is the linker.")])
CUT = Reply([Text("First half, ")], stop_reason="max_tokens")


def look(name: str = "a", seconds: float = 0.0) -> ToolUse:
    return ToolUse("Look", {"name": name, "seconds": seconds})


async def test_answer_ends_the_run(stage: Stage, api: FakeMessages) -> None:
    api.queue(DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.COMPLETED
    assert end(notices).text == "It is the linker."
    assert transitions(notices) == []


async def test_tools_lead_to_the_next_turn(stage: Stage, api: FakeMessages) -> None:
    api.queue(Reply([Text("Looking."), look()]), DONE)
    notices = await stage.play()
    assert transitions(notices) == ["next_turn"]
    assert end(notices).turns == 2
    assert [type(notice) for notice in notices if not isinstance(notice, ModelCalled)][-4:-1] == [
        ToolsAnswered,
        Continued,
        AssistantSaid,
    ]


async def test_rate_limit_waits_as_long_as_the_api_says(stage: Stage, api: FakeMessages) -> None:
    api.queue(HttpError(429, "rate_limit_error", headers={"retry-after": "0.25"}), DONE)
    stage.pace = Pace(rate_limit_base=99, base=99)
    notices = await stage.play()
    assert end(notices).reason is Reason.COMPLETED
    assert [(n.transition, n.wait_seconds) for n in notices if isinstance(n, Continued)] == [
        (Transition.RATE_LIMIT_WAIT, 0.25)
    ]
    times = [request.time for request in api.requests if request.creates_message]
    assert times[1] - times[0] >= 0.25


async def test_rate_limit_longer_than_the_run_has_left_ends_it_at_once(stage: Stage, api: FakeMessages) -> None:
    api.queue(HttpError(429, "rate_limit_error", headers={"retry-after": "3600"}))
    notices = await stage.play()
    assert end(notices).reason is Reason.MODEL_ERROR
    assert "asks to wait 3600 s" in end(notices).detail


async def test_rate_limit_without_end_is_given_up(stage: Stage, api: FakeMessages) -> None:
    api.respond(lambda request: HttpError(429, "rate_limit_error"))
    notices = await stage.play()
    assert transitions(notices) == ["rate_limit_wait"] * 6
    assert end(notices).reason is Reason.MODEL_ERROR
    assert end(notices).turns == 0


@pytest.mark.parametrize(
    "fault",
    [HttpError(500), bad_gateway(), Drop(), Reply([Text("half")], cut_after=3), OVERLOADED,
     Reply([Text("half")], error_after=3)],
    ids=["500", "502", "reset", "cut", "529", "overloaded-in-stream"],
)  # fmt: skip
async def test_passing_fault_is_tried_again(stage: Stage, api: FakeMessages, fault: Reply | HttpError | Drop) -> None:
    api.queue(fault, fault, DONE)
    notices = await stage.play()
    assert transitions(notices) == ["stream_retry"] * 2
    assert end(notices).reason is Reason.COMPLETED
    assert end(notices).turns == 1
    assert api.bodies[0] == api.bodies[1] == api.bodies[2]


async def test_lasting_fault_without_a_fallback_is_given_up_after_six_retries(stage: Stage, api: FakeMessages) -> None:
    api.respond(lambda request: HttpError(500, "api_error", "the database burns"))
    notices = await stage.play()
    assert transitions(notices) == ["stream_retry"] * 6
    assert end(notices).reason is Reason.MODEL_ERROR
    assert "the database burns" in end(notices).detail
    assert end(notices).reached


async def test_address_where_nothing_listens_was_never_reached(stage: Stage, api: FakeMessages) -> None:
    api.stop()
    notices = await stage.play()
    assert end(notices).reason is Reason.MODEL_ERROR
    assert not end(notices).reached


async def test_stalled_stream_is_cut_and_tried_again(stage: Stage, api: FakeMessages) -> None:
    stage.idle_seconds = 0.2
    api.queue(Reply([Text("half of an answer")], stall_after=3), DONE)
    notices = await stage.play()
    assert transitions(notices) == ["stream_retry"]
    assert end(notices).text == "It is the linker."


async def test_overload_falls_back_to_the_other_model(stage: Stage, api: FakeMessages) -> None:
    stage.grant = grant(fallback_model=FALLBACK)
    api.queue(Reply([Thinking("hm"), look()]), OVERLOADED, OVERLOADED, OVERLOADED, DONE)
    notices = await stage.play()
    assert transitions(notices) == ["next_turn", "stream_retry", "stream_retry", "model_fallback"]
    assert models(notices)[-1] == FALLBACK
    assert end(notices).reason is Reason.COMPLETED
    # The other model did not write the reasoning, so its signature must not come back.
    kinds = [block["type"] for message in api.bodies[-1]["messages"] for block in message["content"]]
    assert kinds == ["text", "tool_use", "tool_result"]


async def test_failure_in_the_middle_drops_the_message_and_its_results(stage: Stage, api: FakeMessages) -> None:
    broken = Reply([Thinking("hm"), Text("I will look."), look("lost"), Text("x" * 400)], error_after=30)
    api.queue(broken, broken, broken, Reply([look("kept")]), DONE)
    stage.grant = grant(fallback_model=FALLBACK)
    notices = await stage.play()
    assert transitions(notices) == ["stream_retry", "stream_retry", "model_fallback", "next_turn"]
    assert len(api.bodies[3]["messages"]) == 1
    assert "lost" not in sent_texts(api.bodies[4])
    assert [n.message.text for n in notices if isinstance(n, AssistantSaid)] == ["", "It is the linker."]


async def test_effects_of_a_lost_attempt_are_told(stage: Stage, api: FakeMessages) -> None:
    change = ToolUse("Change", {"file_path": "a.py"})
    api.queue(Reply([change, look(), Text("x" * 4000)], chunk=4, pause=0.001, error_after=300), DONE)
    notices = await stage.play()
    assert transitions(notices) == ["stream_retry"]
    assert stage.log.lines[0] == "changed a.py"
    told = sent_texts(api.bodies[1])
    assert "had already begun" in told
    assert "a.py" in told
    assert "Look" not in told


async def test_long_output_is_escalated_once_without_a_message(stage: Stage, api: FakeMessages) -> None:
    api.queue(CUT, DONE)
    notices = await stage.play()
    assert transitions(notices) == ["max_output_tokens_escalate"]
    assert [body["max_tokens"] for body in api.bodies] == [MAX_OUTPUT_TOKENS, ESCALATED_TOKENS]
    assert api.bodies[0]["messages"] == api.bodies[1]["messages"]
    assert end(notices).text == "It is the linker."


async def test_output_beyond_the_larger_cap_is_resumed_and_joined(stage: Stage, api: FakeMessages) -> None:
    api.queue(CUT, CUT, Reply([Text("second half, ")], stop_reason="max_tokens"), Reply([Text("end.")]))
    notices = await stage.play()
    assert transitions(notices) == ["max_output_tokens_escalate", *["max_output_tokens_recovery"] * 2]
    assert end(notices).text == "First half, second half, end."
    assert "Resume directly" in sent_texts(api.bodies[2])


async def test_output_that_never_ends_is_given_up_after_three_resumes(stage: Stage, api: FakeMessages) -> None:
    api.respond(lambda request: CUT)
    notices = await stage.play()
    assert transitions(notices) == ["max_output_tokens_escalate", *["max_output_tokens_recovery"] * 3]
    assert end(notices).reason is Reason.MAX_OUTPUT_TOKENS
    assert end(notices).text == ("First half, " * 4).strip()


async def test_call_that_was_cut_is_dropped_and_the_whole_one_answered(stage: Stage, api: FakeMessages) -> None:
    half = Reply([look("whole"), ToolUse("Look", raw='{"name": "ha')], stop_reason="max_tokens")
    api.queue(CUT, half, DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.COMPLETED
    results = [len(notice.results) for notice in notices if isinstance(notice, ToolsAnswered)]
    assert results == [1]


async def test_cancelled_in_a_message_that_was_cut_ends_the_run_at_once(stage: Stage, api: FakeMessages) -> None:
    api.queue(CUT, Reply([Text("Half."), look("slow", 60)], stop_reason="max_tokens"))
    notices = await stage.play(cut_when(stage, lambda notice: isinstance(notice, AssistantSaid)))
    assert end(notices).reason is Reason.CANCELLED_TOOLS
    assert transitions(notices) == ["max_output_tokens_escalate"]


async def test_reasoning_that_fills_the_whole_output_is_no_message(stage: Stage, api: FakeMessages) -> None:
    only_thoughts = Reply([Thinking("hm")], stop_reason="max_tokens")
    api.queue(only_thoughts, only_thoughts, DONE)
    notices = await stage.play()
    assert transitions(notices) == ["max_output_tokens_escalate", "max_output_tokens_recovery"]
    assert end(notices).text == "It is the linker."


async def test_long_prompt_is_drained_then_compacted_then_surfaced(stage: Stage, api: FakeMessages) -> None:
    too_long = prompt_too_long()
    stage.size = 5_000
    api.queue(
        *[Reply([Text(f"Step {n}."), look(f"file{n}")]) for n in range(4)],
        too_long, too_long, Reply([Text("Notes: four files read.")]), too_long,
    )  # fmt: skip
    notices = await stage.play()
    assert transitions(notices)[4:] == ["collapse_drain_retry", "reactive_compact_retry"]
    assert end(notices).reason is Reason.PROMPT_TOO_LONG
    sizes = [len(str(api.bodies[index]["messages"])) for index in (4, 5, 7)]
    assert sizes[0] > sizes[1] > 0
    assert api.bodies[6]["model"] == stage.grant.light_model
    assert "Notes: four files read." in sent_texts(api.bodies[7])
    assert all(GOAL in sent_texts(body) for body in api.bodies)
    assert [n.boundary.value for n in notices if isinstance(n, Compacted)] == ["microcompact", "collapse", "compact"]


async def test_long_prompt_that_fits_after_the_drain_goes_on(stage: Stage, api: FakeMessages) -> None:
    stage.size = 5_000
    api.queue(*[Reply([look(f"file{n}")]) for n in range(4)], prompt_too_long(), DONE)
    notices = await stage.play()
    assert transitions(notices)[4:] == ["collapse_drain_retry"]
    assert end(notices).reason is Reason.COMPLETED


async def test_long_first_message_cannot_be_helped(stage: Stage, api: FakeMessages) -> None:
    api.queue(prompt_too_long())
    notices = await stage.play()
    assert (transitions(notices), end(notices).reason) == ([], Reason.PROMPT_TOO_LONG)


async def test_full_window_drops_the_cut_message_and_makes_room(stage: Stage, api: FakeMessages) -> None:
    full = Reply([Text("cut off he")], stop_reason="model_context_window_exceeded")
    stage.size = 5_000
    api.queue(*[Reply([look(f"file{n}")]) for n in range(3)], full, DONE)
    notices = await stage.play()
    assert transitions(notices)[3:] == ["collapse_drain_retry"]
    assert "cut off he" not in sent_texts(api.bodies[-1])


async def test_failing_summary_is_replaced_by_the_plain_record(stage: Stage, api: FakeMessages) -> None:
    stage.size = 5_000
    steps = [Reply([look(f"file{n}")]) for n in range(4)]
    api.queue(*steps, prompt_too_long(), prompt_too_long(), HttpError(500, "api_error", "no"), DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.COMPLETED
    compacted = [notice for notice in notices if isinstance(notice, Compacted)][-1]
    assert "gave no summary" in compacted.text
    assert "file0" in sent_texts(api.bodies[-1])


@pytest.mark.parametrize(
    ("answer", "kept", "said"),
    [
        (Reply([Text("I cannot help.")], stop_reason="refusal"), "file0", "gave no summary (it stopped with refusal)"),
        (
            Reply([Text("Four files")], stop_reason="max_tokens"),
            "Four files\n\n[The notes were cut here.]",
            "Four files",
        ),
        (Reply([Text(" ")], stop_reason="max_tokens"), "file0", "gave no summary (it wrote nothing)"),
    ],
    ids=["refused", "cut", "blank"],
)
async def test_summary_that_is_none_does_not_replace_the_work(
    stage: Stage, api: FakeMessages, answer: Reply, kept: str, said: str
) -> None:
    stage.size = 5_000
    steps = [Reply([look(f"file{n}")]) for n in range(4)]
    api.queue(*steps, prompt_too_long(), prompt_too_long(), answer, DONE)
    notices = await stage.play()
    assert kept in sent_texts(api.bodies[-1])
    assert said in [notice for notice in notices if isinstance(notice, Compacted)][-1].text


async def test_file_that_a_lost_message_changed_is_not_forgotten(stage: Stage, api: FakeMessages) -> None:
    stage.size = 5_000
    lost = Reply([ToolUse("Change", {"file_path": "src/lost.c"}), Text("abc " * 50)], error_after=14, pause=0.02)
    api.queue(lost, *[Reply([look(f"file{n}")]) for n in range(4)], prompt_too_long(), DONE)
    notices = await stage.play()
    assert stage.log.lines[0] == "changed src/lost.c"
    assert end(notices).reason is Reason.COMPLETED
    assert "Files changed so far:\n- src/lost.c" in sent_texts(api.bodies[-1])


async def test_pause_without_a_server_tool_is_answered(stage: Stage, api: FakeMessages) -> None:
    api.queue(Reply([Text("Wait.")], stop_reason="pause_turn"), DONE)
    notices = await stage.play()
    assert transitions(notices) == ["pause_turn_resume"]
    assert api.bodies[1]["messages"][-1]["role"] == "user"
    assert end(notices).reason is Reason.COMPLETED


async def test_paused_turn_is_resumed(stage: Stage, api: FakeMessages) -> None:
    search = ServerToolUse("web_search", {"query": "linker"}, id="srvtoolu_1")
    found = RawBlock({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []})
    api.queue(Reply([search], stop_reason="pause_turn"), Reply([found, Text("It is the linker.")]))
    notices = await stage.play()
    assert transitions(notices) == ["pause_turn_resume"]
    assert api.bodies[1]["messages"][-1]["role"] == "assistant"
    assert end(notices).reason is Reason.COMPLETED


async def test_turn_that_pauses_for_ever_is_given_up(stage: Stage, api: FakeMessages) -> None:
    api.respond(lambda request: Reply([ServerToolUse("web_search", {"query": "x"})], stop_reason="pause_turn"))
    notices = await stage.play()
    assert transitions(notices) == ["pause_turn_resume"] * 10
    assert end(notices).reason is Reason.MODEL_ERROR


async def test_refusal_ends_the_run(stage: Stage, api: FakeMessages) -> None:
    api.queue(Reply([Text("I can't")], stop_reason="refusal", stop_details={"type": "refusal", "category": "cyber"}))
    notices = await stage.play()
    assert end(notices).reason is Reason.REFUSAL
    assert "cyber" in end(notices).detail


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (HttpError(401, "authentication_error", "invalid x-api-key"), Reason.AUTH_ERROR),
        (HttpError(400, "invalid_request_error", "tools.0: bad"), Reason.INVALID_REQUEST),
        (HttpError(400, "invalid_request_error", "Could not process image"), Reason.IMAGE_ERROR),
    ],
)
async def test_fault_that_trying_again_cannot_mend_ends_the_run(
    stage: Stage, api: FakeMessages, fault: HttpError, reason: Reason
) -> None:
    api.queue(fault)
    notices = await stage.play()
    assert (transitions(notices), end(notices).reason) == ([], reason)
    assert fault.message in end(notices).detail


async def test_empty_message_is_asked_for_again_then_an_error(stage: Stage, api: FakeMessages) -> None:
    api.queue(Reply([]), Reply([Text("  \n")]), DONE)
    assert end(await stage.play()).reason is Reason.COMPLETED
    stage.meter = None
    api.queue(Reply([]), Reply([]), Reply([]))
    notices = await stage.play()
    assert end(notices).reason is Reason.MODEL_ERROR
    assert "without writing an answer" in end(notices).detail


@pytest.mark.parametrize(
    "call",
    [ToolUse("Look", raw='{"name": '), ToolUse("Look", {"wrong": 1}), ToolUse("Lok", {}), ToolUse("Fail", {})],
    ids=["bad-json", "wrong-arguments", "unknown-tool", "bug"],
)
async def test_call_that_cannot_work_is_an_error_for_the_model(stage: Stage, api: FakeMessages, call: ToolUse) -> None:
    api.queue(Reply([call]), DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.COMPLETED
    result = api.bodies[1]["messages"][-1]["content"][0]
    assert result["is_error"]
    if call.name == "Lok":
        assert "did you mean Look?" in result["content"]


async def test_tool_that_keeps_failing_is_warned_of_and_then_ends_the_run(stage: Stage, api: FakeMessages) -> None:
    api.respond(lambda request: Reply([Text("Again."), ToolUse("Fail", {})]))
    notices = await stage.play()
    assert end(notices).reason is Reason.TOOL_FAILURES
    assert end(notices).detail == "Fail failed 6 times in a row"
    assert len(api.bodies) == 6
    assert "failed 3 times in a row" not in sent_texts(api.bodies[2])
    assert "failed 3 times in a row" in sent_texts(api.bodies[3])


async def test_many_failures_in_one_message_are_one_try(stage: Stage, api: FakeMessages) -> None:
    api.queue(Reply([ToolUse("Fail", {})] * 10), Reply([ToolUse("Fail", {})] * 10), DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.COMPLETED
    assert all(notice.notes == () for notice in notices if isinstance(notice, ToolsAnswered))


async def test_success_ends_a_row_of_failures(stage: Stage, api: FakeMessages) -> None:
    bad, good = Reply([ToolUse("Look", {"wrong": 1})]), Reply([look()])
    api.queue(*[bad] * 5, good, *[bad] * 5, DONE)
    assert end(await stage.play()).reason is Reason.COMPLETED


@dataclass
class Gate:
    """Hooks that a test scripts."""

    stops: list[HookAnswer]
    before: HookAnswer = GO_ON
    after: HookAnswer = GO_ON
    asked: int = 0

    async def before_tool(self, call: ToolUseBlock) -> HookAnswer:
        return self.before

    async def after_tool(self, call: ToolUseBlock, result: ToolResult) -> HookAnswer:
        return self.after

    async def on_stop(self, text: str) -> HookAnswer:
        self.asked += 1
        return self.stops.pop(0) if self.stops else GO_ON


def block(reason: str) -> HookAnswer:
    return HookAnswer(HookAction.BLOCK, reason)


async def test_stop_hook_may_ask_for_more_and_runs_once_per_stop(stage: Stage, api: FakeMessages) -> None:
    hooks = Gate([block("run the tests first")])
    stage.hooks = hooks
    api.queue(Reply([Text("Done?")]), HttpError(500), DONE)
    notices = await stage.play()
    assert transitions(notices) == ["stop_hook_blocking", "stream_retry"]
    assert "run the tests first" in sent_texts(api.bodies[1])
    assert hooks.asked == 2


async def test_stop_hook_that_never_agrees_ends_the_run(stage: Stage, api: FakeMessages) -> None:
    stage.hooks = Gate([block("no")] * 9)
    api.respond(lambda request: DONE)
    notices = await stage.play()
    assert transitions(notices) == ["stop_hook_blocking"] * 3
    assert end(notices).reason is Reason.STOP_HOOK_PREVENTED
    assert end(notices).text == "It is the linker."


async def test_stop_hook_may_end_the_run_as_failed(stage: Stage, api: FakeMessages) -> None:
    stage.hooks = Gate([HookAnswer(HookAction.END, "secret in the diff")])
    api.queue(DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.STOP_HOOK_PREVENTED
    assert "secret in the diff" in end(notices).detail


class Endless(Gate):
    """A stop hook that never answers."""

    async def on_stop(self, text: str) -> HookAnswer:
        await asyncio.sleep(60)
        return GO_ON


async def test_cancelled_while_a_stop_hook_runs(stage: Stage, api: FakeMessages) -> None:
    stage.hooks = Endless([])
    api.queue(DONE)
    notices = await stage.play(cut_when(stage, lambda notice: isinstance(notice, ModelCalled), seconds=0.5))
    assert end(notices).reason is Reason.CANCELLED_STREAMING
    assert end(notices).detail == "the job was cancelled"
    assert end(notices).text == "It is the linker."


async def test_deadline_while_a_stop_hook_runs(stage: Stage, api: FakeMessages) -> None:
    stage.hooks, stage.seconds = Endless([]), 0.6
    api.queue(DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.DEADLINE
    assert "the time limit" in end(notices).detail


class Impatient(Gate):
    """A stop hook with a timeout of its own that it forgot to catch."""

    async def on_stop(self, text: str) -> HookAnswer:
        raise TimeoutError("the linter")


async def test_bug_in_a_stop_hook_is_no_deadline(stage: Stage, api: FakeMessages) -> None:
    stage.hooks = Impatient([])
    api.queue(DONE)
    with pytest.raises(TimeoutError, match="the linter"):
        await stage.play()


async def test_hook_that_ends_the_run_is_heard_also_when_the_message_is_lost(stage: Stage, api: FakeMessages) -> None:
    stage.hooks = Gate([], before=HookAnswer(HookAction.END, "enough"))
    api.queue(Reply([look(), Text("abc " * 50)], error_after=12, pause=0.02), DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.HOOK_STOPPED
    assert "enough" in end(notices).detail
    assert len(api.bodies) == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_tool_hook_may_end_the_run(stage: Stage, api: FakeMessages, when: str) -> None:
    answer = HookAnswer(HookAction.END, "enough")
    stage.hooks = Gate([], before=answer) if when == "before" else Gate([], after=answer)
    api.queue(Reply([Text("Looking."), look()]))
    notices = await stage.play()
    assert end(notices).reason is Reason.HOOK_STOPPED
    assert "enough" in end(notices).detail
    assert stage.log.lines == ([] if when == "before" else ["begin a", "end a"])


async def test_hook_may_refuse_a_call_before_any_rule(stage: Stage, api: FakeMessages) -> None:
    stage.hooks = Gate([], before=block("not on Fridays"))
    api.queue(Reply([look()]), DONE)
    notices = await stage.play()
    decision = next(notice.decision for notice in notices if isinstance(notice, Decided))
    assert (decision.allowed, decision.source, decision.reason) == (False, "hook", "not on Fridays")


async def test_hook_may_object_to_a_result(stage: Stage, api: FakeMessages) -> None:
    stage.hooks = Gate([], after=block("lint it"))
    api.queue(Reply([look()]), DONE)
    await stage.play()
    result = api.bodies[1]["messages"][-1]["content"][0]
    assert result["is_error"]
    assert "a done" in result["content"]
    assert "lint it" in result["content"]


async def test_model_that_stops_early_is_asked_to_use_its_tokens(stage: Stage, api: FakeMessages) -> None:
    stage.grant = grant(min_tokens=100_000)
    api.respond(lambda request: Reply([Text("Nothing found.")], usage={"input_tokens": 100, "output_tokens": 900}))
    notices = await stage.play()
    assert transitions(notices) == ["token_budget_continuation"] * 3
    assert end(notices).reason is Reason.COMPLETED
    assert "of at least 100,000 tokens" in sent_texts(api.bodies[1])


async def test_model_with_nothing_more_to_say_is_left_alone(stage: Stage, api: FakeMessages) -> None:
    stage.grant = grant(min_tokens=100_000)
    api.respond(lambda request: DONE)
    assert transitions(await stage.play()) == ["token_budget_continuation"]


async def test_turns_run_out(stage: Stage, api: FakeMessages) -> None:
    stage.grant = grant(max_turns=5)
    api.respond(lambda request: Reply([Text("More."), look()]))
    notices = await stage.play()
    assert end(notices).reason is Reason.MAX_TURNS
    assert (end(notices).turns, len(api.bodies)) == (5, 5)
    assert "Wrap up now" not in sent_texts(api.bodies[3])
    assert sent_texts(api.bodies[4]).count("Wrap up now") == 1


async def test_money_runs_out(stage: Stage, api: FakeMessages) -> None:
    stage.grant = grant(budget_usd=0.01)
    used = {"input_tokens": 100, "output_tokens": 450}
    api.respond(lambda request: Reply([Text("More."), look()], usage=used))
    notices = await stage.play()
    assert end(notices).reason is Reason.BUDGET_USD
    assert len(api.bodies) == 3
    assert end(notices).text == "More."
    assert "$0.01 of $0.01" in sent_texts(api.bodies[2])


async def test_tokens_run_out_and_the_calls_of_the_last_message_get_results(stage: Stage, api: FakeMessages) -> None:
    stage.grant = grant(budget_tokens=1_000)
    api.respond(lambda request: Reply([look("z", 30)], usage={"input_tokens": 900, "output_tokens": 200}))
    notices = await stage.play()
    assert end(notices).reason is Reason.BUDGET_TOKENS
    answered = [notice for notice in notices if isinstance(notice, ToolsAnswered)]
    assert "the budget of 1,000 tokens is used up" in answered[0].results[0].content


async def test_summary_that_uses_up_the_budget_is_the_last_call(stage: Stage, api: FakeMessages) -> None:
    stage.size, stage.grant = 5_000, grant(budget_tokens=100_000)
    small = {"input_tokens": 10, "output_tokens": 1}
    steps = [Reply([look(f"file{n}")], usage=small) for n in range(4)]
    dear = Reply([Text("Notes.")], usage={"input_tokens": 200_000, "output_tokens": 1})
    api.queue(*steps, prompt_too_long(), prompt_too_long(), dear)
    notices = await stage.play()
    assert end(notices).reason is Reason.BUDGET_TOKENS
    assert len(api.bodies) == 7


async def test_answer_that_uses_up_the_budget_is_still_the_answer(stage: Stage, api: FakeMessages) -> None:
    stage.grant = grant(budget_tokens=10)
    api.queue(DONE)
    assert end(await stage.play()).reason is Reason.COMPLETED


async def test_deadline_while_the_model_speaks_keeps_what_was_heard(stage: Stage, api: FakeMessages) -> None:
    stage.seconds = 0.6
    api.queue(Reply([Text("It is probably the linker")], stall_after=4))
    notices = await stage.play()
    assert end(notices).reason is Reason.DEADLINE
    assert end(notices).text.startswith("It is probab")


async def test_deadline_while_waiting_for_a_retry(stage: Stage, api: FakeMessages) -> None:
    stage.seconds, stage.pace = 0.6, Pace(base=40, most=40)
    api.queue(HttpError(500))
    notices = await stage.play()
    assert end(notices).reason is Reason.DEADLINE
    # Said before the wait, not after it.
    assert transitions(notices) == ["stream_retry"]


async def test_network_that_drops_on_the_way_is_waited_for_longer(stage: Stage, api: FakeMessages) -> None:
    api.queue(Reply([look()]))

    def drop(notice: Notice) -> None:
        if isinstance(notice, ToolsAnswered):
            api.stop()

    notices = await stage.play(drop)
    assert transitions(notices) == ["next_turn", *["stream_retry"] * 6]
    assert end(notices).reason is Reason.MODEL_ERROR
    assert end(notices).reached


def cut_when(stage: Stage, holds: Callable[[Notice], bool], seconds: float = 0.1) -> Callable[[Notice], None]:
    """Cancels the run at the first notice that fits, as a signal would, a moment later."""

    def watch(notice: Notice) -> None:
        if holds(notice) and stage.deadline is not None:
            asyncio.get_running_loop().call_later(seconds, stage.deadline.cut)

    return watch


def is_finished_tool(notice: Notice) -> bool:
    return isinstance(notice, ToolProgress) and notice.stage is ToolStage.FINISHED


async def test_cancelled_while_the_model_speaks(stage: Stage, api: FakeMessages) -> None:
    api.queue(Reply([Text("It is"), look("quick"), Text("never")], stall_after=14))
    notices = await stage.play(cut_when(stage, is_finished_tool))
    assert end(notices).reason is Reason.CANCELLED_STREAMING
    results = next(notice.results for notice in notices if isinstance(notice, ToolsAnswered))
    assert [result.content for result in results] == ["quick done"]
    assert end(notices).text.startswith("It is")


async def test_cancelled_tools_leave_a_whole_history(stage: Stage, api: FakeMessages) -> None:
    api.queue(Reply([look("quick"), look("slow", 60), ToolUse("Alone", {"name": "later"})]))
    notices = await stage.play(cut_when(stage, lambda notice: isinstance(notice, AssistantSaid)))
    assert end(notices).reason is Reason.CANCELLED_TOOLS
    answered = next(notice for notice in notices if isinstance(notice, ToolsAnswered))
    assert [(r.content, r.is_error) for r in answered.results] == [
        ("quick done", False),
        ("Look did not finish: the job was cancelled.", True),
        ("Alone did not finish: the job was cancelled.", True),
    ]
    assert sorted(stage.log.lines) == ["begin quick", "begin slow", "cancelled slow", "end quick"]


def test_every_outcome_has_a_row_and_every_row_ends() -> None:
    assert set(TABLE) == set(Outcome)
    for outcome in Outcome:
        attempts, steps = Attempts(), 0
        while isinstance(verdict := decide(outcome, attempts, frozenset()), Transition):
            if verdict is Transition.NEXT_TURN:
                break
            attempts, steps = attempts.counted(verdict), steps + 1
        assert steps <= 12, outcome


def test_counts_of_a_turn_start_anew_and_those_of_the_run_never_do() -> None:
    attempts = Attempts().counted(Transition.STREAM_RETRY).counted(Transition.NEXT_TURN)
    assert attempts.turn == {}
    assert attempts.run == {Transition.STREAM_RETRY: 1, Transition.NEXT_TURN: 1}
    exhausted = replace(attempts, run={Transition.STREAM_RETRY: 30})
    assert decide(Outcome.INTERRUPTED, exhausted, frozenset({Transition.MODEL_FALLBACK})) is Reason.MODEL_ERROR


def test_pace_doubles_with_jitter_up_to_a_limit() -> None:
    pace = Pace(base=1.0, most=8.0)
    for attempt, longest in enumerate([1, 2, 4, 8, 8, 8]):
        waits = {pace.wait(Transition.STREAM_RETRY, attempt, None) for _ in range(20)}
        assert longest / 2 <= min(waits) < max(waits) <= longest
    assert pace.wait(Transition.STREAM_RETRY, 5, 0.5) == 0.5


async def test_a_turn_is_not_counted_for_what_was_lost(stage: Stage, api: FakeMessages) -> None:
    half = Reply([Text("half")], cut_after=3, usage={"input_tokens": 70, "output_tokens": 5})
    api.queue(half, Reply([Text("ok")], usage={"input_tokens": 70, "output_tokens": 5}))
    notices = await stage.play()
    assert end(notices).turns == 1
    assert end(notices).usage.input_tokens == 140
    lost = next(notice for notice in notices if isinstance(notice, Continued))
    assert lost.usage.input_tokens == 70
    assert stage.meter is not None
    assert [charge.purpose.value for charge in stage.meter.charges] == ["lost", "turn"]


@pytest.mark.parametrize("limits", [{"max_turns": 1}, {"budget_tokens": 50}], ids=["turns", "tokens"])
async def test_cut_answer_is_not_thrown_away_when_there_is_no_other_try(
    stage: Stage, api: FakeMessages, limits: dict[str, int]
) -> None:
    stage.grant = grant(**limits)
    api.queue(replace(CUT, usage={"input_tokens": 40, "output_tokens": 60}))
    notices = await stage.play()
    assert end(notices).reason in (Reason.MAX_TURNS, Reason.BUDGET_TOKENS)
    assert end(notices).text == "First half,"


async def test_model_that_cannot_write_longer_answers_is_asked_to_go_on(stage: Stage) -> None:
    with FakeMessages(abilities=replace(Abilities(), max_tokens=8_000)) as api:
        stage.api = api
        api.queue(CUT, Reply([Text("second half.")]))
        notices = await stage.play()
    assert transitions(notices) == ["max_output_tokens_recovery"]
    assert end(notices).text == "First half, second half."
