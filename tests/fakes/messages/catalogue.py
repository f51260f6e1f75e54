"""The models that the server knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from anthropic.types import Model

from tests.fakes.messages.log import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

KNOWN: tuple[str, ...] = get_args(get_args(Model)[0])


def list_models(names: Sequence[str]) -> dict[str, Any]:
    """`GET /v1/models`, all on one page."""
    return {
        "data": [_info(name) for name in names],
        "has_more": False,
        "first_id": names[0] if names else None,
        "last_id": names[-1] if names else None,
    }


def get_model(names: Sequence[str], name: str) -> dict[str, Any]:
    """`GET /v1/models/{id}`."""
    if name not in names:
        raise RefusedError(404, "not_found_error", f"model: {name}")
    return _info(name)


def _info(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "type": "model",
        "display_name": name.replace("-", " ").title(),
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }
