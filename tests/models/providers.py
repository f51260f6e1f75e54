"""Every provider as a job sets it up: an environment, with the fake server behind it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ci_agent.models.base import Request, SystemPart
from ci_agent.provide import make_model
from ci_agent.settings import load_settings
from ci_agent.types.messages import JsonObject, Message, TextBlock, ToolSpec

if TYPE_CHECKING:
    import pytest

    from ci_agent.models.base import Model
    from tests.fakes.messages import FakeMessages

SCHEMA: JsonObject = {"type": "object", "properties": {}}
HTTP_PROVIDERS = ("anthropic", "bedrock", "bedrock-key", "google-cloud", "vertex", "foundry")
FOREIGN = ("ANTHROPIC_", "AWS_", "CI_AGENT_", "CLOUD", "GOOGLE_", "GITHUB_")
AWS_SECRET = "wJalrXUtnFEMI-secret"


def request(*messages: Message, previous_id: str = "", effort: str = "medium") -> Request:
    """A small request."""
    return Request(
        model="claude-sonnet-5-5",
        system=(SystemPart("rules", ends_prefix=True),),
        messages=messages or (Message("user", (TextBlock("hello"),)),),
        tools=(ToolSpec("Read", "Read a file.", SCHEMA),),
        max_tokens=1_000,
        effort=effort,
        previous_id=previous_id,
    )


def build(name: str, address: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **more: str) -> Model:
    """The model of a job that chose this provider; nothing of the machine's own settings counts."""
    for variable in [variable for variable in os.environ if variable.startswith(FOREIGN)]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(folder))
    values = {
        "CI_AGENT_MODEL_PROVIDER": name.removesuffix("-key"),
        "ANTHROPIC_BASE_URL": address,
        **credentials(name, address, folder),
        **more,
    }
    for variable, value in values.items():
        monkeypatch.setenv(variable, value)
    return make_model(load_settings())


def credentials(name: str, address: str, folder: Path) -> dict[str, str]:
    """What a sign-in step leaves behind for a provider."""
    match name:
        case "anthropic":
            return {"ANTHROPIC_API_KEY": "k"}
        case "bedrock-key":
            return {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-key", "CI_AGENT_AWS_REGION": "us-east-1"}
        case "bedrock":
            keys = {
                "AWS_ACCESS_KEY_ID": "AKIAFAKE",
                "AWS_SECRET_ACCESS_KEY": AWS_SECRET,
                "AWS_SESSION_TOKEN": "session",
            }
            return {**keys, "CI_AGENT_AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true"}
        case "google-cloud":
            return {"CI_AGENT_WORKSPACE_ID": "wrkspc_1", **google(address, folder)}
        case "vertex":
            return {"ANTHROPIC_BASE_URL": f"{address}/v1", **google(address, folder)}
        case "foundry":
            return {"ANTHROPIC_FOUNDRY_API_KEY": "foundry-key"}
        case _:
            return {}


def google(address: str, folder: Path) -> dict[str, str]:
    """A workload identity, in the form that Google's own sign-in action writes."""
    identity, config = folder / "identity", folder / "google.json"
    identity.write_text("a.b.c")
    pool = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/github"
    config.write_text(
        json.dumps(
            {
                "type": "external_account",
                "audience": pool,
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                "token_url": f"{address}/sts/v1/token",
                "credential_source": {"file": str(identity)},
            }
        )
    )
    return {
        "GOOGLE_APPLICATION_CREDENTIALS": str(config),
        "GOOGLE_CLOUD_PROJECT": "my-project",
        "CI_AGENT_GOOGLE_PROJECT": "my-project",
        "CI_AGENT_GOOGLE_LOCATION": "us-east5",
    }


def scripted(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """The scripted model, from a file."""
    script = folder / "script.yml"
    script.write_text(text)
    return build("scripted", "http://127.0.0.1:1", folder, monkeypatch, CI_AGENT_SCRIPT=str(script))


def connect(name: str, api: FakeMessages, folder: Path, monkeypatch: pytest.MonkeyPatch, **more: str) -> Model:
    """The model of a provider that the fake server plays."""
    return build(name, api.url, folder, monkeypatch, **more)
