"""Scripted faults and rate limits: everything that makes an answer differ from the state."""

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.github.wire import DOCS, Reply, Request

PRIMARY = "API rate limit exceeded for installation."
SECONDARY = (
    "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. "
    "Please retry your request again later."
)


@dataclass(slots=True)
class Fault:
    """One scripted fault; it applies to the next `times` requests that match."""

    method: str | None
    path: re.Pattern[str]
    status: int | None
    times: int
    body: Any
    headers: Mapping[str, str]
    delay: float
    drop: bool
    truncate: int | None
    after_commit: bool

    def matches(self, request: Request) -> bool:
        """Whether the fault is still armed and meant for this request."""
        if self.times <= 0 or self.method not in (None, request.method):
            return False
        return self.path.fullmatch(request.path) is not None

    def reply(self) -> Reply | None:
        """The scripted answer, or None when the fault lets the real one through."""
        if self.status is None:
            return None
        if isinstance(self.body, bytes | str):
            raw = self.body.encode() if isinstance(self.body, str) else self.body
            return Reply(self.status, raw=raw, content_type="text/html", headers=self.headers)
        value = self.body if self.body is not None else {"message": "Server Error"}
        return Reply(self.status, value, headers=self.headers)


@dataclass(slots=True)
class Quota:
    """The primary limit, in real seconds because clients really sleep."""

    limit: int = 5000
    remaining: int = 5000
    reset: int = field(default_factory=lambda: int(time.time()) + 3600)
    status: int = 403

    def take(self, cost: int) -> bool:
        """Use up `cost` requests; False when none are left before the reset."""
        if time.time() >= self.reset:
            self.remaining, self.reset = self.limit, int(time.time()) + 3600
        if cost and self.remaining <= 0:
            return False
        self.remaining = max(0, self.remaining - cost)
        return True

    def shape(self) -> dict[str, int]:
        """The limit as `GET /rate_limit` shows it."""
        used = self.limit - self.remaining
        return {"limit": self.limit, "remaining": self.remaining, "reset": self.reset, "used": used}

    def headers(self) -> dict[str, str]:
        """The limit as every answer's headers show it."""
        values = {f"X-RateLimit-{name.title()}": str(value) for name, value in self.shape().items()}
        return values | {"X-RateLimit-Resource": "core"}

    def refusal(self) -> Reply:
        """What a client over the limit is told."""
        return Reply(self.status, {"message": PRIMARY, "documentation_url": DOCS, "status": str(self.status)})


class Faults:
    """The faults that are armed, in the order they were scripted."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> None:
        """Arm a fault."""
        self._armed.append(fault)

    def take(self, request: Request) -> Fault | None:
        """The first fault meant for this request, used up by one."""
        with self._lock:
            for fault in self._armed:
                if fault.matches(request):
                    fault.times -= 1
                    return fault
        return None

    @property
    def pending(self) -> list[Fault]:
        """Faults that have not been used up, so that a test can see that its script ran."""
        return [fault for fault in self._armed if fault.times > 0]


def secondary_limit(retry_after: int | None, times: int, status: int, method: str | None, path: str) -> Fault:
    """A fault that answers as the secondary limit does."""
    body = {"message": SECONDARY, "documentation_url": DOCS, "status": str(status)}
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fault(method, re.compile(path), status, times, body, headers, 0.0, False, None, False)
