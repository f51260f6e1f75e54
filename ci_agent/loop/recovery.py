"""What to do after a call: a table from what happened to how the run goes on or ends."""

from __future__ import annotations

from ci_agent.models.base import FailureKind
from ci_agent.types.notices import Reason

__all__ = ["AFTER_FAILURE", "AFTER_STOP"]

# A stop reason that is not named here means that the message is the answer.
AFTER_STOP = {
    "max_tokens": Reason.MAX_OUTPUT_TOKENS,
    "model_context_window_exceeded": Reason.PROMPT_TOO_LONG,
    "refusal": Reason.REFUSAL,
}

AFTER_FAILURE = {
    FailureKind.AUTH: Reason.AUTH_ERROR,
    FailureKind.UNREACHABLE: Reason.MODEL_UNREACHABLE,
    FailureKind.RATE_LIMIT: Reason.MODEL_ERROR,
    FailureKind.OVERLOADED: Reason.MODEL_ERROR,
    FailureKind.SERVER: Reason.MODEL_ERROR,
    FailureKind.PROMPT_TOO_LONG: Reason.PROMPT_TOO_LONG,
    FailureKind.INVALID_REQUEST: Reason.INVALID_REQUEST,
    FailureKind.INTERRUPTED: Reason.MODEL_ERROR,
    FailureKind.IMAGE: Reason.INVALID_REQUEST,
}

if missing := set(FailureKind) - set(AFTER_FAILURE):
    raise AssertionError(f"no row for {missing}")
