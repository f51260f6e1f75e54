"""A fake Anthropic Messages API on loopback, strict enough to guard the callers' invariants."""

from tests.fakes.messages.auth import TokenGrant, TokenRefusal
from tests.fakes.messages.cache import PrefixChange
from tests.fakes.messages.catalogue import Abilities
from tests.fakes.messages.log import RefusedError, Request
from tests.fakes.messages.replies import (
    Answer,
    Block,
    Drop,
    HttpError,
    RawBlock,
    RedactedThinking,
    Reply,
    ServerToolUse,
    Text,
    Thinking,
    ToolUse,
    bad_gateway,
    prompt_too_long,
    request_too_large,
)
from tests.fakes.messages.server import FakeMessages

__all__ = [
    "Abilities",
    "Answer",
    "Block",
    "Drop",
    "FakeMessages",
    "HttpError",
    "PrefixChange",
    "RawBlock",
    "RedactedThinking",
    "RefusedError",
    "Reply",
    "Request",
    "ServerToolUse",
    "Text",
    "Thinking",
    "TokenGrant",
    "TokenRefusal",
    "ToolUse",
    "bad_gateway",
    "prompt_too_long",
    "request_too_large",
]
