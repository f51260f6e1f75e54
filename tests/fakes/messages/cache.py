"""The prompt cache: which prefix was seen before, and which call broke it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from tests.fakes.messages.prompt import FIVE_MINUTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fakes.messages.prompt import Part

LOOKBACK = 20


@dataclass(frozen=True, slots=True)
class InputUsage:
    """How the input of one call is billed."""

    fresh: int
    read: int
    written_5m: int
    written_1h: int

    @property
    def written(self) -> int:
        """All tokens written to the cache."""
        return self.written_5m + self.written_1h


@dataclass(frozen=True, slots=True)
class PrefixChange:
    """A call whose prompt does not continue an earlier one; both numbers count replies, from 0."""

    call: int
    previous: int
    where: str
    before: bytes
    after: bytes


@dataclass(slots=True)
class PromptCache:
    """Prefixes written at breakpoints, found again by a look back of 20 blocks, as the API does it."""

    minimum: int = 0
    changes: list[PrefixChange] = field(default_factory=list)
    _written: set[bytes] = field(default_factory=set)
    _seen: list[tuple[Part, ...]] = field(default_factory=list)

    def bill(self, parts: tuple[Part, ...]) -> InputUsage:
        """Charge one call, remember its breakpoints and compare it with the earlier calls."""
        digests = _chain(parts)
        sizes = list(accumulate(part.tokens for part in parts))
        marked = [at for at, part in enumerate(parts) if part.ttl and sizes[at] >= self.minimum]
        hit = max((at for mark in marked if (at := self._find(digests, mark)) is not None), default=None)
        usage = _split(parts, sizes, marked, hit)
        self._written.update(digests[at] for at in marked)
        self._compare(parts)
        return usage

    def forget(self) -> None:
        """Let every entry expire."""
        self._written.clear()

    def _find(self, digests: Sequence[bytes], mark: int) -> int | None:
        reach = range(mark, max(mark - LOOKBACK, -1), -1)
        return next((at for at in reach if digests[at] in self._written), None)

    def _compare(self, parts: tuple[Part, ...]) -> None:
        call = len(self._seen)
        previous = _predecessor(self._seen, parts) if _continues(parts) else None
        self._seen.append(parts)
        if previous is None:
            return
        before = self._seen[previous]
        at = _common(before, parts)
        if at < min(len(before), len(parts)):
            old, new = before[at], parts[at]
            self.changes.append(PrefixChange(call, previous, new.label, old.data, new.data))


def _chain(parts: Sequence[Part]) -> list[bytes]:
    digests: list[bytes] = []
    digest = b""
    for part in parts:
        digest = hashlib.sha256(digest + part.data).digest()
        digests.append(digest)
    return digests


def _split(parts: Sequence[Part], sizes: Sequence[int], marked: Sequence[int], hit: int | None) -> InputUsage:
    read = 0 if hit is None else sizes[hit]
    written = {FIVE_MINUTES: 0, "1h": 0}
    reached = read
    for at in marked:
        written[parts[at].ttl or FIVE_MINUTES] += max(sizes[at] - reached, 0)
        reached = max(reached, sizes[at])
    return InputUsage(sizes[-1] - reached, read, written[FIVE_MINUTES], written["1h"])


def _common(left: Sequence[Part], right: Sequence[Part]) -> int:
    same = 0
    for one, other in zip(left, right, strict=False):
        if one.data != other.data:
            break
        same += 1
    return same


def _continues(parts: Sequence[Part]) -> bool:
    """Whether the model has spoken before; without that a call opens a conversation of its own."""
    return any(part.data.startswith(b'{"role":"assistant"') for part in _talk(parts))


def _talk(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if part.label.startswith("messages.")]


def _predecessor(seen: Sequence[tuple[Part, ...]], parts: Sequence[Part]) -> int | None:
    """The earlier call that shares most of the conversation; of equals the least changed, then the latest."""
    talk = _talk(parts)
    ranked = [(_common(_talk(old), talk), _common(old, parts), call) for call, old in enumerate(seen)]
    return max(ranked)[2] if ranked else None
