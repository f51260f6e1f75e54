"""A model or a proxy that answers what no sane one would: the history stays one that the API accepts."""

from __future__ import annotations

import pytest

from ci_agent.types.notices import AssistantSaid, Reason, ToolsAnswered
from tests.fakes.messages import FakeMessages, RawBlock, Reply, ServerToolUse, Text, ToolUse
from tests.loop.stage import Stage, end, grant, transitions

DONE = Reply([Text("It is the linker.")])


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "[[Infinity]]"])
async def test_number_that_json_does_not_know_is_a_wrong_call(stage: Stage, api: FakeMessages, number: str) -> None:
    api.queue(Reply([ToolUse("Look", raw=f'{{"name": "a", "seconds": {number}}}')]), DONE)
    notices = await stage.play()
    assert end(notices).text == "It is the linker."
    answered = next(notice for notice in notices if isinstance(notice, ToolsAnswered))
    assert answered.results[0].content == "the arguments are not valid JSON: a number is not finite"


@pytest.mark.parametrize("name", ["functions.Look", "Look ", "x" * 500, "\u202eLook", ""])
async def test_name_that_the_api_would_not_take_back_is_made_legal(stage: Stage, api: FakeMessages, name: str) -> None:
    api.queue(Reply([ToolUse(name, {"name": "a"})]), DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.COMPLETED
    answered = next(notice for notice in notices if isinstance(notice, ToolsAnswered))
    assert "there is no tool" in answered.results[0].content


async def test_calls_with_one_id_get_one_result_each(stage: Stage, api: FakeMessages) -> None:
    def twin(name: str) -> ToolUse:
        return ToolUse("Look", {"name": name}, id="toolu_1")

    api.queue(Reply([twin("a"), twin("b")]), Reply([twin("c")]), Reply([ToolUse("Look", {}, id="bad id")]), DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.COMPLETED
    results = [result for notice in notices if isinstance(notice, ToolsAnswered) for result in notice.results]
    assert [(result.tool_use_id, result.content) for result in results] == [
        ("toolu_1", "a done"),
        ("toolu_1_2", "b done"),
        ("toolu_1_3", "c done"),
        ("bad_id", " done"),
    ]


async def test_arguments_of_a_server_tool_go_back_with_it(stage: Stage, api: FakeMessages) -> None:
    found = RawBlock({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []})
    search = ServerToolUse("web_search", {"query": "slow linker"}, id="srvtoolu_1")
    api.queue(Reply([search, found, ToolUse("Look", {"name": "a"})]), DONE)
    notices = await stage.play()
    assert end(notices).reason is Reason.COMPLETED
    sent = api.bodies[-1]["messages"][1]["content"][0]
    assert (sent["type"], sent["input"]) == ("server_tool_use", {"query": "slow linker"})


@pytest.mark.parametrize(
    "reply",
    [
        Reply([Text("hello")], usage={"input_tokens": -900_000, "output_tokens": 3}),
        Reply([Text("hello")], usage={"input_tokens": [], "output_tokens": 3}),
        Reply([Text("hello")], stop_reason=["end_turn"]),  # type: ignore[arg-type]
    ],
    ids=["negative", "list", "stop-reason"],
)
async def test_answer_with_values_of_another_shape_is_no_answer(stage: Stage, api: FakeMessages, reply: Reply) -> None:
    stage.grant = grant(budget_tokens=1_000_000)
    api.queue(reply, DONE)
    notices = await stage.play()
    assert transitions(notices) == ["stream_retry"]
    assert end(notices).text == "It is the linker."
    assert end(notices).usage.input_tokens >= 0
    said = [notice.message.text for notice in notices if isinstance(notice, AssistantSaid)]
    assert said == ["It is the linker."]
