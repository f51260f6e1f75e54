"""Says how far the actor of an event is trusted, with the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ci_agent.types.events import Actor
from ci_agent.types.tasks import Tier, Trust

if TYPE_CHECKING:
    from ci_agent.github.quick import QuickGitHub

__all__ = ["judge"]

TIERS = {
    "admin": Tier.OWNER,
    "maintain": Tier.MAINTAINER,
    "write": Tier.WRITER,
    "triage": Tier.TRIAGER,
    "read": Tier.READER,
}


def judge(actor: Actor, bots: Sequence[str], ask: QuickGitHub, *, is_public: bool) -> Trust:
    """The tier of an actor. A bot counts only by its exact login, and GitHub is not asked about it."""
    if actor.is_bot:
        if actor.login in bots:
            return Trust(actor.login, Tier.BOT, "listed under bots in the policy")
        return Trust(actor.login, Tier.OUTSIDER, "a bot that the policy does not list")
    answer = ask.permission(actor.login)
    # A custom role has a name of its own; the coarse permission then says what it is worth.
    tier = TIERS.get(answer.role) or TIERS.get(answer.permission) or Tier.OUTSIDER
    # GitHub answers "read" for everybody in a public repository; only a collaborator was given it.
    if tier is Tier.READER and is_public and not ask.is_collaborator(actor.login):
        return Trust(actor.login, Tier.OUTSIDER, "GitHub knows no collaborator of this name")
    if answer.note:
        return Trust(actor.login, tier, answer.note)
    said = answer.role if answer.role == answer.permission else f"{answer.permission} (role {answer.role})"
    return Trust(actor.login, tier, f"GitHub gives permission {said}")
