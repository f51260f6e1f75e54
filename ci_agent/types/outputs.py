"""What a run wants to say to the outside."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

MARKER_PREFIX = "<!-- ci-agent:"

__all__ = ["MARKER_PREFIX", "Comment", "Dropped", "Output", "OutputKind", "Plan", "Posted"]


class OutputKind(Enum):
    """The kinds of effect a profile can grant, each with a cap."""

    COMMENT = "comment"
    FINDING = "finding"
    REVIEW = "review"
    REPLY = "reply"
    RESOLVE = "resolve"
    LABEL = "label"
    ISSUE = "issue"
    COMMIT = "commit"
    BRANCH = "branch"
    PULL_REQUEST = "pull_request"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Comment:
    """An answer in the thread of the trigger."""

    body: str
    kind: OutputKind = OutputKind.COMMENT


Output = Comment


@dataclass(frozen=True, slots=True)
class Dropped:
    """An output that will not be posted, and why."""

    kind: OutputKind
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be posted, and what was left out."""

    outputs: tuple[Output, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True)
class Posted:
    """Where an output ended up."""

    url: str
    updated: bool
