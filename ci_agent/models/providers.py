"""The places that serve the Messages API, each through the SDK's own client for it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeVar

import anthropic
import httpx2

from ci_agent.errors import ConfigError
from ci_agent.models.anthropic import AnthropicModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from ci_agent.models.identity import IdentityTokenSource

__all__ = ["anthropic_model", "bedrock_model", "foundry_model", "google_cloud_model", "vertex_model"]

C = TypeVar("C")
PUBLIC_API = "https://api.anthropic.com"


def anthropic_model(
    *, idle_seconds: float, api_key: str = "", identity: IdentityTokenSource | None = None, base_url: str = ""
) -> AnthropicModel:
    """The first-party API, with a key or with keyless sign-in."""
    # Always given: an action's unset input is an empty variable, which the SDK would take for an address.
    options: dict[str, Any] = {"base_url": base_url or PUBLIC_API}
    if identity is not None:
        options["credentials"] = anthropic.WorkloadIdentityCredentials(
            identity_token_provider=identity.fetch,
            federation_rule_id=identity.federation_rule_id,
            organization_id=identity.organization_id,
            service_account_id=identity.service_account_id or None,
            workspace_id=identity.workspace_id or None,
        )
    else:
        options["api_key"] = api_key
    client = _client(anthropic.AsyncAnthropic, idle_seconds, options)
    return AnthropicModel(client, diagnostics=True, idle_seconds=idle_seconds)


def bedrock_model(*, idle_seconds: float, region: str = "", api_key: str = "", base_url: str = "") -> AnthropicModel:
    """Amazon Bedrock, with its API key or with what the AWS SDK finds: a role, a profile, the job's variables."""
    errors: tuple[type[Exception], ...] = ()
    if not api_key:
        _require("boto3", "bedrock")
        from botocore.exceptions import BotoCoreError, ClientError

        errors = (BotoCoreError, ClientError, RuntimeError)
    options = {"aws_region": region or None, "api_key": api_key or None, "base_url": base_url or None}
    client = _client(anthropic.AsyncAnthropicBedrockMantle, idle_seconds, options)
    if client.api_key == "":
        raise ConfigError("AWS_BEARER_TOKEN_BEDROCK is empty", hint="set it, or remove it to sign in with a role")
    return AnthropicModel(client, idle_seconds=idle_seconds, sign_in_errors=errors)


def google_cloud_model(
    *, idle_seconds: float, project: str = "", location: str = "", workspace_id: str = "", base_url: str = ""
) -> AnthropicModel:
    """The first-party API on Google Cloud, with Application Default Credentials."""
    errors = _google_errors("google-cloud")
    options = {
        "project": project or None,
        "location": location or None,
        "workspace_id": workspace_id or None,
        "base_url": base_url or None,
    }
    client = _client(anthropic.AsyncAnthropicGoogleCloud, idle_seconds, options)
    return AnthropicModel(client, idle_seconds=idle_seconds, sign_in_errors=errors)


def vertex_model(*, idle_seconds: float, project: str, location: str, base_url: str = "") -> AnthropicModel:
    """Vertex AI, with Application Default Credentials."""
    errors = _google_errors("vertex")
    options = {"project_id": project, "region": location, "base_url": base_url or None}
    client = _client(anthropic.AsyncAnthropicVertex, idle_seconds, options)
    return AnthropicModel(client, idle_seconds=idle_seconds, sign_in_errors=errors)


def foundry_model(*, idle_seconds: float, api_key: str, resource: str = "", base_url: str = "") -> AnthropicModel:
    """Microsoft Foundry, with its API key."""
    place = {"base_url": base_url} if base_url else {"resource": resource}
    client = _client(anthropic.AsyncAnthropicFoundry, idle_seconds, {"api_key": api_key, **place})
    return AnthropicModel(client, idle_seconds=idle_seconds)


def _client(make: Callable[..., C], idle_seconds: float, options: dict[str, Any]) -> C:
    """A client that tries once: the loop knows better than the SDK when to try again."""
    timeout = httpx2.Timeout(connect=10.0, read=idle_seconds, write=60.0, pool=10.0)
    try:
        return make(timeout=timeout, max_retries=0, **options)
    except (anthropic.AnthropicError, ValueError) as error:
        raise ConfigError(f"the model's provider is not set up: {' '.join(str(error).split())}") from None


def _google_errors(extra: str) -> tuple[type[Exception], ...]:
    _require("google.auth.transport.requests", extra)
    from google.auth.exceptions import GoogleAuthError

    return (GoogleAuthError, RuntimeError)


def _require(module: str, extra: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError:
        raise ConfigError(
            f"the model provider {extra} needs packages that are not installed",
            hint=f'pip install "ci-agent[{extra}]"',
        ) from None
