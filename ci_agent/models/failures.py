"""What went wrong with a call, sorted into the kinds that callers treat differently."""

from __future__ import annotations

import email.utils
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime

import anthropic
import httpx2

from ci_agent.models.base import Failed, FailureKind
from ci_agent.models.identity import NoIdentityToken
from ci_agent.types.messages import Usage

__all__ = ["read_retry_after", "to_failure"]

# An error inside a stream comes with the status 200 of the stream; its type says what it is.
TYPE_KINDS = {
    "authentication_error": FailureKind.AUTH,
    "permission_error": FailureKind.AUTH,
    "rate_limit_error": FailureKind.RATE_LIMIT,
    "overloaded_error": FailureKind.OVERLOADED,
    "request_too_large": FailureKind.PROMPT_TOO_LONG,
    "timeout_error": FailureKind.SERVER,
    "api_error": FailureKind.SERVER,
}
STATUS_KINDS = {
    200: FailureKind.SERVER,
    401: FailureKind.AUTH,
    403: FailureKind.AUTH,
    408: FailureKind.SERVER,
    409: FailureKind.SERVER,
    413: FailureKind.PROMPT_TOO_LONG,
    429: FailureKind.RATE_LIMIT,
    529: FailureKind.OVERLOADED,
}
# The API has one type for all of these; only its words tell them apart.
REFUSALS = {
    "could not process image": FailureKind.IMAGE,
    "image exceeds": FailureKind.IMAGE,
    "image dimensions": FailureKind.IMAGE,
    "prompt is too long": FailureKind.PROMPT_TOO_LONG,
    "input is too long": FailureKind.PROMPT_TOO_LONG,
    "exceed context limit": FailureKind.PROMPT_TOO_LONG,
}
NO_CONNECTION = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.UnsupportedProtocol)
NO_SIGN_IN = (anthropic.WorkloadIdentityError, anthropic.CredentialsError, NoIdentityToken)


def to_failure(error: Exception, usage: Usage, *, started: bool) -> Failed:
    """The failure of one call; `started` says whether an answer had begun."""
    if isinstance(error, anthropic.APIStatusError):
        kind, text = _classify_status(error)
        return Failed(kind, text, read_retry_after(error.response.headers), usage)
    cause = error.__cause__ or error
    for sign_in in (error, cause):
        # What the SDK raises without having called anybody is about credentials or settings.
        if isinstance(sign_in, NO_SIGN_IN) or type(sign_in) is anthropic.AnthropicError:
            return Failed(FailureKind.AUTH, str(sign_in), usage=usage)
    if isinstance(cause, NO_CONNECTION) and not started:
        return Failed(FailureKind.UNREACHABLE, f"cannot connect: {cause}", usage=usage)
    if isinstance(cause, httpx2.ReadTimeout):
        return Failed(FailureKind.INTERRUPTED, "the connection went silent", usage=usage)
    text = f"the connection broke: {type(cause).__name__} {cause}".rstrip()
    return Failed(FailureKind.INTERRUPTED, text, usage=usage)


def _classify_status(error: anthropic.APIStatusError) -> tuple[FailureKind, str]:
    # A proxy's answer may have any shape, so nothing in it is taken for a string.
    type_ = error.type if isinstance(error.type, str) else ""
    message = error.api_message if isinstance(error.api_message, str) else json.dumps(error.body)[:300]
    status = "" if error.status_code == 200 else f"HTTP {error.status_code} "
    text = f"{status}{type_}: {message}".strip()
    return _kind(error.status_code, type_, message), text


def _kind(status: int, type_: str, message: str) -> FailureKind:
    if kind := TYPE_KINDS.get(type_):
        return kind
    if status == 400 or type_ == "invalid_request_error":
        words = message.lower()
        found = next((kind for part, kind in REFUSALS.items() if part in words), None)
        if found is not None:
            return found
    if status == 200 and type_ in ("invalid_request_error", "not_found_error"):
        return FailureKind.INVALID_REQUEST
    return STATUS_KINDS.get(status) or (FailureKind.SERVER if status >= 500 else FailureKind.INVALID_REQUEST)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """How long the server wants to be left alone, in seconds; None where it says nothing that makes sense."""
    seconds = _number(headers.get("retry-after-ms", ""))
    if seconds is not None:
        seconds /= 1000
    else:
        said = headers.get("retry-after", "")
        seconds = _number(said)
        seconds = _until(said) if seconds is None else seconds
    return None if seconds is None or not math.isfinite(seconds) else max(seconds, 0.0)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _until(text: str) -> float | None:
    """Seconds until an HTTP date."""
    try:
        then = email.utils.parsedate_to_datetime(text)
        return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
