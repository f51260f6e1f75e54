"""Who asks for what, and what they are granted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ci_agent.types.events import Actor
from ci_agent.types.outputs import OutputKind

__all__ = ["Grant", "Target", "Task", "TaskKind", "Tier", "Trust"]


class TaskKind(Enum):
    """What starts a run; the keys below `tasks:` in a policy."""

    MENTION = "mention"
    REVIEW = "review"
    DIAGNOSE = "diagnose"
    SCHEDULE = "schedule"


class Tier(Enum):
    """How far an actor is trusted; the keys below a task in a policy."""

    OWNER = "owner"
    MAINTAINER = "maintainer"
    WRITER = "writer"
    TRIAGER = "triager"
    READER = "reader"
    OUTSIDER = "outsider"
    BOT = "bot"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Trust:
    """A verdict on one actor, with its evidence."""

    login: str
    tier: Tier
    evidence: str


@dataclass(frozen=True, slots=True)
class Target:
    """The thread that an answer belongs to."""

    repository: str
    is_public: bool
    issue_number: int
    trigger_id: str
    trigger_url: str
    triggered_at: str


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to do."""

    kind: TaskKind
    actor: Actor
    request: str
    target: Target
    title: str
    body: str
    author: str
    is_pull_request: bool


@dataclass(frozen=True, slots=True)
class Grant:
    """Everything a run may do. Nothing outside of it is possible."""

    profile: str
    tools: frozenset[str]
    outputs: Mapping[OutputKind, int]
    deny: tuple[str, ...]
    model: str
    effort: str
    max_turns: int
    budget_usd: float
    minutes: float
    budget_tokens: int | None
    min_tokens: int | None
    light_model: str
    fallback_model: str
