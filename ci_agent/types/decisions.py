"""Whether a tool call may run, and which rule said so."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Decision"]


@dataclass(frozen=True, slots=True)
class Decision:
    """One line of the ledger."""

    allowed: bool
    rule: str
    source: str
    reason: str
