"""What crosses the wire: requests as the handlers see them, replies, errors, and the record of each exchange."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DOCS = "https://docs.github.com/rest"

JSON_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who a token speaks for and what it may do; `permissions=None` means everything."""

    login: str | None
    permissions: Mapping[str, str] | None = None

    def may(self, scope: str, level: str) -> bool:
        """Whether the token holds `scope` at `level` or above."""
        if self.login is None:
            return False
        if self.permissions is None or (scope, level) == ("metadata", "read"):
            return True
        order = ("none", "read", "write", "admin")
        return order.index(self.permissions.get(scope, "none")) >= order.index(level)


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, parsed; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes
    body: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP response, before the transport headers are added."""

    status: int = 200
    value: Any = None
    raw: bytes | None = None
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """The bytes of the body."""
        if self.raw is not None:
            return self.raw
        return b"" if self.status in (204, 304) else json.dumps(self.value).encode()


class ApiError(Exception):
    """An error GitHub would answer with."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: Sequence[Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {message}")
        self.status = status
        self.message = message
        self.errors = errors
        self.headers = headers or {}

    def reply(self) -> Reply:
        """The error in GitHub's JSON shape."""
        value: dict[str, Any] = {"message": self.message}
        if self.errors is not None:
            value["errors"] = list(self.errors)
        value |= {"documentation_url": DOCS, "status": str(self.status)}
        return Reply(self.status, value, headers=self.headers)


def not_found() -> ApiError:
    """404, which is also what GitHub says about things one may not see."""
    return ApiError(404, "Not Found")


def invalid(resource: str, field_name: str, code: str, message: str | None = None) -> ApiError:
    """422 with one entry in `errors`."""
    entry = {"resource": resource, "field": field_name, "code": code}
    if message is not None:
        entry["message"] = message
    return ApiError(422, "Validation Failed", [entry])


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what was answered, as kept in `FakeGitHub.requests`."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    raw_body: bytes
    status: int
    response_headers: Mapping[str, str]
    response_body: bytes
    actor: str | None
    template: str | None
    params: Mapping[str, str]
    scripted: bool
    """The answer came from a scripted fault or a rate limit, not from the state."""

    @property
    def response(self) -> Any:
        """The parsed JSON answer."""
        return json.loads(self.response_body)
