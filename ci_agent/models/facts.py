"""What the Models API says about a model, with a safe default for all that it leaves out."""

from __future__ import annotations

from ci_agent.models.base import UNKNOWN_MODEL, ModelFacts
from ci_agent.models.requests import EFFORTS

__all__ = ["read_facts"]


def read_facts(data: object) -> ModelFacts:
    """The facts in an answer of `GET /v1/models/{id}`, whatever a proxy made of it."""
    effort = _at(data, "capabilities", "effort")
    return ModelFacts(
        context_tokens=_count(_at(data, "max_input_tokens")) or UNKNOWN_MODEL.context_tokens,
        max_output_tokens=_count(_at(data, "max_tokens")) or UNKNOWN_MODEL.max_output_tokens,
        efforts=frozenset(level for level in EFFORTS if _at(effort, level, "supported") is True),
        adaptive_thinking=_at(data, "capabilities", "thinking", "types", "adaptive", "supported") is True,
    )


def _at(value: object, *path: str) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
