"""The models that the server knows, and what each of them can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from anthropic.types import Model

from tests.fakes.messages.log import RefusedError, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KNOWN: tuple[str, ...] = get_args(get_args(Model)[0])
EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model can do; without levels of effort, `output_config.effort` is refused, as the API does it."""

    max_input_tokens: int = 1_000_000
    max_tokens: int = 128_000
    efforts: tuple[str, ...] = EFFORTS
    adaptive: bool = True


def list_models(names: Sequence[str], abilities: Abilities) -> dict[str, Any]:
    """`GET /v1/models`, all on one page."""
    return {
        "data": [_info(name, abilities) for name in names],
        "has_more": False,
        "first_id": names[0] if names else None,
        "last_id": names[-1] if names else None,
    }


def get_model(names: Sequence[str], name: str, abilities: Abilities) -> dict[str, Any]:
    """`GET /v1/models/{id}`."""
    check_known(names, name)
    return _info(name, abilities)


def check_known(names: Sequence[str], name: str) -> None:
    """Refuse a model that does not exist."""
    if name not in names:
        raise RefusedError(404, "not_found_error", f"model: {name}")


def check_abilities(body: Mapping[str, Any], abilities: Abilities) -> None:
    """Refuse a request that wants more than the model can do."""
    effort = (body.get("output_config") or {}).get("effort")
    if effort is not None and not abilities.efforts:
        raise invalid("This model does not support the effort parameter.")
    if effort is not None and effort not in abilities.efforts:
        levels = ", ".join(abilities.efforts)
        raise invalid(f"This model does not support effort level '{effort}'. Supported levels: {levels}.")
    if (body.get("thinking") or {}).get("type") == "adaptive" and not abilities.adaptive:
        raise invalid("adaptive thinking is not supported on this model")
    if body["max_tokens"] > abilities.max_tokens:
        raise invalid(
            f"max_tokens: {body['max_tokens']} > {abilities.max_tokens}, which is the maximum allowed number of"
            f" output tokens for {body['model']}"
        )


def _info(name: str, abilities: Abilities) -> dict[str, Any]:
    return {
        "id": name,
        "type": "model",
        "display_name": name.replace("-", " ").title(),
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "line": None,
        "deprecated_at": None,
        "retires_at": None,
        "max_input_tokens": abilities.max_input_tokens,
        "max_tokens": abilities.max_tokens,
        "capabilities": _capabilities(abilities),
    }


def _capabilities(abilities: Abilities) -> dict[str, Any]:
    yes, no = {"supported": True}, {"supported": False}
    levels = {level: {"supported": level in abilities.efforts} for level in EFFORTS}
    thinking = {
        "adaptive": {"supported": abilities.adaptive},
        "between_tools": no,
        "disabled": yes,
        "enabled": {"supported": not abilities.adaptive},
    }
    strategies = ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112")
    return {
        "batch": yes,
        "citations": yes,
        "code_execution": yes,
        "context_management": {"supported": True, **dict.fromkeys(strategies, yes)},
        "effort": {"supported": bool(abilities.efforts), **levels},
        "image_input": yes,
        "pdf_input": yes,
        "server_tools": {"supported": True, "web_search": yes, "code_execution": yes},
        "structured_outputs": yes,
        "thinking": {"supported": True, "types": thinking},
    }
