"""From the settings to the model that they choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ci_agent.errors import ConfigError
from ci_agent.settings import Provider

if TYPE_CHECKING:
    from ci_agent.models.base import Model
    from ci_agent.settings import Settings

__all__ = ["make_model"]

ANYWHERE = "global"


def make_model(settings: Settings) -> Model:
    """The provider the workflow chose, with its credentials checked before anything is spent."""
    match settings.model_provider:
        case Provider.SCRIPTED:
            return _scripted(settings)
        case Provider.ANTHROPIC:
            return _anthropic(settings)
        case Provider.BEDROCK:
            return _bedrock(settings)
        case Provider.GOOGLE_CLOUD:
            return _google_cloud(settings)
        case Provider.VERTEX:
            return _vertex(settings)
        case Provider.FOUNDRY:
            return _foundry(settings)
        case _:
            assert_never(settings.model_provider)


def _scripted(settings: Settings) -> Model:
    from ci_agent.models.scripted import Script, ScriptedModel

    if settings.script is None:
        raise ConfigError("CI_AGENT_SCRIPT is not set", hint="the scripted model needs a script file")
    return ScriptedModel(Script.load(settings.script))


def _anthropic(settings: Settings) -> Model:
    key = settings.anthropic_api_key.get_secret_value()
    if not key and not settings.federation_rule_id:
        raise ConfigError(
            "ANTHROPIC_API_KEY is not set",
            hint="pass the anthropic-api-key input, or federation-rule-id for keyless sign-in",
        )
    if not key and not settings.organization_id:
        raise ConfigError("CI_AGENT_ORGANIZATION_ID is not set", hint="keyless sign-in needs the organization-id input")
    if not key and not settings.oidc_request_url:
        raise ConfigError(
            "GitHub gives this job no identity token", hint="add the permission id-token: write to the job"
        )
    # The SDK takes long to import, so it is imported once everything else is known to be right.
    from ci_agent.models.identity import IdentityTokenSource
    from ci_agent.models.providers import anthropic_model

    if key:
        return anthropic_model(api_key=key, base_url=settings.anthropic_base_url, idle_seconds=settings.idle_seconds)
    identity = IdentityTokenSource(
        request_url=settings.oidc_request_url,
        request_token=settings.oidc_request_token.get_secret_value(),
        audience=settings.oidc_audience,
        federation_rule_id=settings.federation_rule_id,
        organization_id=settings.organization_id,
        service_account_id=settings.service_account_id,
        workspace_id=settings.workspace_id,
    )
    return anthropic_model(identity=identity, base_url=settings.anthropic_base_url, idle_seconds=settings.idle_seconds)


def _bedrock(settings: Settings) -> Model:
    from ci_agent.models.providers import bedrock_model

    return bedrock_model(
        region=settings.aws_region,
        api_key=settings.aws_bearer_token.get_secret_value(),
        base_url=settings.anthropic_base_url,
        idle_seconds=settings.idle_seconds,
    )


def _google_cloud(settings: Settings) -> Model:
    if not settings.workspace_id and not settings.anthropic_base_url:
        raise ConfigError("CI_AGENT_WORKSPACE_ID is not set", hint="google-cloud needs the workspace-id input")
    from ci_agent.models.providers import google_cloud_model

    return google_cloud_model(
        project=settings.google_project,
        location=settings.google_location or ANYWHERE,
        workspace_id=settings.workspace_id,
        base_url=settings.anthropic_base_url,
        idle_seconds=settings.idle_seconds,
    )


def _vertex(settings: Settings) -> Model:
    if not settings.google_project:
        raise ConfigError("CI_AGENT_GOOGLE_PROJECT is not set", hint="vertex needs the google-project input")
    from ci_agent.models.providers import vertex_model

    return vertex_model(
        project=settings.google_project,
        location=settings.google_location or ANYWHERE,
        base_url=settings.anthropic_base_url,
        idle_seconds=settings.idle_seconds,
    )


def _foundry(settings: Settings) -> Model:
    key = settings.foundry_api_key.get_secret_value()
    if not key:
        raise ConfigError(
            "ANTHROPIC_FOUNDRY_API_KEY is not set", hint="foundry needs the anthropic-foundry-api-key input"
        )
    if not settings.foundry_resource and not settings.anthropic_base_url:
        raise ConfigError("CI_AGENT_FOUNDRY_RESOURCE is not set", hint="foundry needs the foundry-resource input")
    from ci_agent.models.providers import foundry_model

    return foundry_model(
        api_key=key,
        resource=settings.foundry_resource,
        base_url=settings.anthropic_base_url,
        idle_seconds=settings.idle_seconds,
    )
