"""Shapes of request objects, taken from the SDK's own parameter types."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args, get_type_hints

from anthropic import types
from anthropic.types import message_count_tokens_params, message_create_params
from pydantic import TypeAdapter, ValidationError

from tests.fakes.messages.log import invalid

# The SDK sends these two as headers.
_HEADER_FIELDS = {"user_profile_id", "workspace_id"}
CREATE_FIELDS = frozenset(message_create_params.MessageCreateParamsStreaming.__annotations__) - _HEADER_FIELDS
COUNT_FIELDS = frozenset(message_count_tokens_params.MessageCountTokensParams.__annotations__) - _HEADER_FIELDS


def _by_type(kinds: tuple[Any, ...]) -> dict[str, Any]:
    """Parameter types keyed by the values their `type` may have."""
    found = {}
    for kind in kinds:
        for value in _literals(get_type_hints(kind)["type"]):
            found[value] = kind
    return found


def _literals(annotation: Any) -> list[str]:
    """The strings inside `Required[Literal[...]]` or `Optional[Literal[...]]`."""
    arguments = get_args(annotation)
    strings = [value for value in arguments if isinstance(value, str)]
    return strings or [text for inner in arguments for text in _literals(inner)]


BLOCKS = _by_type(get_args(types.ContentBlockParam))
RESULT_BLOCKS = _by_type(get_args(types.tool_result_block_param.Content))
THINKING = _by_type(get_args(types.ThinkingConfigParam))
TOOL_CHOICES = _by_type(get_args(types.ToolChoiceParam))
TOOLS = _by_type(get_args(types.ToolUnionParam))

_SETTINGS: dict[str, Any] = {
    "cache_control": types.CacheControlEphemeralParam,
    "diagnostics": types.DiagnosticsParam,
    "metadata": types.MetadataParam,
    "output_config": types.OutputConfigParam,
}


def check_settings(body: dict[str, Any]) -> None:
    """The small objects of a request: known keys, right types."""
    for name, kind in _SETTINGS.items():
        if body.get(name) is not None:
            check(kind, body[name], name)
    for name, kinds in (("thinking", THINKING), ("tool_choice", TOOL_CHOICES)):
        if body.get(name) is not None:
            check_tagged(kinds, body[name], name)


def check_tagged(kinds: dict[str, Any], value: Any, where: str) -> str:
    """Check an object against the type that its `type` names, and return that name."""
    if not isinstance(value, dict):
        raise invalid(f"{where}: Input should be a valid dictionary or object to extract fields from")
    if "type" not in value:
        raise invalid(f"{where}.type: Field required")
    tag = value["type"]
    if not isinstance(tag, str) or tag not in kinds:
        expected = ", ".join(f"'{name}'" for name in kinds)
        raise invalid(
            f"{where}: Input tag '{tag}' found using 'type' does not match any of the expected tags: {expected}"
        )
    check(kinds[tag], value, f"{where}.{tag}")
    return tag


def check(kind: Any, value: Any, where: str) -> None:
    """Refuse unknown keys, missing keys and wrong types of one object (not of lists inside it)."""
    if not isinstance(value, dict):
        raise invalid(f"{where}: Input should be a valid dictionary or object to extract fields from")
    for key in value:
        if key not in kind.__annotations__:
            raise invalid(f"{where}.{key}: Extra inputs are not permitted")
    if value.get("cache_control") is not None and kind is not types.CacheControlEphemeralParam:
        check(types.CacheControlEphemeralParam, value["cache_control"], f"{where}.cache_control")
    try:
        _adapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise invalid(f"{'.'.join([where, *map(str, first['loc'])])}: {first['msg']}") from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
