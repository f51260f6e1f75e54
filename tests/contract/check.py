"""Check exchanges against GitHub's own descriptions of its REST and GraphQL interfaces."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from graphql import GraphQLSchema, build_schema, parse, validate
from graphql.error import GraphQLError
from openapi_core import Config, OpenAPI
from openapi_core.testing import MockRequest, MockResponse

from tests.contract import description
from tests.contract.fetch import GRAPHQL, OPENAPI
from tests.contract.quirks import ALIASES, QUIRKS
from tests.fakes.github import Exchange
from tests.fakes.github.service import ROUTES

# The fake's own addresses, which stand for hosts other than the API.
FOREIGN = ("/_downloads/", "/_oidc/")


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with one side of an exchange."""

    method: str
    path: str
    status: int
    side: str
    problem: str

    def __str__(self) -> str:
        return f"{self.method} {self.path} ({self.status}): {self.side}: {self.problem}"


def is_available(folder: Path) -> bool:
    """Whether both descriptions were fetched."""
    return all((folder / package.kept_as).is_file() for package in (OPENAPI, GRAPHQL))


class Contract:
    """The descriptions, loaded on first use and kept for the session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._apps: dict[tuple[str, str], OpenAPI] = {}

    @cached_property
    def spec(self) -> description.Spec:
        """The trimmed OpenAPI description."""
        return description.load(self._folder, {(route.method, route.template) for route in ROUTES})

    def _app(self, exchange: Exchange, policy: Literal["allow", "forbid"]) -> OpenAPI:
        # One application for each path: finding the path among all of them takes longer than the check.
        key = (exchange.template or "", policy)
        if key not in self._apps:
            alone = {**self.spec, "paths": {key[0]: self.spec["paths"][key[0]]}}
            config = Config(spec_validator_cls=None, additional_properties_default_policy=policy)
            self._apps[key] = OpenAPI.from_dict(alone, config=config)
        return self._apps[key]

    @cached_property
    def schema(self) -> GraphQLSchema:
        """GitHub's GraphQL schema."""
        text = (self._folder / GRAPHQL.kept_as).read_text(encoding="utf-8")
        return build_schema(text, assume_valid=True, no_location=True)

    def check(self, exchange: Exchange, *, requests_exempt: bool = False) -> list[Violation]:
        """Everything wrong with an exchange; `requests_exempt` leaves out requests that were refused."""
        if exchange.path.startswith(FOREIGN):
            return []
        alias = ALIASES.get((exchange.method, exchange.template or ""))
        if alias is not None:
            exchange = replace(exchange, template=alias)
        found: list[tuple[str, str]] = []
        if not (requests_exempt and 400 <= exchange.status < 500):
            found += [("request", problem) for problem in self._request_problems(exchange)]
        if not exchange.scripted and exchange.template is not None and exchange.status != 304:
            found += [("response", problem) for problem in self._response_problems(exchange)]
        return [
            Violation(exchange.method, exchange.path, exchange.status, side, problem)
            for side, problem in found
            if not any(quirk.covers(exchange, side, problem) for quirk in QUIRKS)
        ]

    def _request_problems(self, exchange: Exchange) -> Iterator[str]:
        if exchange.path == "/graphql":
            yield from self._graphql_problems(exchange)
            return
        if exchange.template is None:
            yield self._unknown_path(exchange)
            return
        described = self._query_names(exchange)
        yield from (f"query parameter {name!r} is not described" for name in exchange.query if name not in described)
        # A field that GitHub does not describe is most likely a misspelt one. The stricter policy is also slower.
        app = self._app(exchange, "forbid" if exchange.raw_body else "allow")
        yield from _texts(app.iter_request_errors(_request(exchange)))

    def _unknown_path(self, exchange: Exchange) -> str:
        for template, methods in self.spec["x-paths"].items():
            pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))
            if exchange.method.lower() in methods and re.fullmatch(pattern, exchange.path):
                return f"the fake does not serve {template} yet"
        return "GitHub has no such endpoint"

    def _query_names(self, exchange: Exchange) -> set[str]:
        operation = self._operation(exchange)
        return {item["name"] for item in map(self._resolve, operation.get("parameters", [])) if item["in"] == "query"}

    def _operation(self, exchange: Exchange) -> dict[str, Any]:
        found: dict[str, Any] = self.spec["paths"][exchange.template][exchange.method.lower()]
        return found

    def _resolve(self, node: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in node:
            return node
        kind, name = node["$ref"].removeprefix("#/components/").split("/")
        found: dict[str, Any] = self.spec["components"][kind][name]
        return found

    def _response_problems(self, exchange: Exchange) -> Iterator[str]:
        if str(exchange.status) not in self._operation(exchange)["responses"]:
            yield from _plain_error(exchange)
            return
        media = exchange.response_headers["Content-Type"].partition(";")[0]
        response = MockResponse(exchange.response_body, exchange.status, dict(exchange.response_headers), media)
        yield from _texts(self._app(exchange, "allow").iter_response_errors(_request(exchange), response))

    def _graphql_problems(self, exchange: Exchange) -> Iterator[str]:
        sent = exchange.body if isinstance(exchange.body, dict) else {}
        try:
            document = parse(str(sent.get("query", "")))
        except GraphQLError as problem:
            yield problem.message
            return
        yield from (problem.message for problem in validate(self.schema, document))


def _request(exchange: Exchange) -> MockRequest:
    # The template is known; filling it anew keeps slashes inside one parameter.
    filled = (exchange.template or "").format(**{name: quote(value, "") for name, value in exchange.params.items()})
    return MockRequest(
        "http://fake",
        exchange.method,
        filled,
        args=dict(exchange.query),
        headers=dict(exchange.headers),
        data=exchange.raw_body,
        content_type=exchange.headers.get("content-type", "application/json"),
    )


def _plain_error(exchange: Exchange) -> Iterator[str]:
    """GitHub describes few of its errors; those left out have the basic shape."""
    if exchange.status < 400:
        yield f"status {exchange.status} is not described"
        return
    value = json.loads(exchange.response_body)
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        yield "an error needs a message"


def _short(text: str, limit: int = 400) -> str:
    """A message without the middle of the value it quotes."""
    return text if len(text) <= limit else f"{text[: limit // 2]} … {text[-limit // 2 :]}"


def _texts(problems: Iterable[Exception]) -> Iterator[str]:
    """The innermost reason of each problem."""
    for problem in problems:
        causes = getattr(problem, "schema_errors", None) or getattr(problem.__cause__, "schema_errors", None)
        if causes:
            for cause in causes:
                where = ".".join(str(part) for part in cause.absolute_path)
                yield f"{where or 'body'}: {_short(cause.message)}"
        else:
            yield f"{problem}" + (f" ({problem.__cause__})" if problem.__cause__ else "")
