"""Keys, access tokens and the small endpoints of the fake Messages API."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic.lib.credentials import WorkloadIdentityCredentials
from anthropic.lib.credentials._workload import WorkloadIdentityError

from tests.fakes.messages import FakeMessages, Reply, Text, TokenGrant, TokenRefusal
from tests.fakes.messages.client import HEADERS, HELLO, MODEL, connect, post

BODY: dict[str, Any] = {"model": MODEL, "max_tokens": 10, "messages": [HELLO]}
JWT = "aGVhZA.Ym9keQ.c2ln"
EXCHANGE = {
    "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "assertion": JWT,
    "federation_rule_id": "fdrl_1",
    "organization_id": "org-1",
}
BETAS = {"anthropic-beta": "oauth-2025-04-20,oidc-federation-2026-04-01"}


def identity(**options: Any) -> WorkloadIdentityCredentials:
    return WorkloadIdentityCredentials(
        identity_token_provider=lambda: JWT, federation_rule_id="fdrl_1", organization_id="org-1", **options
    )


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": ""},
        {"x-api-key": "  "},
        {"authorization": "Bearer "},
        {"authorization": "Basic abc"},
    ],
)
def test_a_call_without_a_key_is_unauthenticated(headers: dict[str, str]) -> None:
    with FakeMessages() as api:
        status, answer = post(api, BODY, headers={"anthropic-version": "2023-06-01", **headers})
    assert status == 401
    assert answer["error"] == {"type": "authentication_error", "message": "x-api-key header is required"}


@pytest.mark.parametrize("headers", [{"x-api-key": "sk-good"}, {"authorization": "Bearer sk-good"}])
def test_a_key_is_taken_from_either_header(headers: dict[str, str]) -> None:
    with FakeMessages(api_key="sk-good") as api:
        api.queue(Reply([Text("x")]))
        status, _ = post(api, BODY, headers={"anthropic-version": "2023-06-01", **headers})
    assert status == 200


async def test_another_key_than_the_good_one_is_refused() -> None:
    with FakeMessages(api_key="sk-good") as api:
        async with connect(api, api_key="sk-bad") as client:
            with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
                await client.messages.create(**BODY)


def test_the_version_of_the_api_must_be_named() -> None:
    with FakeMessages() as api:
        status, answer = post(api, BODY, headers={"x-api-key": "sk-test"})
    assert status == 400
    assert answer["error"]["message"] == "anthropic-version: header is required"


async def test_a_workload_identity_becomes_a_token_that_is_accepted() -> None:
    with FakeMessages(api_key="sk-good") as api:
        api.respond(lambda _: Reply([Text("x")]))
        async with connect(api, credentials=identity(workspace_id="wrkspc_1", service_account_id="svac_1")) as client:
            await client.messages.create(**BODY)
            await client.messages.create(**BODY)
    exchange, first, second = api.requests
    assert (exchange.path, exchange.body) == (
        "/v1/oauth/token",
        {**EXCHANGE, "service_account_id": "svac_1", "workspace_id": "wrkspc_1"},
    )
    assert first.headers["authorization"].startswith("Bearer sk-ant-oat01-")
    assert first.headers["authorization"] == second.headers["authorization"]


async def test_a_refused_exchange_reaches_the_caller() -> None:
    with FakeMessages() as api:
        api.refuse_tokens(TokenRefusal(401, "invalid_grant", "no rule matches"))
        async with connect(api, credentials=identity()) as client:
            with pytest.raises(WorkloadIdentityError, match="no rule matches") as caught:
                await client.messages.create(**BODY)
    assert caught.value.status_code == 401
    assert caught.value.request_id is not None
    # The SDK asks once more after a 401.
    assert [request.path for request in api.requests] == ["/v1/oauth/token"] * 2


async def test_one_refusal_is_overcome() -> None:
    with FakeMessages() as api:
        api.queue_tokens(TokenRefusal())
        api.queue(Reply([Text("x")]))
        async with connect(api, credentials=identity()) as client:
            await client.messages.create(**BODY)
    assert [request.path for request in api.requests] == ["/v1/oauth/token"] * 2 + ["/v1/messages"]


async def test_a_short_lived_token_is_fetched_anew() -> None:
    with FakeMessages() as api:
        api.queue_tokens(TokenGrant(expires_in=1))
        api.respond(lambda _: Reply([Text("x")]))
        async with connect(api, credentials=identity()) as client:
            await client.messages.create(**BODY)
            await client.messages.create(**BODY)
    assert [request.path for request in api.requests].count("/v1/oauth/token") == 2


@pytest.mark.parametrize(
    ("grant", "revoke", "betas", "message"),
    [
        (TokenGrant(), True, BETAS, "Invalid bearer token"),
        (TokenGrant(expires_in=0), False, BETAS, "OAuth token has expired"),
        (TokenGrant(), False, {}, "OAuth authentication is currently not supported."),
    ],
)
def test_a_token_must_be_alive_and_announced(
    grant: TokenGrant, revoke: bool, betas: dict[str, str], message: str
) -> None:
    with FakeMessages() as api:
        api.queue_tokens(grant)
        _, minted = post(api, EXCHANGE, "/v1/oauth/token", BETAS)
        if revoke:
            api.revoke_tokens()
        token = {"authorization": f"Bearer {minted['access_token']}", "anthropic-version": "2023-06-01"}
        status, answer = post(api, BODY, headers={**token, **betas})
    assert (status, answer["error"]["message"]) == (401, message)


def test_a_revoked_token_is_not_minted_again() -> None:
    with FakeMessages() as api:
        _, one = post(api, EXCHANGE, "/v1/oauth/token", BETAS)
        api.revoke_tokens()
        _, two = post(api, EXCHANGE, "/v1/oauth/token", BETAS)
    assert one["access_token"] != two["access_token"]


@pytest.mark.parametrize(
    ("change", "betas", "error", "description"),
    [
        ({"grant_type": "password"}, BETAS, "unsupported_grant_type", "jwt-bearer"),
        ({"assertion": "not-a-jwt"}, BETAS, "invalid_grant", "not a JWT"),
        ({"assertion": ""}, BETAS, "invalid_request", "assertion"),
        ({"organization_id": None}, BETAS, "invalid_request", "organization_id"),
        ({"scope": "all"}, BETAS, "invalid_request", "scope"),
        ({}, {}, "invalid_request", "anthropic-beta"),
    ],
)
def test_an_exchange_is_checked(change: dict[str, Any], betas: dict[str, str], error: str, description: str) -> None:
    with FakeMessages() as api:
        status, answer = post(api, {**EXCHANGE, **change}, "/v1/oauth/token", betas)
    assert (status, answer["error"]) == (400, error)
    assert description in answer["error_description"]


def test_an_exchange_of_no_object_is_refused() -> None:
    with FakeMessages() as api:
        status, answer = post(api, [], "/v1/oauth/token", BETAS)
    assert (status, answer["error"]) == (400, "invalid_request")


async def test_models_are_listed_and_looked_up() -> None:
    with FakeMessages() as api:
        async with connect(api) as client:
            names = [model.id async for model in client.models.list()]
            one = await client.models.retrieve("claude-haiku-5-5")
            with pytest.raises(anthropic.NotFoundError, match="model: claude-none"):
                await client.models.retrieve("claude-none")
    assert {MODEL, "claude-haiku-5-5"} <= set(names)
    assert (one.id, one.type, one.lifecycle) == ("claude-haiku-5-5", "model", "active")


async def test_only_the_given_models_exist_where_they_are_given() -> None:
    with FakeMessages(models=["claude-haiku-5-5"]) as api:
        async with connect(api) as client:
            assert [model.id async for model in client.models.list()] == ["claude-haiku-5-5"]
            with pytest.raises(anthropic.NotFoundError, match=f"model: {MODEL}"):
                await client.messages.create(**BODY)


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/messages/batches", "/messages2"])
def test_an_unknown_path_is_not_found(path: str) -> None:
    with FakeMessages() as api:
        status, answer = post(api, BODY, path, HEADERS)
    assert (status, answer["error"]["type"]) == (404, "not_found_error")
