"""Who may call: API keys, and access tokens minted for a workload identity."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from tests.fakes.messages.log import RefusedError, invalid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakes.messages.log import Request

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
GOOGLE_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange"
GOOGLE_TOKEN = "ya29.fake-google-token"
OAUTH_BETA = "oauth-2025-04-20"
FEDERATION_BETA = "oidc-federation-2026-04-01"
TOKEN_PREFIX = "sk-ant-oat01-fake-"
_REQUIRED = ("grant_type", "assertion", "federation_rule_id", "organization_id")
_KNOWN = {*_REQUIRED, "service_account_id", "workspace_id"}


@dataclass(frozen=True, slots=True)
class TokenGrant:
    """A token exchange that succeeds, with the life time of the token in seconds."""

    expires_in: int = 600


@dataclass(frozen=True, slots=True)
class TokenRefusal:
    """A token exchange that fails the way OAuth servers say it."""

    status: int = 401
    error: str = "invalid_grant"
    description: str = "The identity token does not match any federation rule."


@dataclass(slots=True)
class Auth:
    """Accepts any key unless `api_key` names the only good one; accepts the tokens it minted."""

    api_key: str | None = None
    usual: TokenGrant | TokenRefusal = field(default_factory=TokenGrant)
    _script: deque[TokenGrant | TokenRefusal] = field(default_factory=deque)
    _serial: Iterator[int] = field(default_factory=lambda: count(1))
    _tokens: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def queue(self, *answers: TokenGrant | TokenRefusal) -> None:
        """Script the next token exchanges."""
        with self._lock:
            self._script.extend(answers)

    def revoke(self) -> None:
        """Make every minted token worthless."""
        with self._lock:
            self._tokens.clear()

    def check(self, request: Request) -> None:
        """Refuse a call without credentials, with wrong ones or without the API's version."""
        key = _credential(request)
        if not key:
            raise RefusedError(401, "authentication_error", "x-api-key header is required")
        if key.startswith(TOKEN_PREFIX):
            self._check_token(key, request)
        elif self.api_key is not None and key != self.api_key:
            raise RefusedError(401, "authentication_error", "invalid x-api-key")
        if not request.headers.get("anthropic-version"):
            raise invalid("anthropic-version: header is required")

    def exchange(self, request: Request) -> dict[str, Any] | TokenRefusal:
        """Mint a token for an identity assertion."""
        problem = _problem(request)
        if problem is not None:
            return problem
        with self._lock:
            answer = self._script.popleft() if self._script else self.usual
            if isinstance(answer, TokenRefusal):
                return answer
            token = f"{TOKEN_PREFIX}{next(self._serial):04d}"
            self._tokens[token] = time.monotonic() + answer.expires_in
        return {"access_token": token, "token_type": "Bearer", "expires_in": answer.expires_in}

    def _check_token(self, token: str, request: Request) -> None:
        with self._lock:
            expiry = self._tokens.get(token)
        if expiry is None:
            raise RefusedError(401, "authentication_error", "Invalid bearer token")
        if expiry <= time.monotonic():
            raise RefusedError(401, "authentication_error", "OAuth token has expired")
        if OAUTH_BETA not in _betas(request):
            raise RefusedError(401, "authentication_error", "OAuth authentication is currently not supported.")


def exchange_google(request: Request) -> dict[str, Any]:
    """Google's token exchange for a workload identity: a form in, an access token out."""
    form = parse_qs(request.raw.decode())
    if form.get("grant_type") != [GOOGLE_GRANT_TYPE] or not form.get("subject_token"):
        raise RefusedError(400, "invalid_request", "not a token exchange")
    return {
        "access_token": GOOGLE_TOKEN,
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "token_type": "Bearer",
        "expires_in": 3600,
    }


def _credential(request: Request) -> str:
    """The key from either header; the SDK sends an API key as a bearer too, and signs what goes to AWS."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    bearer = value if scheme.lower() in ("bearer", "aws4-hmac-sha256") else ""
    return request.headers.get("x-api-key") or bearer


def _betas(request: Request) -> list[str]:
    return [flag.strip() for flag in request.headers.get("anthropic-beta", "").split(",")]


def _problem(request: Request) -> TokenRefusal | None:
    body = request.body
    if not isinstance(body, dict):
        return TokenRefusal(400, "invalid_request", "The body must be a JSON object.")
    missing = [name for name in _REQUIRED if not isinstance(body.get(name), str) or not body[name]]
    if missing:
        return TokenRefusal(400, "invalid_request", f"Missing: {', '.join(missing)}.")
    unknown = sorted(body.keys() - _KNOWN)
    if unknown:
        return TokenRefusal(400, "invalid_request", f"Unknown: {', '.join(unknown)}.")
    if body["grant_type"] != GRANT_TYPE:
        return TokenRefusal(400, "unsupported_grant_type", f"Expected {GRANT_TYPE}.")
    if not {OAUTH_BETA, FEDERATION_BETA} <= set(_betas(request)):
        return TokenRefusal(400, "invalid_request", "The anthropic-beta flags of the federation are missing.")
    if len([part for part in body["assertion"].split(".") if part]) != 3:
        return TokenRefusal(400, "invalid_grant", "The assertion is not a JWT.")
    return None
