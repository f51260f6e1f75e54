"""A plain token estimate: one token for every four bytes of compact JSON, rounded up."""

from __future__ import annotations

import json
from typing import Any

BYTES_PER_TOKEN = 4


def canonical(value: Any) -> bytes:
    """Compact JSON in the sender's key order, without the cache markers, which are not part of the prompt."""
    return json.dumps(without_markers(value), separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def without_markers(value: Any) -> Any:
    """The value without any `cache_control` of its blocks; a tool's own arguments are left alone."""
    if isinstance(value, list):
        return [without_markers(item) for item in value]
    if isinstance(value, dict):
        opaque = {"input", "input_schema"}
        return {
            key: item if key in opaque else without_markers(item)
            for key, item in value.items()
            if key != "cache_control"
        }
    return value


def estimate(size: int) -> int:
    """Tokens of a text of this many bytes."""
    return -(-size // BYTES_PER_TOKEN)
