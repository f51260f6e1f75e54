"""How each provider is reached: the address, the sign-in, and what is said when something is missing."""

import sys
from pathlib import Path

import pytest

from ci_agent.errors import ConfigError
from ci_agent.models.anthropic import AnthropicModel
from ci_agent.models.base import UNKNOWN_MODEL, Failed, FailureKind, Finished, Model, ModelEvent
from ci_agent.settings import load_settings
from tests.fakes.messages import FakeMessages, Reply, Text
from tests.fakes.messages.auth import GOOGLE_TOKEN
from tests.models.providers import AWS_SECRET, build, connect, request

PLACE = "/v1/projects/my-project/locations/us-east5/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict"
SIGN_IN = {
    "anthropic": ("/v1/messages", "authorization", "Bearer k"),
    "bedrock": ("/v1/messages", "authorization", "AWS4-HMAC-SHA256 Credential=AKIAFAKE/"),
    "bedrock-key": ("/v1/messages", "authorization", "Bearer bedrock-key"),
    "google-cloud": ("/v1/messages", "authorization", f"Bearer {GOOGLE_TOKEN}"),
    "vertex": (PLACE, "authorization", f"Bearer {GOOGLE_TOKEN}"),
    "foundry": ("/v1/messages", "x-api-key", "foundry-key"),
}
ADDRESSES = {
    "anthropic": "https://api.anthropic.com",
    "bedrock": "https://bedrock-mantle.eu-west-1.api.aws/anthropic",
    "google-cloud": "https://claude.googleapis.com/v1/projects/my-project/locations/us-east5/workspaces/wrkspc_1/invoke",
    "vertex": "https://us-east5-aiplatform.googleapis.com/v1",
    "foundry": "https://my-resource.services.ai.azure.com/anthropic",
}


async def play(model: Model) -> list[ModelEvent]:
    events = [event async for event in model.stream(request())]
    await model.close()
    return events


@pytest.mark.parametrize("name", SIGN_IN)
async def test_call_is_signed_as_the_provider_wants_it(
    api: FakeMessages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path, header, value = SIGN_IN[name]
    api.queue(Reply([Text("ok")]))
    assert isinstance((await play(connect(name, api, tmp_path, monkeypatch)))[-1], Finished)
    [call] = [request for request in api.requests if request.creates_message]
    assert call.sent_to == path
    assert call.headers[header].startswith(value)
    assert AWS_SECRET not in repr(call)


async def test_signature_is_for_the_region_and_the_session(
    api: FakeMessages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.queue(Reply([Text("ok")]))
    await play(connect("bedrock", api, tmp_path, monkeypatch))
    [call] = api.requests
    assert "/eu-west-1/bedrock-mantle/aws4_request" in call.headers["authorization"]
    assert call.headers["x-amz-security-token"] == "session"


@pytest.mark.parametrize("name", ADDRESSES)
async def test_provider_has_an_address_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    more = {"ANTHROPIC_BASE_URL": "", "CI_AGENT_FOUNDRY_RESOURCE": "my-resource"}
    model = build(name, "", tmp_path, monkeypatch, **more)
    assert isinstance(model, AnthropicModel)
    assert str(model._client.base_url).rstrip("/") == ADDRESSES[name]
    await model.close()


@pytest.mark.parametrize("name", ["bedrock", "vertex", "foundry"])
async def test_provider_without_a_models_api_leaves_models_unknown(
    api: FakeMessages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    model = connect(name, api, tmp_path, monkeypatch)
    assert await model.describe("claude-sonnet-5-5") == UNKNOWN_MODEL
    await model.close()
    assert api.requests == []


async def test_only_the_first_party_api_is_asked_for_diagnostics(
    api: FakeMessages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SIGN_IN:
        api.queue(Reply([Text("ok")]))
        await play(connect(name, api, tmp_path, monkeypatch))
    assert ["diagnostics" in body for body in api.bodies] == [name == "anthropic" for name in SIGN_IN]


NOBODY = {
    "bedrock": {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": ""},
    "google-cloud": {"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent/google.json"},
    "vertex": {"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent/google.json"},
}


@pytest.mark.parametrize("name", NOBODY)
async def test_sign_in_that_fails_is_an_event(
    api: FakeMessages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # A session of the AWS SDK keeps its credentials, so this one has a region of its own.
    more = {**NOBODY[name], "CI_AGENT_AWS_REGION": "sa-east-1"}
    [last] = await play(connect(name, api, tmp_path, monkeypatch, **more))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.AUTH
    assert last.message.startswith("cannot sign in: ")
    assert api.bodies == []


async def test_token_service_out_of_reach_can_be_tried_again(
    api: FakeMessages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = connect("vertex", api, tmp_path, monkeypatch)
    config = tmp_path / "google.json"
    config.write_text(config.read_text().replace(api.url, "http://127.0.0.1:1"))
    [last] = await play(model)
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.SERVER


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("bedrock", "boto3"),
        ("google-cloud", "google.auth.transport.requests"),
        ("vertex", "google.auth.transport.requests"),
    ],
)
def test_missing_packages_are_named_with_the_way_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=f"the model provider {name} needs packages") as caught:
        build(name, "http://127.0.0.1:1", tmp_path, monkeypatch)
    assert caught.value.hint == f'pip install "ci-agent[{name}]"'


async def test_key_of_bedrock_needs_no_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    model = build("bedrock-key", "http://127.0.0.1:1", tmp_path, monkeypatch)
    await model.close()


MISSING = {
    "region": ("bedrock", {"CI_AGENT_AWS_REGION": ""}, "No AWS region"),
    "empty Bedrock key": ("bedrock", {"AWS_BEARER_TOKEN_BEDROCK": ""}, "AWS_BEARER_TOKEN_BEDROCK is empty"),
    "workspace": ("google-cloud", {"CI_AGENT_WORKSPACE_ID": ""}, "CI_AGENT_WORKSPACE_ID is not set"),
    "project": ("vertex", {"CI_AGENT_GOOGLE_PROJECT": ""}, "CI_AGENT_GOOGLE_PROJECT is not set"),
    "key": ("foundry", {"ANTHROPIC_FOUNDRY_API_KEY": ""}, "ANTHROPIC_FOUNDRY_API_KEY is not set"),
    "resource": ("foundry", {}, "CI_AGENT_FOUNDRY_RESOURCE is not set"),
    "two places": (
        "foundry",
        {"CI_AGENT_FOUNDRY_RESOURCE": "r", "ANTHROPIC_FOUNDRY_BASE_URL": "https://x"},
        "mutually exclusive",
    ),
    "resource with a path": ("foundry", {"CI_AGENT_FOUNDRY_RESOURCE": "evil.example/x"}, "CI_AGENT_FOUNDRY_RESOURCE"),
    "region with a host": ("bedrock", {"CI_AGENT_AWS_REGION": "x.evil.example/"}, "CI_AGENT_AWS_REGION"),
}


@pytest.mark.parametrize("case", MISSING)
def test_missing_setting_is_named_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    name, change, message = MISSING[case]
    with pytest.raises(ConfigError, match=message):
        build(name, "", tmp_path, monkeypatch, **{"ANTHROPIC_BASE_URL": "", **change})


def test_secrets_of_every_provider_are_known_to_be_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    names = (
        "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_FOUNDRY_API_KEY", "ANTHROPIC_AWS_API_KEY",
        "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    )  # fmt: skip
    for name in names:
        monkeypatch.setenv(name, f"secret-of-{name}")
    assert set(load_settings().secrets) == {f"secret-of-{name}" for name in names}
