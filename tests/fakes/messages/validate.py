"""Everything a request must satisfy before the model is asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator, SchemaError  # type: ignore[import-untyped]

from tests.fakes.messages.conversation import check_conversation, check_text
from tests.fakes.messages.log import invalid
from tests.fakes.messages.shape import (
    BLOCKS,
    COUNT_FIELDS,
    CREATE_FIELDS,
    TOOLS,
    check,
    check_settings,
    check_tagged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_BREAKPOINTS = 4
MIN_THINKING_BUDGET = 1024
_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_PROPERTY = re.compile(r"^[a-zA-Z0-9_.-]{1,64}$")


def check_create(body: Any) -> None:
    """Refuse a body that `POST /v1/messages` would refuse."""
    _check_fields(body, ("model", "max_tokens", "messages"), CREATE_FIELDS)
    _check_max_tokens(body["max_tokens"])
    if not isinstance(body.get("stream", False), bool):
        raise invalid("stream: Input should be a valid boolean")
    _check_prompt(body)
    _check_thinking(body)


def check_count(body: Any) -> None:
    """Refuse a body that `POST /v1/messages/count_tokens` would refuse."""
    _check_fields(body, ("model", "messages"), COUNT_FIELDS)
    _check_prompt(body)


def _check_fields(body: Any, required: tuple[str, ...], known: frozenset[str]) -> None:
    if not isinstance(body, dict):
        raise invalid("Input should be a valid dictionary or object to extract fields from")
    for name in required:
        if name not in body:
            raise invalid(f"{name}: Field required")
    for name in body:
        if name not in known:
            raise invalid(f"{name}: Extra inputs are not permitted")
    if not isinstance(body["model"], str) or not body["model"]:
        raise invalid("model: String should have at least 1 character")


def _check_max_tokens(value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid("max_tokens: Input should be a valid integer")
    if value < 1:
        raise invalid("max_tokens: Input should be greater than or equal to 1")


def _check_prompt(body: dict[str, Any]) -> None:
    check_settings(body)
    _check_system(body.get("system", ""))
    _check_tools(body.get("tools", []))
    _check_tool_choice(body)
    check_conversation(body["messages"])
    _check_breakpoints(body)


def _check_system(system: Any) -> None:
    if not isinstance(system, str | list):
        raise invalid("system: Input should be a valid string or a valid list")
    for index, block in enumerate(system if isinstance(system, list) else ()):
        check_tagged({"text": BLOCKS["text"]}, block, f"system.{index}")
        check_text(block["text"], "system")


def _check_tools(tools: Any) -> None:
    if not isinstance(tools, list):
        raise invalid("tools: Input should be a valid list")
    names: set[str] = set()
    for index, tool in enumerate(tools):
        _check_tool(f"tools.{index}", tool)
        if tool.get("name") in names:
            raise invalid("tools: Tool names must be unique.")
        names |= {tool["name"]} if "name" in tool else set()


def _check_tool(where: str, tool: Any) -> None:
    if isinstance(tool, dict) and tool.get("type") not in (None, "custom"):
        check_tagged(TOOLS, tool, where)
        return
    check(TOOLS["custom"], tool, f"{where}.custom")
    if not _TOOL_NAME.match(tool["name"]):
        raise invalid(f"{where}.custom.name: String should match pattern '{_TOOL_NAME.pattern}'")
    _check_schema(f"{where}.custom.input_schema", tool["input_schema"])


def _check_schema(where: str, schema: dict[str, Any]) -> None:
    if "type" not in schema:
        raise invalid(f"{where}.type: Field required")
    if schema["type"] != "object":
        raise invalid(f"{where}.type: Input should be 'object'")
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        raise invalid(f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level")
    for name in schema.get("properties") or ():
        if not _PROPERTY.match(name):
            raise invalid(f"{where}.properties: Property keys should match pattern '{_PROPERTY.pattern}'")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        text = "JSON schema is invalid. It must match JSON Schema draft 2020-12"
        raise invalid(f"{where}: {text}: {error.message}") from error


def _check_tool_choice(body: Mapping[str, Any]) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    names = [tool.get("name") for tool in body.get("tools", [])]
    if not names:
        raise invalid("tool_choice: tool_choice may only be specified while providing tools")
    if choice["type"] == "tool" and choice["name"] not in names:
        raise invalid(f"tool_choice: Tool '{choice['name']}' not found in provided tools")


def _check_thinking(body: Mapping[str, Any]) -> None:
    thinking = body.get("thinking") or {"type": "disabled"}
    if thinking["type"] == "disabled":
        return
    if thinking["type"] == "enabled":
        budget = thinking["budget_tokens"]
        if budget < MIN_THINKING_BUDGET:
            raise invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if budget >= body["max_tokens"]:
            raise invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        raise invalid("Thinking may not be enabled when tool_choice forces tool use.")


def _check_breakpoints(body: Mapping[str, Any]) -> None:
    markers = [marker.get("ttl", "5m") for marker in _markers(body)]
    if len(markers) > MAX_BREAKPOINTS:
        raise invalid(
            f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {len(markers)}."
        )
    if "5m" in markers and "1h" in markers[markers.index("5m") :]:
        raise invalid("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")


def _markers(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All cache markers in the order of the prompt; the automatic one stands for the last block."""
    system = body.get("system")
    owners = [*body.get("tools", []), *(system if isinstance(system, list) else ())]
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            inner = block.get("content")
            owners += [*(inner if isinstance(inner, list) else ()), block]
    for owner in [*owners, body]:
        if owner.get("cache_control") is not None:
            yield owner["cache_control"]
