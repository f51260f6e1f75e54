"""Requests that the fake Messages API refuses, as the real one does."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import pytest

from tests.fakes.messages import FakeMessages, Reply, Text, ToolUse
from tests.fakes.messages.client import HEADERS, HELLO, MODEL, READ, ask, post

GOOD: dict[str, Any] = {"model": MODEL, "max_tokens": 4096, "messages": [HELLO]}
MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}


def call(identity: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "Read", "input": {}, **more}


def result(identity: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, **more}


def text(value: Any = "x", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def talk(*messages: Any) -> dict[str, Any]:
    return {"messages": [HELLO, *messages]}


def tool(**more: Any) -> dict[str, Any]:
    return {"tools": [{**READ, **more}]}


def schema(**more: Any) -> dict[str, Any]:
    return tool(input_schema={"type": "object", **more})


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"temprature": 1}, "temprature: Extra inputs are not permitted"),
    "empty model": ({"model": ""}, "model: String should have at least 1 character"),
    "max_tokens is a string": ({"max_tokens": "9"}, "max_tokens: Input should be a valid integer"),
    "max_tokens is true": ({"max_tokens": True}, "max_tokens: Input should be a valid integer"),
    "max_tokens is zero": ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
    "stream is a string": ({"stream": "yes"}, "stream: Input should be a valid boolean"),
    "messages is an object": ({"messages": {}}, "messages: Input should be a valid list"),
    "no messages": ({"messages": []}, "messages: at least one message is required"),
    "a message is a string": (talk("x"), "messages.1: Input should be a valid dictionary"),
    "a message without role": (talk({"content": "x"}), "messages.1.role: Field required"),
    "a message without content": (talk({"role": "user"}), "messages.1.content: Field required"),
    "a message with another key": (talk({**HELLO, "id": 1}), "messages.1.id: Extra inputs are not permitted"),
    "an unknown role": (talk({"role": "tool", "content": "x"}), "messages.1.role: Input should be"),
    "the assistant speaks first": ({"messages": [assistant(text()), HELLO]}, 'must use the "user" role'),
    "the assistant speaks last": (talk(assistant(text())), "must end with a user message"),
    "content is a number": (talk({"role": "user", "content": 1}), "messages.1.content: Input should be"),
    "content is empty": (
        talk({"role": "user", "content": ""}),
        "messages.1: all messages must have non-empty",
    ),
    "content has no blocks": (
        talk(assistant(), HELLO),
        "messages.1: all messages must have non-empty content",
    ),
    "an empty text": (talk(user(text(""))), "messages: text content blocks must be non-empty"),
    "a blank text": (
        talk(user(text(" \n"))),
        "messages: text content blocks must contain non-whitespace text",
    ),
    "an empty text in a result": (
        talk(assistant(call()), user(result(content=[text("")]))),
        "messages: text content blocks must be non-empty",
    ),
    "an empty text in system": ({"system": [text("")]}, "system: text content blocks must be non-empty"),
    "system is a number": ({"system": 1}, "system: Input should be"),
    "system has an image": ({"system": [{"type": "image"}]}, "system.0: Input tag 'image'"),
    "a block is a string": (talk(user("x")), "messages.1.content.0: Input should be a valid dictionary"),
    "a block without type": (talk(user({"text": "x"})), "messages.1.content.0.type: Field required"),
    "an unknown block": (
        talk(user({"type": "txt"})),
        "messages.1.content.0: Input tag 'txt' found using 'type'",
    ),
    "an unknown key in a block": (
        talk(user(text(id=1))),
        "content.0.text.id: Extra inputs are not permitted",
    ),
    "a key missing in a block": (
        talk(user({"type": "text"})),
        "messages.1.content.0.text.text: Field required",
    ),
    "a wrong type in a block": (talk(user(text(1))), "content.0.text.text: Input should be a valid string"),
    "a tool input that is a list": (
        talk(assistant(call(input=[])), user(result())),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "an unknown block in a result": (
        talk(assistant(call()), user(result(content=[{"type": "thinking"}]))),
        "messages.2.content.0.tool_result.content.0: Input tag 'thinking'",
    ),
    "a failed result that says nothing": (
        talk(assistant(call()), user(result(is_error=True, content=""))),
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    ),
    "a call by the user": (talk(user(call())), "`tool_use` blocks can only be in `assistant` messages"),
    "a result by the assistant": (
        talk(assistant(result())),
        "`tool_result` blocks can only be in `user` messages",
    ),
    "a call in a system message": (
        talk({"role": "system", "content": [call()]}),
        "`system` messages can only have `text` blocks",
    ),
    "a call with a strange id": (
        talk(assistant(call("a b")), user(result("a b"))),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "a call with a strange name": (
        talk(assistant(call(name="Re ad")), user(result())),
        "messages.1.content.0.tool_use.name: String should match pattern",
    ),
    "a call without its result": (
        talk(assistant(text(), call("t1"), call("t2"), call("t3")), user(result("t2"))),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1, t3. Each",
    ),
    "a call at the very end": (
        talk(assistant(call())),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1.",
    ),
    "a result that comes too late": (
        talk(assistant(call()), user(text()), user(result())),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1.",
    ),
    "a result behind a text": (
        talk(assistant(call()), user(text(), result())),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1.",
    ),
    "a result nobody asked for": (
        talk(assistant(text()), user(result("t9"))),
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t9.",
    ),
    "a result at the very start": (
        {"messages": [user(result("t9"))]},
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t9.",
    ),
    "two results for one call": (
        talk(assistant(call()), user(result(), result())),
        "messages.2.content.1: each tool_use must have a single result. Found multiple",
    ),
    "one id for two calls": (
        talk(assistant(call()), user(result()), assistant(call()), user(result())),
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "one id twice in a message": (
        talk(assistant(call(), call()), user(result())),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    "tools is an object": ({"tools": {}}, "tools: Input should be a valid list"),
    "a tool without schema": (
        {"tools": [{"name": "Read"}]},
        "tools.0.custom.input_schema: Field required",
    ),
    "an unknown key in a tool": (
        tool(parameters={}),
        "tools.0.custom.parameters: Extra inputs are not permitted",
    ),
    "an unknown kind of tool": (tool(type="magic"), "tools.0: Input tag 'magic'"),
    "a tool name with a dot": (tool(name="a.b"), "tools.0.custom.name: String should match pattern"),
    "a tool name too long": (tool(name="a" * 129), "tools.0.custom.name: String should match pattern"),
    "two tools of one name": ({"tools": [READ, READ]}, "tools: Tool names must be unique."),
    "a schema without type": (tool(input_schema={}), "tools.0.custom.input_schema.type: Field required"),
    "a schema of a list": (
        schema(type="array"),
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    "a schema with a choice on top": (
        schema(anyOf=[]),
        "does not support oneOf, allOf, or anyOf at the top level",
    ),
    "a schema with a strange property": (
        schema(properties={"a b": {}}),
        "Property keys should match pattern",
    ),
    "a schema that is none": (
        schema(properties={"a": {"type": "text"}}),
        "tools.0.custom.input_schema: JSON schema is invalid",
    ),
    "a choice without tools": ({"tool_choice": {"type": "auto"}}, "only be specified while providing tools"),
    "a choice of a missing tool": (
        {**tool(), "tool_choice": {"type": "tool", "name": "Write"}},
        "tool_choice: Tool 'Write' not found in provided tools",
    ),
    "an unknown choice": ({**tool(), "tool_choice": {"type": "maybe"}}, "tool_choice: Input tag 'maybe'"),
    "a thinking budget too small": (
        {"thinking": {"type": "enabled", "budget_tokens": 1023}},
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "a thinking budget too large": (
        {"thinking": {"type": "enabled", "budget_tokens": 4096}},
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "thinking without a budget": (
        {"thinking": {"type": "enabled"}},
        "thinking.enabled.budget_tokens: Field required",
    ),
    "a thinking budget in quotes": (
        {"thinking": {"type": "enabled", "budget_tokens": "2048"}},
        "thinking.enabled.budget_tokens: Input should be a valid integer",
    ),
    "thinking and a forced tool": (
        {**tool(), "thinking": {"type": "adaptive"}, "tool_choice": {"type": "any"}},
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "an unknown effort": ({"output_config": {"effort": "huge"}}, "output_config.effort: Input should be"),
    "an unknown key in metadata": (
        {"metadata": {"user": "x"}},
        "metadata.user: Extra inputs are not permitted",
    ),
    "five cache marks": (
        {**tool(**MARK), "system": [text(**MARK)] * 2, **talk(user(text(**MARK), text(**MARK)))},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "the fifth mark is automatic": (
        {"system": [text(**MARK)] * 4, **MARK},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "the fifth mark is inside a result": (
        {"system": [text(**MARK)] * 4, **talk(assistant(call()), user(result(content=[text(**MARK)])))},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "a long mark after a short one": (
        {"system": [text(**MARK), text(cache_control={"type": "ephemeral", "ttl": "1h"})]},
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
    ),
    "an unknown mark": (
        {"system": [text(cache_control={"type": "forever"})]},
        "system.0.text.cache_control.type: Input should be 'ephemeral'",
    ),
    "an unknown key in a mark": (
        {"system": [text(cache_control={"type": "ephemeral", "scope": "global"})]},
        "system.0.text.cache_control.scope: Extra inputs are not permitted",
    ),
    "a mark on thinking": (
        talk(assistant({"type": "thinking", "thinking": "", "signature": "", **MARK}, text()), HELLO),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
}

ACCEPTED: dict[str, dict[str, Any]] = {
    "the least": {},
    "several users in a row": talk(HELLO, HELLO),
    "a system message in between": talk({"role": "system", "content": "Be brief."}, HELLO),
    "two calls and their results, then a text": {
        **tool(),
        **talk(assistant(text(), call("t1"), call("t2")), user(result("t2"), result("t1", content="y"), text())),
    },
    "a result with an image": talk(
        assistant(call()),
        user(
            result(content=[{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}])
        ),
    ),
    "a paused turn comes back": talk(
        assistant({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}})
    ),
    "four marks": {**tool(**MARK), "system": [text(**MARK)] * 2, **talk(user(text(**MARK)))},
    "a long mark before a short one": {
        "system": [text(cache_control={"type": "ephemeral", "ttl": "1h"}), text(**MARK)]
    },
    "thinking": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "adaptive thinking and effort": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
    "a tool of the server": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "a chosen tool": {**tool(), "tool_choice": {"type": "tool", "name": "Read"}},
    "empty system": {"system": ""},
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_api_refuses(name: str) -> None:
    change, message = REFUSED[name]
    with FakeMessages(allow_invalid=True) as api:
        api.queue(Reply([Text("never sent")]))
        status, answer = post(api, {**GOOD, **change})
        assert api.pending == 1
    error = answer["error"]
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert message in error["message"]
    assert [refused.message for refused in api.refusals] == [error["message"]]


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_api_accepts(name: str) -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("fine")]))
        status, answer = post(api, {**GOOD, **ACCEPTED[name]})
    assert (status, answer["type"]) == (200, "message")


@pytest.mark.parametrize("field", ["model", "max_tokens", "messages"])
def test_a_missing_field_is_named(field: str) -> None:
    with FakeMessages(allow_invalid=True) as api:
        status, answer = post(api, {key: value for key, value in GOOD.items() if key != field})
    assert status == 400
    assert answer["error"]["message"] == f"{field}: Field required"


@pytest.mark.parametrize(
    ("raw", "message"),
    [(b"{", "The request body is not valid JSON"), (b"[]", "Input should be a valid dictionary")],
)
def test_a_body_that_is_no_object_is_refused(raw: bytes, message: str) -> None:
    with FakeMessages(allow_invalid=True) as api:
        status, answer = post(api, raw)
    assert status == 400
    assert message in answer["error"]["message"]


async def test_a_body_may_come_in_chunks() -> None:
    async def pieces() -> Any:
        for piece in json.dumps(GOOD).partition("max_tokens"):
            yield piece.encode()

    with FakeMessages() as api:
        api.queue(Reply([Text("fine")]))
        async with httpx2.AsyncClient() as client:
            response = await client.post(f"{api.url}/v1/messages", content=pieces(), headers=HEADERS)
    assert response.status_code == 200
    assert api.bodies == [GOOD]


async def test_an_invalid_request_fails_the_test_even_if_the_caller_copes() -> None:
    with (
        pytest.raises(AssertionError, match="max_tokens: Input should be"),
        FakeMessages() as api,
        pytest.raises(anthropic.BadRequestError, match="max_tokens: Input should be"),
    ):
        await ask(api, max_tokens=0)


async def test_the_sdk_sends_nothing_that_is_refused_when_a_reply_goes_back_as_it_came() -> None:
    with FakeMessages() as api:
        api.queue(Reply([Text("one"), ToolUse("Read", id="t1")]), Reply([Text("two")]))
        first = await ask(api, **tool())
        await ask(api, HELLO, first.to_param(), user(result("t1")), **tool())
    assert [block["type"] for block in api.bodies[1]["messages"][1]["content"]] == ["text", "tool_use"]


def test_counting_follows_the_same_rules_without_max_tokens() -> None:
    with FakeMessages(allow_invalid=True) as api:
        path = "/v1/messages/count_tokens"
        good, _ = post(api, {"model": MODEL, "messages": [HELLO]}, path)
        _, bad = post(api, GOOD, path)
        _, empty = post(api, {"model": MODEL, "messages": []}, path)
    assert good == 200
    assert bad["error"]["message"] == "max_tokens: Extra inputs are not permitted"
    assert empty["error"]["message"] == "messages: at least one message is required"
