"""The cheap half of a run: from the event to who asks for what with which rights, or to the reason for nothing.

Most events end here, so nothing slow is imported: not the model SDK, not the GitHub client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ci_agent.errors import ConfigError
from ci_agent.events.parse import parse_event, read_payload
from ci_agent.events.route import route
from ci_agent.github.quick import QuickGitHub
from ci_agent.github.repo import GitRepo
from ci_agent.policy.grant import Limits, make_grant, profile_name
from ci_agent.policy.source import TrustedSource, find_source, read_policy
from ci_agent.policy.trust import judge
from ci_agent.settings import Provider
from ci_agent.types.events import Ignore, OtherEvent

if TYPE_CHECKING:
    from ci_agent.settings import Settings
    from ci_agent.types.events import IssueCommentEvent
    from ci_agent.types.tasks import Grant, Task, Trust

__all__ = ["Case", "admit", "limits"]


@dataclass(frozen=True, slots=True)
class Case:
    """An event that starts a run."""

    task: Task
    trust: Trust
    grant: Grant
    source: TrustedSource


def admit(settings: Settings) -> Case | Ignore:
    """Decide whether the event of this job starts a run."""
    payload = read_payload(settings.event_path)
    event = parse_event(settings.event_name, payload, settings.repository)
    if isinstance(event, OtherEvent):
        return Ignore(f"{event.name} events start nothing in this version")
    ask = QuickGitHub(settings.api_url, settings.github_token.get_secret_value(), event.repository)
    source = _source(settings, event, ask)
    policy = read_policy(source, settings.policy)
    task = route(event, settings.trigger or policy.trigger)
    if isinstance(task, Ignore):
        return task
    _require_token(settings)
    trust = judge(task.actor, policy.bots, ask, is_public=event.is_public)
    profile = profile_name(policy, task.kind, trust.tier)
    if profile == "none":
        return Ignore(f"{trust.login} may not start this: {trust.tier.value}, {trust.evidence}")
    return Case(task, trust, make_grant(policy, profile, limits(settings)), source)


def limits(settings: Settings) -> Limits:
    """What the workflow's inputs say about a run."""
    # A script is not the model whose name and price it would borrow.
    scripted = settings.model_provider is Provider.SCRIPTED
    return Limits(
        model="scripted" if scripted else settings.main_model,
        effort=settings.effort.value if settings.effort else "",
        max_turns=settings.max_turns,
        budget_usd=settings.budget_usd,
        minutes=settings.timeout_minutes,
        budget_tokens=settings.budget_tokens,
        light_model="scripted" if scripted else settings.light_model,
        fallback_model="" if scripted else None,
    )


def _source(settings: Settings, event: IssueCommentEvent, ask: QuickGitHub) -> TrustedSource:
    def from_github(path: str) -> str | None:
        _require_token(settings)
        return ask.file(event.default_branch, path)

    if not settings.workspace.is_dir():
        raise ConfigError(
            f"GITHUB_WORKSPACE {settings.workspace} does not exist", hint="check out the repository first"
        )
    repo = GitRepo(settings.workspace)
    return find_source(repo, settings.server_url, event.repository, settings.sha, event.default_branch, from_github)


def _require_token(settings: Settings) -> None:
    if not settings.github_token.get_secret_value():
        raise ConfigError("GITHUB_TOKEN is not set", hint="pass the github-token input")
