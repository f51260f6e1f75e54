"""The check against GitHub's own API descriptions finds what is wrong and leaves alone what is right."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import requests
from graphql import GraphQLInputObjectType, GraphQLInterfaceType, GraphQLObjectType

from tests.contract.check import Contract, is_available
from tests.contract.fetch import cache_folder
from tests.contract.quirks import ALIASES
from tests.fakes.github import Exchange, FakeGitHub
from tests.fakes.github.graphql_api import schema
from tests.fakes.github.service import ROUTES

HEADERS = {"Authorization": "Bearer ghs_test"}


@pytest.fixture(scope="module")
def contract() -> Contract:
    if not is_available(cache_folder()):
        pytest.skip("no API description; fetch it with: python -m tests.contract.fetch")
    return Contract(cache_folder())


@pytest.fixture
def gh() -> Iterator[FakeGitHub]:
    with FakeGitHub() as made:
        made.add_repo("octo/hello").add_issue()
        yield made


def _send(gh: FakeGitHub, method: str, path: str, body: Any = None) -> Exchange:
    requests.request(method, gh.url + path, json=body, headers=HEADERS, timeout=5)
    return gh.requests[-1]


def _problems(contract: Contract, exchange: Exchange) -> list[str]:
    return [str(violation) for violation in contract.check(exchange)]


def test_every_endpoint_of_the_fake_is_one_of_github(contract: Contract) -> None:
    unknown = [
        (route.method, route.template)
        for route in ROUTES
        if route.method.lower() not in contract.spec["x-paths"].get(route.template, [])
    ]
    assert set(unknown) == set(ALIASES)


def test_the_graphql_schema_of_the_fake_is_a_part_of_githubs(contract: Contract) -> None:
    real, served = contract.schema.type_map, 0
    for name, kind in schema().type_map.items():
        if not isinstance(kind, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType) or name[:2] == "__":
            continue
        described: Any = real[name]
        for field_name, field in kind.fields.items():
            served += 1
            assert str(field.type) == str(described.fields[field_name].type), f"{name}.{field_name}"
            for argument, value in getattr(field, "args", {}).items():
                wanted = described.fields[field_name].args[argument].type
                assert str(value.type) == str(wanted), f"{name}.{field_name}({argument})"
    assert served > 100


def test_a_sound_exchange_has_no_violation(contract: Contract, gh: FakeGitHub) -> None:
    sent = _send(gh, "POST", "/repos/octo/hello/issues/1/comments", {"body": "hi"})
    assert (sent.status, contract.check(sent)) == (201, [])


@pytest.mark.contract_exempt("breaks the description to see that it is noticed")
@pytest.mark.parametrize(
    ("method", "path", "body", "problem"),
    [
        ("POST", "/repos/octo/hello/issues/1/comments", {}, "'body' is a required property"),
        ("POST", "/repos/octo/hello/issues/1/comments", {"body": 7}, "7 is not of type 'string'"),
        ("GET", "/repos/octo/hello/issues/1/nothing", None, "GitHub has no such endpoint"),
        ("GET", "/repos/octo/hello/stargazers", None, "the fake does not serve /repos/{owner}/{repo}/stargazers yet"),
    ],
)
def test_a_request_github_would_refuse_is_found(
    contract: Contract, gh: FakeGitHub, method: str, path: str, body: Any, problem: str
) -> None:
    exchange = _send(gh, method, path, body)
    found = _problems(contract, exchange)
    assert len(found) == 1
    assert found[0].startswith(f"{method} {path} ({exchange.status}): request: ")
    assert problem in found[0]


def test_a_misspelt_field_or_parameter_is_found(contract: Contract, gh: FakeGitHub) -> None:
    sound = _send(gh, "POST", "/repos/octo/hello/issues/1/comments", {"body": "hi"})
    misspelt = replace(sound, raw_body=b'{"body": "hi", "bodyy": "x"}')
    assert any("bodyy" in problem for problem in _problems(contract, misspelt))
    listed = _send(gh, "GET", "/repos/octo/hello/issues?state=all")
    assert contract.check(listed) == []
    asked = replace(listed, query={"sate": "all"})
    assert [one.problem for one in contract.check(asked)] == ["query parameter 'sate' is not described"]
    wrong = replace(listed, query={"state": "some"})
    assert any("'some' is not one of" in problem for problem in _problems(contract, wrong))


def test_an_answer_of_another_shape_is_found(contract: Contract, gh: FakeGitHub) -> None:
    sound = _send(gh, "GET", "/repos/octo/hello/issues/1")
    value = sound.response
    del value["user"]
    broken = replace(sound, response_body=json.dumps(value).encode())
    assert [(one.side, one.problem) for one in contract.check(broken)] == [
        ("response", "body: 'user' is a required property")
    ]
    assert contract.check(replace(broken, scripted=True)) == []
    undescribed = replace(sound, status=206)
    assert [one.problem for one in contract.check(undescribed)] == ["status 206 is not described"]
    bare = replace(sound, status=503, response_body=b"[]")
    assert [one.problem for one in contract.check(bare)] == ["an error needs a message"]


def test_an_exemption_covers_refused_requests_and_no_answers(contract: Contract, gh: FakeGitHub) -> None:
    sound = _send(gh, "POST", "/repos/octo/hello/issues/1/comments", {"body": "hi"})
    misspelt = replace(sound, raw_body=b'{"body": 7}')
    refused = replace(misspelt, status=422, response_body=b'{"message": "m", "documentation_url": "d"}')
    assert contract.check(misspelt, requests_exempt=True) != []
    assert contract.check(refused) != []
    assert contract.check(refused, requests_exempt=True) == []
    assert contract.check(replace(refused, response_body=b"{}"), requests_exempt=True) != []


@pytest.mark.parametrize(
    ("query", "problem"),
    [("{ viewer { loggin } }", "Cannot query field 'loggin' on type 'User'"), ("{ viewer", "Syntax Error")],
)
def test_a_graphql_query_github_would_refuse_is_found(
    contract: Contract, gh: FakeGitHub, query: str, problem: str
) -> None:
    sound = _send(gh, "POST", "/graphql", {"query": "{ rateLimit { remaining } }"})
    assert contract.check(sound) == []
    found = _problems(contract, replace(sound, body={"query": query}))
    assert len(found) == 1
    assert problem in found[0]
