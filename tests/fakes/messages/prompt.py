"""A request seen as the model reads it: a sequence of labelled parts, in the order of the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.fakes.messages.tokens import canonical, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FIVE_MINUTES = "5m"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the prompt; `ttl` is set where the caller put a cache breakpoint on it."""

    label: str
    data: bytes
    ttl: str | None = None

    @property
    def tokens(self) -> int:
        """The estimated size."""
        return estimate(len(self.data))


def parts_of(body: Mapping[str, Any]) -> tuple[Part, ...]:
    """Everything the prompt cache looks at: model, tools, system, settings, messages."""
    found = [Part("model", canonical(body.get("model"))), *_static(body), *_messages(body)]
    marker = body.get("cache_control")
    if marker is not None and found[-1].ttl is None:
        found[-1] = Part(found[-1].label, found[-1].data, marker.get("ttl", FIVE_MINUTES))
    return tuple(found)


def count(body: Mapping[str, Any]) -> int:
    """The estimated number of input tokens."""
    return sum(part.tokens for part in parts_of(body))


def blocks_of(content: Any) -> list[Any]:
    """A content as blocks; a plain string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _static(body: Mapping[str, Any]) -> Iterator[Part]:
    for index, tool in enumerate(body.get("tools") or ()):
        yield Part(f"tools.{index}", canonical(tool), _ttl(tool))
    for index, block in enumerate(blocks_of(body.get("system") or ())):
        yield Part(f"system.{index}", canonical(block), _ttl(block))
    # A change of these keeps the cache of tools and system, and loses that of the messages.
    for name in ("tool_choice", "thinking"):
        if name in body:
            yield Part(name, canonical(body[name]))


def _messages(body: Mapping[str, Any]) -> Iterator[Part]:
    for index, message in enumerate(body["messages"]):
        for place, block in enumerate(blocks_of(message["content"])):
            label = f"messages.{index}.content.{place}"
            yield Part(label, canonical({"role": message["role"], "block": block}), _ttl(block))


def _ttl(block: Mapping[str, Any]) -> str | None:
    markers = [block.get("cache_control")]
    if isinstance(block.get("content"), list):
        markers += [inner.get("cache_control") for inner in block["content"]]
    ttls = [str(marker.get("ttl", FIVE_MINUTES)) for marker in markers if marker]
    return ttls[-1] if ttls else None
