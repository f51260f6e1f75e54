"""Vertex AI's way to call the same API: the model stands in the path, the version of the API in the body."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from tests.fakes.messages.log import Request

_PATH = re.compile(
    r"^/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/(?P<model>[^/:]+):(?P<how>streamRawPredict|rawPredict)$"
)


def translate(request: Request) -> Request:
    """The request as the first-party API would get it; any other request as it is."""
    found = _PATH.match(request.path)
    if found is None or not isinstance(request.body, dict):
        return request
    # What is wrong for Vertex stays as it is, and is then refused as an unknown path or field.
    if (found["how"] == "streamRawPredict") != bool(request.body.get("stream")) or "model" in request.body:
        return request
    body = {"model": unquote(found["model"]), **request.body}
    headers = {**request.headers, "anthropic-version": str(body.pop("anthropic_version", ""))}
    return replace(request, path="/v1/messages", headers=headers, body=body)
