"""The request log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived; header names are lower-case, `body` is None unless it is JSON.

    A call through Vertex AI is shown as the first-party call that it stands for; `sent_to` is the path it came by.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    raw: bytes
    body: Any
    time: float
    sent_to: str = ""

    @property
    def creates_message(self) -> bool:
        """Whether this is a call of the model."""
        return self.method == "POST" and self.path == "/v1/messages"


class RefusedError(Exception):
    """A request the server turns away, with the API's error type and text."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(f"{status} {kind}: {message}")
        self.status = status
        self.kind = kind
        self.message = message


def invalid(message: str) -> RefusedError:
    """The API's answer to a request that breaks its rules."""
    return RefusedError(400, "invalid_request_error", message)
